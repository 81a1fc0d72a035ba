// SPDX-License-Identifier: Apache-2.0
//
// What create, update, patch and delete mean: identity, versions, finalizers, graceful deletion,
// admission that is on by default, and the server's answers to misuse. Works on the store at once,
// without I/O; time and chance come in. Loop only.
//
// Not modelled: server-side apply and managedFields, quotas, webhooks, garbage collection, priority
// classes, validation beyond what kinds.h says.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/random.h"
#include "test/support/apiserver/failure.h"
#include "test/support/apiserver/object_store.h"

namespace csinative::apiserver {

struct SemanticsOptions {
  // A namespace that is deleted goes away with its contents, as with a namespace controller.
  bool finish_namespaces = true;
  // A namespace that is created gets its service account "default", as from a controller.
  bool default_service_accounts = true;
  // Pods get the volume with their service account's token, as the admission plugin adds it.
  bool inject_service_account_volume = false;
};

// Where a request points.
struct Target {
  const ResourceInfo* info = nullptr;
  std::string namespace_name;  // empty: cluster scope
  std::string name;
  std::string subresource;  // "", "status", "finalize"
  bool dry_run = false;

  ResourceId resource() const { return {info->group, info->resource}; }
};

enum class PatchType { kJson, kMerge, kStrategic };

struct DeleteOptions {
  std::optional<int64_t> grace_period_seconds;
  std::string uid;               // precondition; empty: none
  std::string resource_version;  // precondition; empty: none
  bool foreground = false;
};

struct Written {
  ObjectPtr object;
  bool created = false;
};

struct Deleted {
  ObjectPtr object;
  // False while finalizers or a grace period keep the object.
  bool gone = false;
};

class Semantics {
 public:
  // All borrowed; they outlive this.
  Semantics(ObjectStore& store, const ResourceTable& resources, const Clock& clock, Random& random,
            SemanticsOptions options);

  // Documents are in normal form (codec.h).
  Outcome<ObjectPtr> Create(const Target& target, JsonDocument document);
  Outcome<Written> Update(const Target& target, JsonDocument document);
  // `unknown_fields` receives paths that the kind does not have; may be null.
  Outcome<Written> Patch(const Target& target, PatchType type, std::string_view patch,
                         std::vector<std::string>* unknown_fields);
  Outcome<Deleted> Delete(const Target& target, const DeleteOptions& options);
  // Sets spec.nodeName and the PodScheduled condition.
  Outcome<ObjectPtr> Bind(const Target& pod, std::string_view node);

  std::string Now() const;

 private:
  Collection& CollectionOf(const Target& target);
  std::optional<Failure> CheckNamespace(const Target& target, std::string_view name);
  void SetDefaultClass(JsonDocument& claim);
  std::optional<Failure> CheckResize(const Target& target, const JsonDocument& next,
                                     const JsonDocument& old);
  void InjectServiceAccountVolume(JsonDocument& pod);
  void GenerateName(const Target& target, JsonDocument& document);
  Outcome<Written> Commit(const Target& target, const ObjectPtr& existing, const JsonDocument& old,
                          JsonDocument next, bool is_patch);
  Outcome<Deleted> DeletePod(const Target& target, JsonDocument document,
                             const DeleteOptions& options);
  Outcome<Deleted> DeleteNamespace(const Target& target, JsonDocument document);
  Deleted Finish(const Target& target);
  ObjectPtr Store(const Target& target, JsonDocument& document);
  void EmptyNamespace(const std::string& name);
  void AddDefaultServiceAccount(const std::string& namespace_name);

  ObjectStore& store_;
  const ResourceTable& resources_;
  const Clock& clock_;
  Random& random_;
  const SemanticsOptions options_;
};

}  // namespace csinative::apiserver
