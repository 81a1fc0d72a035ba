// SPDX-License-Identifier: Apache-2.0
#include "test/support/apiserver/semantics.h"

#include <charconv>

#include "apis/meta/v1/time.h"
#include "apis/resource/quantity.h"
#include "lib/base/json_string.h"
#include "lib/base/strings.h"
#include "test/support/apiserver/codec.h"
#include "test/support/apiserver/kinds.h"
#include "test/support/apiserver/patch.h"

namespace csinative::apiserver {
namespace {

constexpr char kModified[] =
    "the object has been modified; please apply your changes to the latest version and try again";

JsonDocument Parsed(const Object& object) { return *ParseJson(object.json); }

bool HasFinalizers(const ResourceInfo& info, const Json& document) {
  if (!IsEmpty(Find(document, "metadata", "finalizers"))) return true;
  return info.kind == "Namespace" && !IsEmpty(Find(document, "spec", "finalizers"));
}

bool SameContent(const Json& a, const Json& b) {
  JsonDocument x, y;
  x.CopyFrom(a, x.GetAllocator());
  y.CopyFrom(b, y.GetAllocator());
  for (JsonDocument* side : {&x, &y}) {
    Remove(*FindMutable(side, "metadata"), "resourceVersion");
  }
  return x == y;
}

// The key under which the real server keeps the object in etcd; it shows in one message.
std::string StorageKey(const Target& target) {
  const ResourceInfo& info = *target.info;
  std::string key = "/registry/";
  if (info.custom) key += info.group + "/";
  key += info.resource == "nodes" ? "minions" : info.resource;
  if (info.namespaced) key += "/" + target.namespace_name;
  return StrCat(key, "/", target.name);
}

Failure WrongUid(const Target& target, std::string_view wanted, std::string_view found) {
  return Conflict(target.resource(), target.name,
                  StrCat("StorageError: invalid object, Code: 4, Key: ", StorageKey(target),
                         ", ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in "
                         "precondition: ",
                         wanted, ", UID in object meta: ", found));
}

// A precondition of a deletion; these messages name the kind.
Failure PreconditionFailed(const Target& target, std::string_view what, std::string_view wanted,
                           std::string_view found, std::string_view hint) {
  return Conflict({target.info->group, target.info->kind}, target.name,
                  StrCat("the ", what, " in the precondition (", wanted, ") does not match the ",
                         what, " in record (", found, "). The object might have been ", hint));
}

bool IsNumber(std::string_view text) {
  uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

Failure NoNumber(std::string_view text) {
  return PlainError(StrCat("strconv.ParseUint: parsing ", JsonString(text), ": invalid syntax"));
}

// A patch whose result is no object of the kind.
Failure InvalidPatch(const JsonDocument& patched, std::string_view why) {
  return Invalid("", "", "", {InvalidValue("patch", JsonString(Dump(patched)), why)});
}

}  // namespace

Semantics::Semantics(ObjectStore& store, const ResourceTable& resources, const Clock& clock,
                     Random& random, SemanticsOptions options)
    : store_(store), resources_(resources), clock_(clock), random_(random), options_(options) {}

std::string Semantics::Now() const { return apis::FormatRfc3339(apis::ToMoment(clock_.WallNow())); }

Collection& Semantics::CollectionOf(const Target& target) {
  return store_.collection(*target.info);
}

ObjectPtr Semantics::Store(const Target& target, JsonDocument& document) {
  if (target.dry_run) {
    return MakeObject(*target.info, document, store_.resource_version());
  }
  return store_.Put(CollectionOf(target), document);
}

std::optional<Failure> Semantics::CheckNamespace(const Target& target, std::string_view name) {
  if (!target.info->namespaced) return std::nullopt;
  const ResourceInfo* namespaces = resources_.Find("", "v1", "namespaces");
  ObjectPtr found = store_.collection(*namespaces).Get("", target.namespace_name);
  if (found == nullptr) return NotFound({"", "namespaces"}, target.namespace_name);
  JsonDocument document = Parsed(*found);
  if (TextAt(document, "status", "phase") != "Terminating") return std::nullopt;
  Failure failure = Forbidden(target.resource(), name,
                              StrCat("unable to create new content in namespace ",
                                     target.namespace_name, " because it is being terminated"));
  failure.causes.push_back({"NamespaceTerminating",
                            StrCat("namespace ", target.namespace_name, " is being terminated"),
                            "metadata.namespace"});
  return failure;
}

void Semantics::GenerateName(const Target& target, JsonDocument& document) {
  static constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
  Json& metadata = *FindMutable(&document, "metadata");
  if (!TextAt(metadata, "name").empty()) return;
  std::string prefix(TextAt(metadata, "generateName").substr(0, 58));
  if (prefix.empty()) return;
  std::string name;
  do {
    name = prefix;
    for (int i = 0; i < 5; ++i) name += kAlphabet[random_.Below(kAlphabet.size())];
  } while (CollectionOf(target).Get(target.namespace_name, name) != nullptr);
  SetText(metadata, "name", name, document.GetAllocator());
}

void Semantics::SetDefaultClass(JsonDocument& claim) {
  Json& spec = Ensure(claim, "spec", claim.GetAllocator());
  if (Find(&spec, "storageClassName") != nullptr) return;
  const Json* annotations = Find(claim, "metadata", "annotations");
  if (Find(annotations, "volume.beta.kubernetes.io/storage-class") != nullptr) return;
  const ResourceInfo* classes = resources_.Find("storage.k8s.io", "v1", "storageclasses");
  std::string best, best_time;
  for (const auto& [key, object] : store_.collection(*classes).objects()) {
    JsonDocument document = Parsed(*object);
    const Json* marks = Find(document, "metadata", "annotations");
    if (Text(Find(marks, "storageclass.kubernetes.io/is-default-class")) != "true" &&
        Text(Find(marks, "storageclass.beta.kubernetes.io/is-default-class")) != "true") {
      continue;
    }
    std::string time(TextAt(document, "metadata", "creationTimestamp"));
    // The newest wins; of equals the first name.
    if (best.empty() || time > best_time) {
      best = key.second;
      best_time = time;
    }
  }
  if (!best.empty()) SetText(spec, "storageClassName", best, claim.GetAllocator());
}

void Semantics::InjectServiceAccountVolume(JsonDocument& pod) {
  static constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
  static constexpr char kMountPath[] = "/var/run/secrets/kubernetes.io/serviceaccount";
  JsonAllocator& allocator = pod.GetAllocator();
  Json& spec = *FindMutable(&pod, "spec");
  const Json* automount = Find(&spec, "automountServiceAccountToken");
  if (automount != nullptr && automount->IsFalse()) return;
  std::string name = "kube-api-access-";
  for (int i = 0; i < 5; ++i) name += kAlphabet[random_.Below(kAlphabet.size())];
  bool used = false;
  for (std::string_view list : {"initContainers", "containers"}) {
    Json* containers = FindMutable(&spec, list);
    if (containers == nullptr || !containers->IsArray()) continue;
    for (Json& container : containers->GetArray()) {
      Json* mounts = FindMutable(&container, "volumeMounts");
      if (mounts == nullptr || !mounts->IsArray()) {
        Set(container, "volumeMounts", Json(rapidjson::kArrayType), allocator);
        mounts = FindMutable(&container, "volumeMounts");
      }
      bool present = false;
      for (const Json& mount : mounts->GetArray()) {
        present = present || TextAt(mount, "mountPath") == kMountPath;
      }
      if (present) continue;
      Json mount(rapidjson::kObjectType);
      SetText(mount, "name", name, allocator);
      Set(mount, "readOnly", Json(true), allocator);
      SetText(mount, "mountPath", kMountPath, allocator);
      mounts->PushBack(mount, allocator);
      used = true;
    }
  }
  if (!used) return;
  JsonDocument volume = *ParseJson(
      R"({"projected":{"sources":[{"serviceAccountToken":{"expirationSeconds":3607,"path":"token"}},)"
      R"({"configMap":{"name":"kube-root-ca.crt","items":[{"key":"ca.crt","path":"ca.crt"}]}},)"
      R"({"downwardAPI":{"items":[{"path":"namespace","fieldRef":{"apiVersion":"v1",)"
      R"("fieldPath":"metadata.namespace"}}]}}],"defaultMode":420}})");
  SetText(volume, "name", name, volume.GetAllocator());
  Json* volumes = FindMutable(&spec, "volumes");
  if (volumes == nullptr || !volumes->IsArray()) {
    Set(spec, "volumes", Json(rapidjson::kArrayType), allocator);
    volumes = FindMutable(&spec, "volumes");
  }
  volumes->PushBack(Copy(volume, allocator), allocator);
}

Outcome<ObjectPtr> Semantics::Create(const Target& target, JsonDocument document) {
  const ResourceInfo& info = *target.info;
  JsonAllocator& allocator = document.GetAllocator();
  Json& metadata = Ensure(document, "metadata", allocator);
  std::string_view given_namespace = TextAt(metadata, "namespace");
  if (info.namespaced) {
    if (!given_namespace.empty() && given_namespace != target.namespace_name) {
      return BadRequest(
          "the namespace of the provided object does not match the namespace sent on the request");
    }
    SetText(metadata, "namespace", target.namespace_name, allocator);
  } else {
    Remove(metadata, "namespace");
  }
  if (!TextAt(metadata, "resourceVersion").empty()) {
    return PlainError("resourceVersion should not be set on objects to be created");
  }
  const std::string now = Now();
  for (std::string_view key :
       {"selfLink", "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields"}) {
    Remove(metadata, key);
  }
  SetText(metadata, "creationTimestamp", now, allocator);
  SetText(metadata, "uid", random_.Uuid(), allocator);
  ApplyDefaults(info, document);
  GenerateName(target, document);
  std::string name(TextAt(*FindMutable(&document, "metadata"), "name"));
  if (std::optional<Failure> failure = CheckNamespace(target, name)) return *failure;
  if (info.resource == "persistentvolumeclaims") SetDefaultClass(document);
  PrepareForCreate(info, document, now);
  ApplyDefaults(info, document);
  std::vector<Cause> causes = ValidateCreate(info, document);
  if (!causes.empty()) return Invalid(info.group, info.kind, name, std::move(causes));
  if (CollectionOf(target).Get(target.namespace_name, name) != nullptr) {
    return AlreadyExists(target.resource(), name);
  }
  if (info.kind == "Pod" && options_.inject_service_account_volume) {
    InjectServiceAccountVolume(document);
  }
  Outcome<JsonDocument> normal = Normalize(info, document);
  if (!normal.ok()) return normal.failure();
  return Store(target, *normal);
}

Outcome<Written> Semantics::Update(const Target& target, JsonDocument document) {
  const ResourceInfo& info = *target.info;
  JsonAllocator& allocator = document.GetAllocator();
  Json& metadata = Ensure(document, "metadata", allocator);
  std::string_view name = TextAt(metadata, "name");
  if (name != target.name) {
    if (name.empty()) {
      return BadRequest(StrCat("the name of the object (", target.name,
                               " based on URL) was undeterminable: name must be provided"));
    }
    return BadRequest(StrCat("the name of the object (", name,
                             ") does not match the name on the URL (", target.name, ")"));
  }
  std::string_view given_namespace = TextAt(metadata, "namespace");
  if (info.namespaced) {
    if (!given_namespace.empty() && given_namespace != target.namespace_name) {
      return BadRequest(
          "the namespace of the provided object does not match the namespace sent on the request");
    }
    SetText(metadata, "namespace", target.namespace_name, allocator);
  }
  ObjectPtr existing = CollectionOf(target).Get(target.namespace_name, target.name);
  std::string uid(TextAt(metadata, "uid"));
  if (existing == nullptr) {
    if (!info.create_on_update || !target.subresource.empty()) {
      return NotFound(target.resource(), target.name);
    }
    if (!TextAt(metadata, "resourceVersion").empty()) {
      return NotFound(target.resource(), target.name);
    }
    Outcome<ObjectPtr> created = Create(target, std::move(document));
    if (!created.ok()) return created.failure();
    return Written{*created, true};
  }
  if (!uid.empty() && uid != existing->uid) {
    return WrongUid(target, uid, existing->uid);
  }
  std::string version(TextAt(metadata, "resourceVersion"));
  if (!version.empty() && !IsNumber(version)) return NoNumber(version);
  if (version.empty() && !info.unconditional_update) {
    return Invalid(
        info.group, info.resource, target.name,
        {InvalidValue("metadata.resourceVersion", "0", "must be specified for an update")});
  }
  if (!version.empty() && version != std::to_string(existing->resource_version)) {
    return Conflict(target.resource(), target.name, kModified);
  }
  JsonDocument old = Parsed(*existing);
  return Commit(target, existing, old, std::move(document), false);
}

Outcome<Written> Semantics::Patch(const Target& target, PatchType type, std::string_view patch,
                                  std::vector<std::string>* unknown_fields) {
  const ResourceInfo& info = *target.info;
  ObjectPtr existing = CollectionOf(target).Get(target.namespace_name, target.name);
  if (existing == nullptr) return NotFound(target.resource(), target.name);
  JsonDocument old = Parsed(*existing);
  Outcome<JsonDocument> patched = type == PatchType::kJson ? ApplyJsonPatch(old, patch)
                                  : type == PatchType::kMerge
                                      ? ApplyMergePatch(old, patch)
                                      : ApplyStrategicPatch(info, old, patch);
  if (!patched.ok()) return patched.failure();
  Outcome<JsonDocument> next = Normalize(info, *patched, {.unknown_fields = unknown_fields});
  if (!next.ok()) {
    // The decoder's own words, without its introduction.
    std::string_view why = next.failure().message;
    size_t colon = why.find(": ");
    return InvalidPatch(*patched, colon == std::string_view::npos ? why : why.substr(colon + 2));
  }
  std::string_view name = TextAt(*next, "metadata", "name");
  if (name != target.name) {
    if (name.empty()) {
      return BadRequest(StrCat("the name of the object (", target.name,
                               " based on URL) was undeterminable: name must be provided"));
    }
    return BadRequest(StrCat("the name of the object (", name,
                             ") does not match the name on the URL (", target.name, ")"));
  }
  std::string_view version = TextAt(*next, "metadata", "resourceVersion");
  if (!version.empty() && !IsNumber(version)) return NoNumber(version);
  if (!version.empty() && version != std::to_string(existing->resource_version)) {
    return Conflict(target.resource(), target.name, kModified);
  }
  return Commit(target, existing, old, std::move(*next), true);
}

Outcome<Written> Semantics::Commit(const Target& target, const ObjectPtr& existing,
                                   const JsonDocument& old, JsonDocument next, bool) {
  const ResourceInfo& info = *target.info;
  JsonAllocator& allocator = next.GetAllocator();
  const Json& old_metadata = *Find(old, "metadata");
  Json& metadata = Ensure(next, "metadata", allocator);
  // What a client may leave out stays as it is.
  for (std::string_view key : {"uid", "creationTimestamp", "deletionTimestamp",
                               "deletionGracePeriodSeconds", "generateName"}) {
    const Json* value = Find(old_metadata, key);
    if (value != nullptr && IsEmpty(Find(&metadata, key)) &&
        !(key == "deletionGracePeriodSeconds" && Find(&metadata, key) != nullptr)) {
      Set(metadata, key, Copy(*value, allocator), allocator);
    }
  }
  Remove(metadata, "selfLink");
  Remove(metadata, "managedFields");
  SetText(metadata, "creationTimestamp", std::string(TextAt(old_metadata, "creationTimestamp")),
          allocator);
  SetText(metadata, "resourceVersion", std::to_string(existing->resource_version), allocator);
  if (info.namespaced) SetText(metadata, "namespace", target.namespace_name, allocator);
  ApplyDefaults(info, next);
  PrepareForUpdate(info, next, old, target.subresource, Now());
  std::vector<Cause> causes = ValidateUpdate(info, next, old, target.subresource);
  if (!causes.empty()) return Invalid(info.group, info.kind, target.name, std::move(causes));
  Outcome<JsonDocument> normal = Normalize(info, next);
  if (!normal.ok()) return normal.failure();

  const Json* grace = Find(*normal, "metadata", "deletionGracePeriodSeconds");
  bool deleting = Find(*normal, "metadata", "deletionTimestamp") != nullptr;
  if (deleting && !HasFinalizers(info, *normal) && Integer(grace).value_or(0) == 0 &&
      HasFinalizers(info, old)) {
    // The object in the answer never was stored; watches see the stored one go.
    ObjectPtr last = MakeObject(info, *normal, existing->resource_version);
    if (!target.dry_run) {
      store_.Delete(CollectionOf(target), target.namespace_name, target.name);
      if (options_.finish_namespaces) EmptyNamespace(target.namespace_name);
    }
    return Written{last, false};
  }
  if (SameContent(*normal, old)) return Written{existing, false};
  return Written{Store(target, *normal), false};
}

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
  JsonDocument document = Parsed(*existing);
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
  JsonDocument document = Parsed(*found);
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

Outcome<ObjectPtr> Semantics::Bind(const Target& target, std::string_view node) {
  ObjectPtr existing = CollectionOf(target).Get(target.namespace_name, target.name);
  if (existing == nullptr) return NotFound(target.resource(), target.name);
  JsonDocument document = Parsed(*existing);
  JsonAllocator& allocator = document.GetAllocator();
  Json& spec = Ensure(document, "spec", allocator);
  if (std::string_view bound = TextAt(spec, "nodeName"); !bound.empty()) {
    return Conflict(
        {"", "pods/binding"}, target.name,
        StrCat("pod ", target.name, " is already assigned to node ", JsonString(bound)));
  }
  SetText(spec, "nodeName", node, allocator);
  Json& status = Ensure(document, "status", allocator);
  Json* conditions = FindMutable(&status, "conditions");
  if (conditions == nullptr || !conditions->IsArray()) {
    Set(status, "conditions", Json(rapidjson::kArrayType), allocator);
    conditions = FindMutable(&status, "conditions");
  }
  Json condition(rapidjson::kObjectType);
  SetText(condition, "type", "PodScheduled", allocator);
  SetText(condition, "status", "True", allocator);
  Set(condition, "lastProbeTime", Json(), allocator);
  SetText(condition, "lastTransitionTime", Now(), allocator);
  bool replaced = false;
  for (Json& present : conditions->GetArray()) {
    if (TextAt(present, "type") != "PodScheduled") continue;
    present = Copy(condition, allocator);
    replaced = true;
  }
  if (!replaced) conditions->PushBack(condition, allocator);
  Outcome<JsonDocument> normal = Normalize(*target.info, document);
  if (!normal.ok()) return normal.failure();
  return Store(target, *normal);
}

}  // namespace csinative::apiserver
