// SPDX-License-Identifier: Apache-2.0
//
// The kinds of Kubernetes objects that this project knows: names, scope, wire form and message
// type. One table for the client and for the embedded API server (kube-client 22). Constant; any
// thread.
#pragma once

#include <google/protobuf/message.h>

#include <span>
#include <string>
#include <string_view>

namespace csinative::apis {

enum class Scope { kCluster, kNamespaced };

// How a server of ours and upstream's stores and sends a kind.
enum class WireFormat {
  kProtobuf,  // also available as JSON
  kJson,      // CRDs
};

struct ResourceInfo {
  std::string_view group;  // "" for the core group
  std::string_view version;
  std::string_view kind;
  std::string_view plural;      // the resource: "persistentvolumes"
  std::string_view list_kind;   // "PersistentVolumeList"
  std::string_view short_name;  // "pv"; may be empty
  Scope scope = Scope::kNamespaced;
  WireFormat wire = WireFormat::kProtobuf;
  bool has_status = false;                                    // there is a /status subresource
  const google::protobuf::Message* prototype = nullptr;       // of one object; never null
  const google::protobuf::Message* list_prototype = nullptr;  // of a list; null if we have none

  bool namespaced() const { return scope == Scope::kNamespaced; }
  // "v1", "storage.k8s.io/v1".
  std::string ApiVersion() const;
  // The path below the server's root without a slash at the end; `ns` empty: all namespaces.
  // "/api/v1/namespaces/x/pods", "/apis/storage.k8s.io/v1/csinodes".
  std::string CollectionPath(std::string_view ns = {}) const;
};

// A resource below another one that takes a kind of its own: POST serviceaccounts/x/token.
struct SubresourceInfo {
  std::string_view parent;  // plural of the parent, core group
  std::string_view name;
  std::string_view group;  // of the kind that is sent and received
  std::string_view version;
  std::string_view kind;
  const google::protobuf::Message* prototype = nullptr;
};

std::span<const ResourceInfo> ResourceTable();
std::span<const SubresourceInfo> SubresourceTable();

// nullptr when unknown. The answers live forever.
const ResourceInfo* FindResource(std::string_view group, std::string_view version,
                                 std::string_view plural);
const ResourceInfo* FindKind(std::string_view api_version, std::string_view kind);
// By the type of its objects; nullptr for messages that are no kind of their own.
const ResourceInfo* FindResourceOf(const google::protobuf::Descriptor* type);
const SubresourceInfo* FindSubresource(std::string_view parent, std::string_view name);

// REQUIRES: T is the message of a kind in the table.
template <typename T>
const ResourceInfo& ResourceOf() {
  static const ResourceInfo& info = *FindResourceOf(T::descriptor());
  return info;
}

}  // namespace csinative::apis
