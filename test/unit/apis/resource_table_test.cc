// SPDX-License-Identifier: Apache-2.0
#include "apis/resource_table.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "apis/core/v1/well_known.h"
#include "apis/k8s.h"
#include "apis/snapshot/v1/snapshot.pb.h"

namespace csinative::apis {
namespace {

TEST(ResourceTableTest, FindsByResourceKindAndMessage) {
  const ResourceInfo* pv = FindResource("", "v1", "persistentvolumes");
  ASSERT_NE(pv, nullptr);
  EXPECT_EQ(pv->kind, "PersistentVolume");
  EXPECT_EQ(pv->list_kind, "PersistentVolumeList");
  EXPECT_EQ(FindKind("v1", "PersistentVolume"), pv);
  EXPECT_EQ(&ResourceOf<core::PersistentVolume>(), pv);
  EXPECT_EQ(FindKind(kStorageV1, "StorageClass"), &ResourceOf<storage::StorageClass>());
  EXPECT_EQ(FindKind(kSnapshotV1, "VolumeSnapshot"), &ResourceOf<snapshot::VolumeSnapshot>());
  EXPECT_EQ(FindKind(kAppsV1, "StatefulSet")->plural, "statefulsets");
}

TEST(ResourceTableTest, UnknownIsNull) {
  EXPECT_EQ(FindResource("", "v2", "pods"), nullptr);
  EXPECT_EQ(FindResource("apps", "v1", "pods"), nullptr);
  EXPECT_EQ(FindKind("v1", "Deployment"), nullptr);
  EXPECT_EQ(FindResourceOf(core::PodSpec::descriptor()), nullptr);
  EXPECT_EQ(FindResourceOf(meta::PartialObjectMetadata::descriptor()), nullptr);
  EXPECT_EQ(FindSubresource("pods", "token"), nullptr);
}

TEST(ResourceTableTest, PathsFollowGroupAndScope) {
  // kube-client 22.
  EXPECT_EQ(ResourceOf<core::Pod>().CollectionPath("ns"), "/api/v1/namespaces/ns/pods");
  EXPECT_EQ(ResourceOf<core::Pod>().CollectionPath(), "/api/v1/pods");
  EXPECT_EQ(ResourceOf<core::Node>().CollectionPath(), "/api/v1/nodes");
  EXPECT_EQ(ResourceOf<storage::CSINode>().CollectionPath(), "/apis/storage.k8s.io/v1/csinodes");
  EXPECT_EQ(ResourceOf<coordination::Lease>().CollectionPath("x"),
            "/apis/coordination.k8s.io/v1/namespaces/x/leases");
}

TEST(ResourceTableTest, EveryRowIsComplete) {
  std::set<std::string> seen;
  for (const ResourceInfo& info : ResourceTable()) {
    SCOPED_TRACE(info.kind);
    EXPECT_TRUE(seen.insert(info.CollectionPath()).second);
    ASSERT_NE(info.prototype, nullptr);
    ASSERT_NE(info.list_prototype, nullptr);
    EXPECT_EQ(info.list_kind, std::string(info.kind) + "List");
    // Every object has metadata, every list metadata and items of the kind, with these numbers.
    const auto* metadata = info.prototype->GetDescriptor()->FindFieldByName("metadata");
    ASSERT_NE(metadata, nullptr);
    EXPECT_EQ(metadata->number(), 1);
    EXPECT_EQ(metadata->message_type(), meta::ObjectMeta::descriptor());
    const auto* items = info.list_prototype->GetDescriptor()->FindFieldByName("items");
    ASSERT_NE(items, nullptr);
    EXPECT_EQ(items->number(), 2);
    EXPECT_EQ(items->message_type(), info.prototype->GetDescriptor());
    EXPECT_EQ(info.has_status || info.kind == "CSINode",
              info.prototype->GetDescriptor()->FindFieldByName("status") != nullptr ||
                  info.group == "apps");
  }
}

TEST(ResourceTableTest, SubresourcesHaveTheirOwnKind) {
  const SubresourceInfo* token = FindSubresource("serviceaccounts", "token");
  ASSERT_NE(token, nullptr);
  EXPECT_EQ(token->kind, "TokenRequest");
  EXPECT_EQ(token->prototype->GetDescriptor(), authentication::TokenRequest::descriptor());
  EXPECT_EQ(FindSubresource("pods", "binding")->kind, "Binding");
}

}  // namespace
}  // namespace csinative::apis
