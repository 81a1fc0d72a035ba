// SPDX-License-Identifier: Apache-2.0
//
// Deletion: preconditions, finalizers, grace periods, namespaces.
#include "apis/meta/v1/time.h"
#include "lib/base/strings.h"
#include "test/support/apiserver/kinds.h"
#include "test/support/apiserver/semantics.h"

namespace csinative::apiserver {
namespace {

// A precondition of a deletion; these messages name the kind.
Failure PreconditionFailed(const Target& target, std::string_view what, std::string_view wanted,
                           std::string_view found, std::string_view hint) {
  return Conflict({target.info->group, target.info->kind}, target.name,
                  StrCat("the ", what, " in the precondition (", wanted, ") does not match the ",
                         what, " in record (", found, "). The object might have been ", hint));
}

}  // namespace

Deleted Semantics::Finish(const Target& target) {
  if (target.dry_run) {
    return {CollectionOf(target).Get(target.namespace_name, target.name), true};
  }
  Deleted deleted{store_.Delete(CollectionOf(target), target.namespace_name, target.name), true};
  if (options_.finish_namespaces) EmptyNamespace(target.namespace_name);
  return deleted;
}

Outcome<Deleted> Semantics::Delete(const Target& target, const DeleteOptions& options) {
  const ResourceInfo& info = *target.info;
  ObjectPtr existing = CollectionOf(target).Get(target.namespace_name, target.name);
  if (info.kind == "Namespace" &&
      (target.name == "default" || target.name == "kube-system" || target.name == "kube-public")) {
    return Forbidden(target.resource(), target.name, "this namespace may not be deleted");
  }
  if (existing == nullptr) return NotFound(target.resource(), target.name);
  if (!options.uid.empty() && options.uid != existing->uid) {
    return PreconditionFailed(target, "UID", options.uid, existing->uid,
                              "deleted and then recreated");
  }
  if (!options.resource_version.empty() &&
      options.resource_version != std::to_string(existing->resource_version)) {
    return PreconditionFailed(target, "ResourceVersion", options.resource_version,
                              std::to_string(existing->resource_version), "modified");
  }
  JsonDocument document = ParseDocument(*existing);
  JsonAllocator& allocator = document.GetAllocator();
  Json& metadata = *FindMutable(&document, "metadata");
  if (info.kind == "Namespace") return DeleteNamespace(target, std::move(document));
  if (options.foreground) {
    // The garbage collector takes it away again.
    Json* list = FindMutable(&metadata, "finalizers");
    if (list == nullptr || !list->IsArray()) {
      Set(metadata, "finalizers", Json(rapidjson::kArrayType), allocator);
      list = FindMutable(&metadata, "finalizers");
    }
    bool present = false;
    for (const Json& item : list->GetArray()) present |= Text(&item) == "foregroundDeletion";
    if (!present) list->PushBack("foregroundDeletion", allocator);
  }
  if (info.kind == "Pod") return DeletePod(target, std::move(document), options);
  if (!HasFinalizers(info, document)) return Finish(target);
  if (Find(&metadata, "deletionTimestamp") != nullptr) return Deleted{existing, false};
  SetText(metadata, "deletionTimestamp", Now(), allocator);
  Set(metadata, "deletionGracePeriodSeconds", Json(0), allocator);
  if (std::optional<int64_t> generation = Integer(Find(&metadata, "generation"))) {
    Set(metadata, "generation", Json(*generation + 1), allocator);
  }
  return Deleted{Store(target, document), false};
}

Outcome<Deleted> Semantics::DeletePod(const Target& target, JsonDocument document,
                                      const DeleteOptions& options) {
  JsonAllocator& allocator = document.GetAllocator();
  Json& metadata = *FindMutable(&document, "metadata");
  const Json& spec = *Find(document, "spec");
  int64_t grace = options.grace_period_seconds.value_or(
      Integer(Find(&spec, "terminationGracePeriodSeconds")).value_or(30));
  std::string_view phase = TextAt(document, "status", "phase");
  if (TextAt(spec, "nodeName").empty() || phase == "Failed" || phase == "Succeeded") grace = 0;
  if (grace < 0) grace = 1;

  if (Find(&metadata, "deletionTimestamp") != nullptr) {
    int64_t current = Integer(Find(&metadata, "deletionGracePeriodSeconds")).value_or(0);
    if (!options.grace_period_seconds || grace >= current) {
      ObjectPtr stored = CollectionOf(target).Get(target.namespace_name, target.name);
      return Deleted{stored, false};
    }
  } else if (std::optional<int64_t> generation = Integer(Find(&metadata, "generation"))) {
    Set(metadata, "generation", Json(*generation + 1), allocator);
  }
  WallTime end = clock_.WallNow() + std::chrono::seconds(grace);
  SetText(metadata, "deletionTimestamp", apis::FormatRfc3339(apis::ToMoment(end)), allocator);
  Set(metadata, "deletionGracePeriodSeconds", Json(grace), allocator);
  ObjectPtr stored = Store(target, document);
  if (grace > 0 || HasFinalizers(*target.info, document)) return Deleted{stored, false};
  return Finish(target);
}

Outcome<Deleted> Semantics::DeleteNamespace(const Target& target, JsonDocument document) {
  JsonAllocator& allocator = document.GetAllocator();
  Json& metadata = *FindMutable(&document, "metadata");
  if (!HasFinalizers(*target.info, document)) return Finish(target);
  ObjectPtr stored = CollectionOf(target).Get("", target.name);
  if (Find(&metadata, "deletionTimestamp") == nullptr) {
    SetText(metadata, "deletionTimestamp", Now(), allocator);
    SetText(Ensure(document, "status", allocator), "phase", "Terminating", allocator);
    stored = Store(target, document);
  }
  if (options_.finish_namespaces && !target.dry_run) {
    for (const ResourceInfo* info : resources_.All()) {
      if (!info->namespaced) continue;
      std::vector<std::string> names;
      for (const auto& [key, object] : store_.collection(*info).objects()) {
        if (key.first == target.name) names.push_back(key.second);
      }
      for (const std::string& name : names) {
        (void)Delete({.info = info, .namespace_name = target.name, .name = name}, {}).ok();
      }
    }
    EmptyNamespace(target.name);
  }
  return Deleted{stored, false};
}

// Lets a terminating namespace go once nothing is left in it.
void Semantics::EmptyNamespace(const std::string& name) {
  if (name.empty()) return;
  const ResourceInfo* namespaces = resources_.Find("", "v1", "namespaces");
  Collection& collection = store_.collection(*namespaces);
  ObjectPtr found = collection.Get("", name);
  if (found == nullptr) return;
  JsonDocument document = ParseDocument(*found);
  if (TextAt(document, "status", "phase") != "Terminating") return;
  for (const ResourceInfo* info : resources_.All()) {
    if (!info->namespaced) continue;
    const auto& objects = store_.collection(*info).objects();
    auto it = objects.lower_bound({name, ""});
    if (it != objects.end() && it->first.first == name) return;
  }
  if (!IsEmpty(Find(document, "metadata", "finalizers"))) return;
  store_.Delete(collection, "", name);
}

}  // namespace csinative::apiserver
