// SPDX-License-Identifier: Apache-2.0
#include "lib/base/strings.h"
#include "test/support/apiserver/kinds.h"

namespace csinative::apiserver {
namespace {

// Makes the member of `next` what it is in `old`, absent included.
void Restore(Json& next, const Json& old, std::string_view key, JsonAllocator& allocator) {
  const Json* value = Find(old, key);
  if (value == nullptr) {
    Remove(next, key);
  } else {
    Set(next, key, Copy(*value, allocator), allocator);
  }
}

bool SameMember(const Json& a, const Json& b, std::string_view key) {
  const Json* x = Find(a, key);
  const Json* y = Find(b, key);
  if (x == nullptr || y == nullptr) return IsEmpty(x) && IsEmpty(y);
  return *x == *y;
}

bool SameApartFrom(const Json& a, const Json& b, std::initializer_list<std::string_view> ignored) {
  auto is_ignored = [&](std::string_view key) {
    for (std::string_view other : ignored) {
      if (other == key) return true;
    }
    return false;
  };
  for (const auto* side : {&a, &b}) {
    for (const auto& member : side->GetObject()) {
      std::string_view key = Text(&member.name);
      if (!is_ignored(key) && !SameMember(a, b, key)) return false;
    }
  }
  return true;
}

// A status write leaves metadata alone, for the kinds that are this strict.
void RestoreMetadata(JsonDocument& next, const JsonDocument& old) {
  JsonAllocator& allocator = next.GetAllocator();
  Json& metadata = Ensure(next, "metadata", allocator);
  for (std::string_view key : {"labels", "annotations", "finalizers", "ownerReferences",
                               "generation", "deletionTimestamp", "deletionGracePeriodSeconds"}) {
    Restore(metadata, *Find(old, "metadata"), key, allocator);
  }
}

void UpdateGeneration(const ResourceInfo& info, JsonDocument& next, const JsonDocument& old) {
  JsonAllocator& allocator = next.GetAllocator();
  Json& metadata = Ensure(next, "metadata", allocator);
  Restore(metadata, *Find(old, "metadata"), "generation", allocator);
  bool changed = false;
  if (info.generation == GenerationRule::kSpec ||
      info.generation == GenerationRule::kSpecFromZero) {
    changed = !SameMember(next, old, "spec");
  } else if (info.generation == GenerationRule::kAllButStatus) {
    changed = info.has_status
                  ? !SameApartFrom(next, old, {"kind", "apiVersion", "metadata", "status"})
                  : !SameApartFrom(next, old, {"kind", "apiVersion", "metadata"});
  }
  if (!changed) return;
  int64_t generation = Integer(Find(&metadata, "generation")).value_or(0);
  Set(metadata, "generation", Json(generation + 1), allocator);
}

}  // namespace

bool HasFinalizers(const ResourceInfo& info, const Json& document) {
  if (!IsEmpty(Find(document, "metadata", "finalizers"))) return true;
  return info.kind == "Namespace" && !IsEmpty(Find(document, "spec", "finalizers"));
}

void PrepareForUpdate(const ResourceInfo& info, JsonDocument& next, const JsonDocument& old,
                      std::string_view subresource, std::string_view now) {
  JsonAllocator& allocator = next.GetAllocator();
  const std::string& kind = info.kind;
  if (subresource == "status") {
    if (info.custom) {
      JsonDocument kept;
      kept.CopyFrom(old, kept.GetAllocator());
      Restore(kept, next, "status", kept.GetAllocator());
      next.CopyFrom(kept, allocator);
      return;
    }
    Restore(next, old, "spec", allocator);
    if (kind == "VolumeAttachment" || info.group == "apps") RestoreMetadata(next, old);
    if (kind == "PersistentVolume") {
      Json& status = Ensure(next, "status", allocator);
      const Json& old_status = *Find(old, "status");
      const bool same_phase = TextAt(status, "phase") == TextAt(old_status, "phase");
      if (Find(&status, "lastPhaseTransitionTime") == nullptr) {
        Restore(status, old_status, "lastPhaseTransitionTime", allocator);
      }
      if (!same_phase && SameMember(status, old_status, "lastPhaseTransitionTime")) {
        SetText(status, "lastPhaseTransitionTime", now, allocator);
      }
    }
  } else if (info.has_status && kind != "Node") {
    Restore(next, old, "status", allocator);
  }
  if (kind == "Node" && subresource.empty()) Restore(next, old, "status", allocator);
  if (kind == "Namespace" && subresource != "finalize") {
    Restore(Ensure(next, "spec", allocator), *Find(old, "spec"), "finalizers", allocator);
  }
  UpdateGeneration(info, next, old);
}

}  // namespace csinative::apiserver
