// SPDX-License-Identifier: Apache-2.0
//
// The kinds the server serves, and the rules in which they differ. Values; any thread.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace csinative::apiserver {

// Which text may name an object (Kubernetes 1.36 validation).
enum class NameRule {
  kSubdomain,  // RFC 1123 subdomain
  kLabel,      // RFC 1123 label
  kPathSegment,
};

// Whether metadata.generation counts changes of the desired state.
enum class GenerationRule {
  kNone,
  kSpec,          // 1 at creation, plus one for each change of spec
  kAllButStatus,  // the same for each change outside metadata and status (custom resources)
  kSpecFromZero,  // absent at creation, counts changes of spec
};

struct ResourceInfo {
  std::string group;
  std::string version;
  std::string resource;  // plural
  std::string kind;
  bool namespaced = false;
  std::string singular;
  std::vector<std::string> short_names;
  std::vector<std::string> categories;
  // Protobuf message of one object; empty: JSON only.
  std::string message;
  // The message only has the metadata: good for clients that read no more, but documents are kept
  // and written as JSON.
  bool metadata_message = false;
  // A custom resource: no strategic merge patch, metadata checks only.
  bool custom = false;
  bool has_status = false;
  // Further subresources for discovery, e.g. "token".
  std::vector<std::string> subresources;
  NameRule name_rule = NameRule::kSubdomain;
  GenerationRule generation = GenerationRule::kNone;
  bool create_on_update = false;     // PUT of an absent object creates it
  bool unconditional_update = true;  // PUT without a resourceVersion is allowed
  bool returns_deleted = false;      // DELETE answers with the object instead of a Status
  // Names of fieldSelector fields besides metadata.name and metadata.namespace, each with the
  // JSON path it reads.
  std::vector<std::pair<std::string, std::vector<std::string>>> fields;

  std::string group_version() const { return group.empty() ? version : group + "/" + version; }
  std::string list_kind() const { return kind + "List"; }
};

class ResourceTable {
 public:
  // Kubernetes' own kinds that storage components touch; RBAC and apps kinds JSON only.
  ResourceTable();

  // Replaces an entry of the same group and resource. Pointers to entries stay valid.
  const ResourceInfo& Add(ResourceInfo info);
  void Remove(std::string_view group, std::string_view resource);

  // Null if it is not served.
  const ResourceInfo* Find(std::string_view group, std::string_view version,
                           std::string_view resource) const;
  const ResourceInfo* FindKind(std::string_view group_version, std::string_view kind) const;
  bool HasGroup(std::string_view group) const;
  bool HasGroupVersion(std::string_view group, std::string_view version) const;
  // In the order they were added.
  std::vector<const ResourceInfo*> All() const;

 private:
  struct Entry {
    ResourceInfo info;
    bool removed = false;
  };
  std::deque<Entry> entries_;
};

// The custom resources of the CSI snapshotter and of the Gateway API's reference grants, for tests
// that do not create CustomResourceDefinition objects.
std::vector<ResourceInfo> SnapshotResources();
ResourceInfo ReferenceGrantResource();

}  // namespace csinative::apiserver
