// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/request.h"

#include <gtest/gtest.h>

namespace csinative::kube {
namespace {

std::string Path(std::string_view method, const ResourceInfo& resource, ObjectName name,
                 std::string_view subresource = "") {
  Result<std::string> path = BuildPath(method, resource, name, subresource);
  return path.ok() ? *path : "!" + path.status().message();
}

const ResourceInfo& Claims() { return ResourceOf<core::PersistentVolumeClaim>(); }
const ResourceInfo& Volumes() { return ResourceOf<core::PersistentVolume>(); }

// kube-client 22.
TEST(BuildPathTest, FollowsGroupScopeAndSubresource) {
  EXPECT_EQ(Path("GET", Volumes(), {"", "pv-1"}), "/api/v1/persistentvolumes/pv-1");
  EXPECT_EQ(Path("PATCH", Claims(), {"ns", "c"}, "status"),
            "/api/v1/namespaces/ns/persistentvolumeclaims/c/status");
  EXPECT_EQ(Path("GET", Claims(), {"", ""}), "/api/v1/persistentvolumeclaims");
  EXPECT_EQ(Path("GET", ResourceOf<storage::StorageClass>(), {"", "fast"}),
            "/apis/storage.k8s.io/v1/storageclasses/fast");
  EXPECT_EQ(Path("POST", ResourceOf<coordination::Lease>(), {"kube-system", ""}),
            "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases");
}

// kube-client 24.4 P3, P8.
TEST(BuildPathTest, RefusesWhatIsNoSegmentOrLacksANamespace) {
  EXPECT_EQ(Path("GET", Volumes(), {"", ".."}), "!invalid resource name \"..\": [may not be '..']");
  EXPECT_EQ(Path("GET", Volumes(), {"", "a/b%"}),
            "!invalid resource name \"a/b%\": [may not contain '/' may not contain '%']");
  EXPECT_EQ(Path("GET", Claims(), {".", "a"}), "!invalid namespace \".\": [may not be '.']");
  EXPECT_EQ(Path("GET", Claims(), {"", "a"}),
            "!an empty namespace may not be set when a resource name is provided");
  EXPECT_EQ(Path("POST", Claims(), {"", ""}), "!an empty namespace may not be set during creation");
  EXPECT_EQ(Path("PATCH", Volumes(), {"", ""}), "!resource name may not be empty");
}

TEST(QueryTest, ListOptionsLeaveZeroValuesOut) {
  EXPECT_EQ(EncodeQuery(ListQuery({})), "");
  EXPECT_EQ(EncodeQuery(ListQuery({.label_selector = "a in (b,c)",
                                   .resource_version = "0",
                                   .limit = 500,
                                   .continue_token = "x=="})),
            "continue=x%3D%3D&labelSelector=a+in+%28b%2Cc%29&limit=500&resourceVersion=0");
}

TEST(QueryTest, SortingKeepsTheOrderOfRepeatedKeys) {
  QueryParameters query = {{"foo", "a"}, {"bar", "2"}, {"bar", "1"}, {"a", ""}};
  SortQuery(query);
  EXPECT_EQ(EncodeQuery(query), "a=&bar=2&bar=1&foo=a");
}

TEST(QueryTest, WatchTimeoutIsSentTwice) {
  QueryParameters query;
  AddTimeout(query, 443);
  SortQuery(query);
  EXPECT_EQ(EncodeQuery(query), "timeout=7m23s&timeoutSeconds=443");
}

TEST(ObjectNameTest, KeyRoundTrips) {
  EXPECT_EQ((ObjectName{"ns", "a"}.Key()), "ns/a");
  EXPECT_EQ((ObjectName{"", "a"}.Key()), "a");
  EXPECT_EQ(ObjectName::FromKey("ns/a"), (ObjectName{"ns", "a"}));
  EXPECT_EQ(ObjectName::FromKey("a"), (ObjectName{"", "a"}));
}

}  // namespace
}  // namespace csinative::kube
