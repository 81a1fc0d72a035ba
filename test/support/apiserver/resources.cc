// SPDX-License-Identifier: Apache-2.0
#include "test/support/apiserver/resources.h"

#include "lib/base/strings.h"

namespace csinative::apiserver {
namespace {

constexpr char kCore[] = "k8s.io.api.core.v1.";
constexpr char kStorage[] = "k8s.io.api.storage.v1.";

std::vector<ResourceInfo> CoreResources() {
  std::vector<ResourceInfo> all;
  auto add = [&](ResourceInfo info) {
    info.version = "v1";
    if (info.message.empty()) info.message = kCore + info.kind;
    all.push_back(std::move(info));
  };
  add({.resource = "configmaps",
       .kind = "ConfigMap",
       .namespaced = true,
       .singular = "configmap",
       .short_names = {"cm"}});
  add({.resource = "events",
       .kind = "Event",
       .namespaced = true,
       .singular = "event",
       .short_names = {"ev"},
       .create_on_update = true,
       .fields = {{"involvedObject.kind", {"involvedObject", "kind"}},
                  {"involvedObject.namespace", {"involvedObject", "namespace"}},
                  {"involvedObject.name", {"involvedObject", "name"}},
                  {"involvedObject.uid", {"involvedObject", "uid"}},
                  {"involvedObject.apiVersion", {"involvedObject", "apiVersion"}},
                  {"involvedObject.resourceVersion", {"involvedObject", "resourceVersion"}},
                  {"involvedObject.fieldPath", {"involvedObject", "fieldPath"}},
                  {"reason", {"reason"}},
                  {"reportingComponent", {"reportingComponent"}},
                  {"source", {"source", "component"}},
                  {"type", {"type"}}}});
  add({.resource = "namespaces",
       .kind = "Namespace",
       .singular = "namespace",
       .short_names = {"ns"},
       .has_status = true,
       .subresources = {"finalize"},
       .name_rule = NameRule::kLabel,
       .fields = {{"status.phase", {"status", "phase"}}, {"name", {"metadata", "name"}}}});
  add({.resource = "nodes",
       .kind = "Node",
       .singular = "node",
       .short_names = {"no"},
       .has_status = true,
       .fields = {{"spec.unschedulable", {"spec", "unschedulable"}}}});
  add({.resource = "persistentvolumeclaims",
       .kind = "PersistentVolumeClaim",
       .namespaced = true,
       .singular = "persistentvolumeclaim",
       .short_names = {"pvc"},
       .has_status = true,
       .returns_deleted = true});
  add({.resource = "persistentvolumes",
       .kind = "PersistentVolume",
       .singular = "persistentvolume",
       .short_names = {"pv"},
       .has_status = true,
       .returns_deleted = true});
  add({.resource = "pods",
       .kind = "Pod",
       .namespaced = true,
       .singular = "pod",
       .short_names = {"po"},
       .categories = {"all"},
       .has_status = true,
       .subresources = {"binding"},
       .generation = GenerationRule::kSpec,
       .returns_deleted = true,
       .fields = {{"spec.nodeName", {"spec", "nodeName"}},
                  {"spec.restartPolicy", {"spec", "restartPolicy"}},
                  {"spec.schedulerName", {"spec", "schedulerName"}},
                  {"spec.serviceAccountName", {"spec", "serviceAccountName"}},
                  {"spec.hostNetwork", {"spec", "hostNetwork"}},
                  {"status.phase", {"status", "phase"}},
                  {"status.podIP", {"status", "podIP"}},
                  {"status.nominatedNodeName", {"status", "nominatedNodeName"}}}});
  add({.resource = "secrets",
       .kind = "Secret",
       .namespaced = true,
       .singular = "secret",
       .fields = {{"type", {"type"}}}});
  add({.resource = "serviceaccounts",
       .kind = "ServiceAccount",
       .namespaced = true,
       .singular = "serviceaccount",
       .short_names = {"sa"},
       .subresources = {"token"},
       .returns_deleted = true});
  return all;
}

std::vector<ResourceInfo> StorageResources() {
  std::vector<ResourceInfo> all;
  auto add = [&](ResourceInfo info) {
    info.group = "storage.k8s.io";
    info.version = "v1";
    info.message = kStorage + info.kind;
    info.returns_deleted = true;
    all.push_back(std::move(info));
  };
  add({.resource = "csidrivers",
       .kind = "CSIDriver",
       .singular = "csidriver",
       .generation = GenerationRule::kSpecFromZero,
       .unconditional_update = false});
  add({.resource = "csinodes",
       .kind = "CSINode",
       .singular = "csinode",
       .unconditional_update = false});
  add({.resource = "csistoragecapacities",
       .kind = "CSIStorageCapacity",
       .namespaced = true,
       .singular = "csistoragecapacity",
       .unconditional_update = false});
  add({.resource = "storageclasses",
       .kind = "StorageClass",
       .singular = "storageclass",
       .short_names = {"sc"}});
  add({.resource = "volumeattachments",
       .kind = "VolumeAttachment",
       .singular = "volumeattachment",
       .has_status = true,
       .unconditional_update = false});
  add({.resource = "volumeattributesclasses",
       .kind = "VolumeAttributesClass",
       .singular = "volumeattributesclass",
       .short_names = {"vac"}});
  return all;
}

// Kinds that are kept as they come: no protobuf, no defaults.
std::vector<ResourceInfo> OtherResources() {
  std::vector<ResourceInfo> all;
  all.push_back({.group = "coordination.k8s.io",
                 .version = "v1",
                 .resource = "leases",
                 .kind = "Lease",
                 .namespaced = true,
                 .singular = "lease",
                 .message = "k8s.io.api.coordination.v1.Lease",
                 .create_on_update = true,
                 .unconditional_update = false});
  auto apps = [&](std::string resource, std::string kind, std::string short_name) {
    std::string singular = ToLower(kind);
    all.push_back({.group = "apps",
                   .version = "v1",
                   .resource = std::move(resource),
                   .kind = std::move(kind),
                   .namespaced = true,
                   .singular = std::move(singular),
                   .short_names = {std::move(short_name)},
                   .categories = {"all"},
                   .message = "k8s.io.apimachinery.pkg.apis.meta.v1.PartialObjectMetadata",
                   .metadata_message = true,
                   .has_status = true,
                   .generation = GenerationRule::kSpec});
  };
  apps("daemonsets", "DaemonSet", "ds");
  apps("deployments", "Deployment", "deploy");
  apps("replicasets", "ReplicaSet", "rs");
  apps("statefulsets", "StatefulSet", "sts");
  auto rbac = [&](std::string resource, std::string kind, bool namespaced) {
    std::string singular = ToLower(kind);
    all.push_back({.group = "rbac.authorization.k8s.io",
                   .version = "v1",
                   .resource = std::move(resource),
                   .kind = std::move(kind),
                   .namespaced = namespaced,
                   .singular = std::move(singular),
                   .name_rule = NameRule::kPathSegment});
  };
  rbac("clusterrolebindings", "ClusterRoleBinding", false);
  rbac("clusterroles", "ClusterRole", false);
  rbac("rolebindings", "RoleBinding", true);
  rbac("roles", "Role", true);
  all.push_back({.group = "apiextensions.k8s.io",
                 .version = "v1",
                 .resource = "customresourcedefinitions",
                 .kind = "CustomResourceDefinition",
                 .singular = "customresourcedefinition",
                 .short_names = {"crd", "crds"},
                 .categories = {"api-extensions"},
                 .has_status = true,
                 .generation = GenerationRule::kSpec,
                 .returns_deleted = true});
  return all;
}

}  // namespace

ResourceTable::ResourceTable() {
  for (auto* group : {&CoreResources, &StorageResources, &OtherResources}) {
    for (ResourceInfo& info : (*group)()) Add(std::move(info));
  }
}

const ResourceInfo& ResourceTable::Add(ResourceInfo info) {
  for (Entry& entry : entries_) {
    if (entry.info.group == info.group && entry.info.resource == info.resource) {
      entry.info = std::move(info);
      entry.removed = false;
      return entry.info;
    }
  }
  entries_.push_back({std::move(info)});
  return entries_.back().info;
}

void ResourceTable::Remove(std::string_view group, std::string_view resource) {
  for (Entry& entry : entries_) {
    if (entry.info.group == group && entry.info.resource == resource) entry.removed = true;
  }
}

const ResourceInfo* ResourceTable::Find(std::string_view group, std::string_view version,
                                        std::string_view resource) const {
  for (const Entry& entry : entries_) {
    const ResourceInfo& info = entry.info;
    if (!entry.removed && info.resource == resource && info.group == group &&
        info.version == version) {
      return &info;
    }
  }
  return nullptr;
}

const ResourceInfo* ResourceTable::FindKind(std::string_view group_version,
                                            std::string_view kind) const {
  for (const Entry& entry : entries_) {
    if (!entry.removed && entry.info.kind == kind && entry.info.group_version() == group_version) {
      return &entry.info;
    }
  }
  return nullptr;
}

bool ResourceTable::HasGroup(std::string_view group) const {
  for (const Entry& entry : entries_) {
    if (!entry.removed && entry.info.group == group) return true;
  }
  return false;
}

bool ResourceTable::HasGroupVersion(std::string_view group, std::string_view version) const {
  for (const Entry& entry : entries_) {
    if (!entry.removed && entry.info.group == group && entry.info.version == version) return true;
  }
  return false;
}

std::vector<const ResourceInfo*> ResourceTable::All() const {
  std::vector<const ResourceInfo*> all;
  for (const Entry& entry : entries_) {
    if (!entry.removed) all.push_back(&entry.info);
  }
  return all;
}

std::vector<ResourceInfo> SnapshotResources() {
  std::vector<ResourceInfo> all;
  auto add = [&](std::string resource, std::string kind, bool namespaced, bool has_status,
                 std::vector<std::string> short_names) {
    std::string singular = ToLower(kind);
    all.push_back({.group = "snapshot.storage.k8s.io",
                   .version = "v1",
                   .resource = std::move(resource),
                   .kind = std::move(kind),
                   .namespaced = namespaced,
                   .singular = std::move(singular),
                   .short_names = std::move(short_names),
                   .custom = true,
                   .has_status = has_status,
                   .generation = GenerationRule::kAllButStatus,
                   .unconditional_update = false});
  };
  add("volumesnapshotclasses", "VolumeSnapshotClass", false, false, {"vsclass", "vsclasses"});
  add("volumesnapshotcontents", "VolumeSnapshotContent", false, true, {"vsc", "vscs"});
  add("volumesnapshots", "VolumeSnapshot", true, true, {"vs"});
  return all;
}

ResourceInfo ReferenceGrantResource() {
  return {.group = "gateway.networking.k8s.io",
          .version = "v1beta1",
          .resource = "referencegrants",
          .kind = "ReferenceGrant",
          .namespaced = true,
          .singular = "referencegrant",
          .short_names = {"refgrant"},
          .custom = true,
          .generation = GenerationRule::kAllButStatus,
          .unconditional_update = false};
}

}  // namespace csinative::apiserver
