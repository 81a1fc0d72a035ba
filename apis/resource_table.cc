// SPDX-License-Identifier: Apache-2.0
#include "apis/resource_table.h"

#include <algorithm>

#include "apis/gateway/v1beta1/gateway.pb.h"
#include "apis/groupsnapshot/v1/groupsnapshot.pb.h"
#include "apis/k8s.h"
#include "apis/snapshot/v1/snapshot.pb.h"
#include "lib/base/strings.h"

namespace csinative::apis {
namespace {

using enum Scope;
using google::protobuf::Message;

// A kind that we have messages for; its list is called <kind>List.
template <typename T, typename List>
ResourceInfo Kind(ResourceInfo info) {
  info.kind = T::descriptor()->name();
  info.list_kind = List::descriptor()->name();
  info.prototype = &T::default_instance();
  info.list_prototype = &List::default_instance();
  return info;
}

template <typename T, typename List>
ResourceInfo Core(std::string_view plural, std::string_view short_name, Scope scope,
                  bool has_status = false) {
  return Kind<T, List>({.group = "",
                        .version = "v1",
                        .plural = plural,
                        .short_name = short_name,
                        .scope = scope,
                        .has_status = has_status});
}

template <typename T, typename List>
ResourceInfo Storage(std::string_view plural, std::string_view short_name, Scope scope,
                     bool has_status = false) {
  return Kind<T, List>({.group = "storage.k8s.io",
                        .version = "v1",
                        .plural = plural,
                        .short_name = short_name,
                        .scope = scope,
                        .has_status = has_status});
}

template <typename T, typename List>
ResourceInfo Crd(std::string_view group, std::string_view version, std::string_view plural,
                 std::string_view short_name, Scope scope, bool has_status) {
  return Kind<T, List>({.group = group,
                        .version = version,
                        .plural = plural,
                        .short_name = short_name,
                        .scope = scope,
                        .wire = WireFormat::kJson,
                        .has_status = has_status});
}

// Only the metadata of these is read, to follow owner references.
ResourceInfo App(std::string_view kind, std::string_view list_kind, std::string_view plural,
                 std::string_view short_name) {
  return {.group = "apps",
          .version = "v1",
          .kind = kind,
          .plural = plural,
          .list_kind = list_kind,
          .short_name = short_name,
          .scope = kNamespaced,
          .has_status = true,
          .prototype = &meta::PartialObjectMetadata::default_instance(),
          .list_prototype = &meta::PartialObjectMetadataList::default_instance()};
}

constexpr std::string_view kSnapshotGroup = "snapshot.storage.k8s.io";
constexpr std::string_view kGroupSnapshotGroup = "groupsnapshot.storage.k8s.io";

}  // namespace

std::span<const ResourceInfo> ResourceTable() {
  static const ResourceInfo kTable[] = {
      Core<core::ConfigMap, core::ConfigMapList>("configmaps", "cm", kNamespaced),
      Core<core::Event, core::EventList>("events", "ev", kNamespaced),
      Core<core::Namespace, core::NamespaceList>("namespaces", "ns", kCluster, true),
      Core<core::Node, core::NodeList>("nodes", "no", kCluster, true),
      Core<core::PersistentVolume, core::PersistentVolumeList>("persistentvolumes", "pv", kCluster,
                                                               true),
      Core<core::PersistentVolumeClaim, core::PersistentVolumeClaimList>("persistentvolumeclaims",
                                                                         "pvc", kNamespaced, true),
      Core<core::Pod, core::PodList>("pods", "po", kNamespaced, true),
      Core<core::Secret, core::SecretList>("secrets", "", kNamespaced),
      Core<core::ServiceAccount, core::ServiceAccountList>("serviceaccounts", "sa", kNamespaced),

      Storage<storage::CSIDriver, storage::CSIDriverList>("csidrivers", "", kCluster),
      Storage<storage::CSINode, storage::CSINodeList>("csinodes", "", kCluster),
      Storage<storage::CSIStorageCapacity, storage::CSIStorageCapacityList>("csistoragecapacities",
                                                                            "", kNamespaced),
      Storage<storage::StorageClass, storage::StorageClassList>("storageclasses", "sc", kCluster),
      Storage<storage::VolumeAttachment, storage::VolumeAttachmentList>("volumeattachments", "",
                                                                        kCluster, true),
      Storage<storage::VolumeAttributesClass, storage::VolumeAttributesClassList>(
          "volumeattributesclasses", "vac", kCluster),

      Kind<coordination::Lease, coordination::LeaseList>({.group = "coordination.k8s.io",
                                                          .version = "v1",
                                                          .plural = "leases",
                                                          .scope = kNamespaced}),

      App("DaemonSet", "DaemonSetList", "daemonsets", "ds"),
      App("Deployment", "DeploymentList", "deployments", "deploy"),
      App("ReplicaSet", "ReplicaSetList", "replicasets", "rs"),
      App("StatefulSet", "StatefulSetList", "statefulsets", "sts"),

      Crd<snapshot::VolumeSnapshot, snapshot::VolumeSnapshotList>(
          kSnapshotGroup, "v1", "volumesnapshots", "vs", kNamespaced, true),
      Crd<snapshot::VolumeSnapshotClass, snapshot::VolumeSnapshotClassList>(
          kSnapshotGroup, "v1", "volumesnapshotclasses", "vsclass", kCluster, false),
      Crd<snapshot::VolumeSnapshotContent, snapshot::VolumeSnapshotContentList>(
          kSnapshotGroup, "v1", "volumesnapshotcontents", "vsc", kCluster, true),
      Crd<groupsnapshot::VolumeGroupSnapshot, groupsnapshot::VolumeGroupSnapshotList>(
          kGroupSnapshotGroup, "v1", "volumegroupsnapshots", "vgs", kNamespaced, true),
      Crd<groupsnapshot::VolumeGroupSnapshotClass, groupsnapshot::VolumeGroupSnapshotClassList>(
          kGroupSnapshotGroup, "v1", "volumegroupsnapshotclasses", "vgsclass", kCluster, false),
      Crd<groupsnapshot::VolumeGroupSnapshotContent, groupsnapshot::VolumeGroupSnapshotContentList>(
          kGroupSnapshotGroup, "v1", "volumegroupsnapshotcontents", "vgsc", kCluster, true),
      Crd<gateway::ReferenceGrant, gateway::ReferenceGrantList>("gateway.networking.k8s.io",
                                                                "v1beta1", "referencegrants",
                                                                "refgrant", kNamespaced, false),
  };
  return kTable;
}

std::span<const SubresourceInfo> SubresourceTable() {
  static const SubresourceInfo kTable[] = {
      {.parent = "serviceaccounts",
       .name = "token",
       .group = "authentication.k8s.io",
       .version = "v1",
       .kind = "TokenRequest",
       .prototype = &authentication::TokenRequest::default_instance()},
      {.parent = "pods",
       .name = "binding",
       .group = "",
       .version = "v1",
       .kind = "Binding",
       .prototype = &core::Binding::default_instance()},
  };
  return kTable;
}

std::string ResourceInfo::ApiVersion() const {
  return group.empty() ? std::string(version) : StrCat(group, "/", version);
}

std::string ResourceInfo::CollectionPath(std::string_view ns) const {
  std::string path = group.empty() ? StrCat("/api/", version) : StrCat("/apis/", ApiVersion());
  if (!ns.empty()) path += StrCat("/namespaces/", ns);
  return StrCat(path, "/", plural);
}

const ResourceInfo* FindResource(std::string_view group, std::string_view version,
                                 std::string_view plural) {
  for (const ResourceInfo& info : ResourceTable()) {
    if (info.plural == plural && info.group == group && info.version == version) return &info;
  }
  return nullptr;
}

const ResourceInfo* FindKind(std::string_view api_version, std::string_view kind) {
  for (const ResourceInfo& info : ResourceTable()) {
    if (info.kind == kind && info.ApiVersion() == api_version) return &info;
  }
  return nullptr;
}

const ResourceInfo* FindResourceOf(const google::protobuf::Descriptor* type) {
  if (type == meta::PartialObjectMetadata::descriptor()) return nullptr;
  for (const ResourceInfo& info : ResourceTable()) {
    if (info.prototype->GetDescriptor() == type) return &info;
  }
  return nullptr;
}

const SubresourceInfo* FindSubresource(std::string_view parent, std::string_view name) {
  for (const SubresourceInfo& info : SubresourceTable()) {
    if (info.parent == parent && info.name == name) return &info;
  }
  return nullptr;
}

}  // namespace csinative::apis
