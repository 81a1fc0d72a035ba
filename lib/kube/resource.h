// SPDX-License-Identifier: Apache-2.0
//
// Which resource a message type is, and how objects are named. Any thread.
#pragma once

#include <compare>
#include <string>
#include <string_view>

#include "apis/forward.h"
#include "lib/base/result.h"

namespace csinative::kube {

// "namespace/name", or "name" for cluster-scoped objects. One incarnation of it is a UID.
struct ObjectName {
  std::string ns;  // empty: cluster-scoped
  std::string name;

  std::string Key() const { return ns.empty() ? name : ns + "/" + name; }
  // Splits at the first slash.
  static ObjectName FromKey(std::string_view key);
  auto operator<=>(const ObjectName&) const = default;
};

// The same for text from outside: kInvalidArgument "unexpected key format" for two slashes.
Result<ObjectName> ParseObjectKey(std::string_view key);

struct ResourceInfo {
  std::string_view group;  // empty: core
  std::string_view version;
  std::string_view kind;
  std::string_view plural;
  std::string_view singular;  // lower-case kind, for "not found" texts of listers
  bool namespaced = false;
  // A message of this kind is written back whole (Client::Update): fields we do not declare are
  // kept when it is read.
  bool keep_unknown_fields = false;

  std::string ApiVersion() const {
    return group.empty() ? std::string(version) : std::string(group) + "/" + std::string(version);
  }
  // "persistentvolumes", "leases.coordination.k8s.io": how error texts name it.
  std::string QualifiedName() const {
    return group.empty() ? std::string(plural) : std::string(plural) + "." + std::string(group);
  }
  // "*v1.PersistentVolume": how logs name the type (kube-client 13.1).
  std::string TypeText() const { return "*" + std::string(version) + "." + std::string(kind); }
};

// Specialised below for each message the client knows.
template <typename T>
const ResourceInfo& ResourceOf();

template <>
const ResourceInfo& ResourceOf<core::ConfigMap>();
template <>
const ResourceInfo& ResourceOf<core::Event>();
template <>
const ResourceInfo& ResourceOf<core::Namespace>();
template <>
const ResourceInfo& ResourceOf<core::Node>();
template <>
const ResourceInfo& ResourceOf<core::PersistentVolume>();
template <>
const ResourceInfo& ResourceOf<core::PersistentVolumeClaim>();
template <>
const ResourceInfo& ResourceOf<core::Pod>();
template <>
const ResourceInfo& ResourceOf<core::Secret>();
template <>
const ResourceInfo& ResourceOf<core::ServiceAccount>();
template <>
const ResourceInfo& ResourceOf<storage::CSIDriver>();
template <>
const ResourceInfo& ResourceOf<storage::CSINode>();
template <>
const ResourceInfo& ResourceOf<storage::CSIStorageCapacity>();
template <>
const ResourceInfo& ResourceOf<storage::StorageClass>();
template <>
const ResourceInfo& ResourceOf<storage::VolumeAttachment>();
template <>
const ResourceInfo& ResourceOf<storage::VolumeAttributesClass>();
template <>
const ResourceInfo& ResourceOf<coordination::Lease>();

}  // namespace csinative::kube
