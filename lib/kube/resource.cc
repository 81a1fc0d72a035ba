// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/resource.h"

#include "lib/base/go_quote.h"
#include "lib/base/strings.h"

namespace csinative::kube {
namespace {

constexpr std::string_view kStorage = "storage.k8s.io";

constexpr ResourceInfo Core(std::string_view kind, std::string_view plural,
                            std::string_view singular, bool namespaced) {
  return {.version = "v1",
          .kind = kind,
          .plural = plural,
          .singular = singular,
          .namespaced = namespaced};
}

constexpr ResourceInfo Storage(std::string_view kind, std::string_view plural,
                               std::string_view singular, bool namespaced = false) {
  return {.group = kStorage,
          .version = "v1",
          .kind = kind,
          .plural = plural,
          .singular = singular,
          .namespaced = namespaced};
}

// The table of kube-client 22.
constexpr ResourceInfo kConfigMap = Core("ConfigMap", "configmaps", "configmap", true);
constexpr ResourceInfo kEvent = Core("Event", "events", "event", true);
constexpr ResourceInfo kNamespace = Core("Namespace", "namespaces", "namespace", false);
constexpr ResourceInfo kNode = Core("Node", "nodes", "node", false);
constexpr ResourceInfo kPersistentVolume =
    Core("PersistentVolume", "persistentvolumes", "persistentvolume", false);
constexpr ResourceInfo kPersistentVolumeClaim =
    Core("PersistentVolumeClaim", "persistentvolumeclaims", "persistentvolumeclaim", true);
constexpr ResourceInfo kPod = Core("Pod", "pods", "pod", true);
constexpr ResourceInfo kSecret = Core("Secret", "secrets", "secret", true);
constexpr ResourceInfo kServiceAccount =
    Core("ServiceAccount", "serviceaccounts", "serviceaccount", true);
constexpr ResourceInfo kCsiDriver = Storage("CSIDriver", "csidrivers", "csidriver");
constexpr ResourceInfo kCsiNode = Storage("CSINode", "csinodes", "csinode");
constexpr ResourceInfo kCsiStorageCapacity =
    Storage("CSIStorageCapacity", "csistoragecapacities", "csistoragecapacity", true);
constexpr ResourceInfo kStorageClass = Storage("StorageClass", "storageclasses", "storageclass");
constexpr ResourceInfo kVolumeAttachment =
    Storage("VolumeAttachment", "volumeattachments", "volumeattachment");
constexpr ResourceInfo kVolumeAttributesClass =
    Storage("VolumeAttributesClass", "volumeattributesclasses", "volumeattributesclass");
constexpr ResourceInfo kLease = {.group = "coordination.k8s.io",
                                 .version = "v1",
                                 .kind = "Lease",
                                 .plural = "leases",
                                 .singular = "lease",
                                 .namespaced = true,
                                 .keep_unknown_fields = true};

}  // namespace

ObjectName ObjectName::FromKey(std::string_view key) {
  const size_t slash = key.find('/');
  if (slash == std::string_view::npos) return {"", std::string(key)};
  return {std::string(key.substr(0, slash)), std::string(key.substr(slash + 1))};
}

Result<ObjectName> ParseObjectKey(std::string_view key) {
  const size_t slash = key.find('/');
  if (slash != std::string_view::npos && key.find('/', slash + 1) != std::string_view::npos) {
    return InvalidArgumentError(StrCat("unexpected key format: ", GoQuote(key)));
  }
  return ObjectName::FromKey(key);
}

template <>
const ResourceInfo& ResourceOf<core::ConfigMap>() {
  return kConfigMap;
}
template <>
const ResourceInfo& ResourceOf<core::Event>() {
  return kEvent;
}
template <>
const ResourceInfo& ResourceOf<core::Namespace>() {
  return kNamespace;
}
template <>
const ResourceInfo& ResourceOf<core::Node>() {
  return kNode;
}
template <>
const ResourceInfo& ResourceOf<core::PersistentVolume>() {
  return kPersistentVolume;
}
template <>
const ResourceInfo& ResourceOf<core::PersistentVolumeClaim>() {
  return kPersistentVolumeClaim;
}
template <>
const ResourceInfo& ResourceOf<core::Pod>() {
  return kPod;
}
template <>
const ResourceInfo& ResourceOf<core::Secret>() {
  return kSecret;
}
template <>
const ResourceInfo& ResourceOf<core::ServiceAccount>() {
  return kServiceAccount;
}
template <>
const ResourceInfo& ResourceOf<storage::CSIDriver>() {
  return kCsiDriver;
}
template <>
const ResourceInfo& ResourceOf<storage::CSINode>() {
  return kCsiNode;
}
template <>
const ResourceInfo& ResourceOf<storage::CSIStorageCapacity>() {
  return kCsiStorageCapacity;
}
template <>
const ResourceInfo& ResourceOf<storage::StorageClass>() {
  return kStorageClass;
}
template <>
const ResourceInfo& ResourceOf<storage::VolumeAttachment>() {
  return kVolumeAttachment;
}
template <>
const ResourceInfo& ResourceOf<storage::VolumeAttributesClass>() {
  return kVolumeAttributesClass;
}
template <>
const ResourceInfo& ResourceOf<coordination::Lease>() {
  return kLease;
}

}  // namespace csinative::kube
