// SPDX-License-Identifier: Apache-2.0
#include "test/support/apiserver/semantics.h"

#include <charconv>

#include "apis/meta/v1/time.h"
#include "lib/base/json_string.h"
#include "lib/base/strings.h"
#include "test/support/apiserver/codec.h"
#include "test/support/apiserver/kinds.h"
#include "test/support/apiserver/patch.h"

namespace csinative::apiserver {
namespace {

constexpr char kModified[] =
    "the object has been modified; please apply your changes to the latest version and try again";

bool SameContent(const Json& a, const Json& b) {
  // Both have a resource version, which does not count.
  const auto same = [](const Json& x, const Json& y, std::string_view except, auto compare) {
    if (x.MemberCount() != y.MemberCount()) return false;
    for (const auto& member : x.GetObject()) {
      const std::string_view key = Text(&member.name);
      if (key == except) continue;
      const Json* other = Find(y, key);
      if (other == nullptr || !compare(key, member.value, *other)) return false;
    }
    return true;
  };
  const auto equal = [](std::string_view, const Json& x, const Json& y) { return x == y; };
  return same(a, b, "", [&](std::string_view key, const Json& x, const Json& y) {
    return key == "metadata" ? same(x, y, "resourceVersion", equal) : x == y;
  });
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
  ObjectPtr created = Store(target, *normal);
  if (info.kind == "Namespace" && options_.default_service_accounts && !target.dry_run) {
    AddDefaultServiceAccount(name);
  }
  return created;
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
  JsonDocument old = ParseDocument(*existing);
  return Commit(target, existing, old, std::move(document), false);
}

Outcome<Written> Semantics::Patch(const Target& target, PatchType type, std::string_view patch,
                                  std::vector<std::string>* unknown_fields) {
  const ResourceInfo& info = *target.info;
  ObjectPtr existing = CollectionOf(target).Get(target.namespace_name, target.name);
  if (existing == nullptr) return NotFound(target.resource(), target.name);
  JsonDocument old = ParseDocument(*existing);
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
  if (info.resource == "persistentvolumeclaims" && target.subresource.empty()) {
    if (std::optional<Failure> failure = CheckResize(target, next, old)) return *failure;
  }
  std::unique_ptr<google::protobuf::Message> message;
  Outcome<JsonDocument> normal = Normalize(info, next, {.message = &message});
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
  ObjectPtr stored = Store(target, *normal);
  if (message != nullptr && !target.dry_run) KeepProtobuf(*stored, message.get());
  return Written{std::move(stored), false};
}

Outcome<ObjectPtr> Semantics::Bind(const Target& target, std::string_view node) {
  ObjectPtr existing = CollectionOf(target).Get(target.namespace_name, target.name);
  if (existing == nullptr) return NotFound(target.resource(), target.name);
  JsonDocument document = ParseDocument(*existing);
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
