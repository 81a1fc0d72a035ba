// SPDX-License-Identifier: Apache-2.0
//
// Which resource a message type is, and how objects are named. Any thread.
#pragma once

#include <compare>
#include <string>
#include <string_view>

#include "apis/k8s.h"

namespace csinative::kube {

// "namespace/name", or "name" for cluster-scoped objects. One incarnation of it is a UID.
struct ObjectName {
  std::string ns;  // empty: cluster-scoped
  std::string name;

  std::string Key() const { return ns.empty() ? name : ns + "/" + name; }
  static ObjectName FromKey(std::string_view key);
  auto operator<=>(const ObjectName&) const = default;
};

struct ResourceInfo {
  std::string_view group;  // empty: core
  std::string_view version;
  std::string_view kind;
  std::string_view plural;
  std::string_view singular;  // lower-case kind, for "not found" texts of listers
  bool namespaced = false;

  std::string ApiVersion() const {
    return group.empty() ? std::string(version) : std::string(group) + "/" + std::string(version);
  }
};

// Specialised for each message the client knows, in resource.cc's list.
template <typename T>
const ResourceInfo& ResourceOf();

}  // namespace csinative::kube
