// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <vector>

#include "lib/base/strings.h"
#include "test/support/apiserver/patch.h"

namespace csinative::apiserver {
namespace {

constexpr std::string_view kSetOrder = "$setElementOrder/";
constexpr std::string_view kDeleteFromList = "$deleteFromPrimitiveList/";

// Lists that merge: kind ("" for all, "Pod" also for the pod templates of apps kinds), path with
// the elements of lists left out, merge key ("" for lists of scalars).
struct MergeList {
  std::string_view kind;
  std::string_view path;
  std::string_view key;
};
constexpr std::array kMergeLists = {
    MergeList{"", "metadata.finalizers", ""},
    MergeList{"", "metadata.ownerReferences", "uid"},
    MergeList{"CSINode", "spec.drivers", "name"},
    MergeList{"Namespace", "status.conditions", "type"},
    MergeList{"Node", "spec.podCIDRs", ""},
    MergeList{"Node", "status.addresses", "type"},
    MergeList{"Node", "status.conditions", "type"},
    MergeList{"PersistentVolumeClaim", "status.conditions", "type"},
    MergeList{"Pod", "spec.containers", "name"},
    MergeList{"Pod", "spec.containers.env", "name"},
    MergeList{"Pod", "spec.containers.ports", "containerPort"},
    MergeList{"Pod", "spec.containers.volumeDevices", "devicePath"},
    MergeList{"Pod", "spec.containers.volumeMounts", "mountPath"},
    MergeList{"Pod", "spec.ephemeralContainers", "name"},
    MergeList{"Pod", "spec.hostAliases", "ip"},
    MergeList{"Pod", "spec.imagePullSecrets", "name"},
    MergeList{"Pod", "spec.initContainers", "name"},
    MergeList{"Pod", "spec.initContainers.env", "name"},
    MergeList{"Pod", "spec.initContainers.ports", "containerPort"},
    MergeList{"Pod", "spec.initContainers.volumeDevices", "devicePath"},
    MergeList{"Pod", "spec.initContainers.volumeMounts", "mountPath"},
    MergeList{"Pod", "spec.resourceClaims", "name"},
    MergeList{"Pod", "spec.schedulingGates", "name"},
    MergeList{"Pod", "spec.topologySpreadConstraints", "topologyKey"},
    MergeList{"Pod", "spec.volumes", "name"},
    MergeList{"Pod", "status.conditions", "type"},
    MergeList{"Pod", "status.hostIPs", "ip"},
    MergeList{"Pod", "status.podIPs", "ip"},
    MergeList{"ServiceAccount", "secrets", "name"},
};

class StrategicMerger {
 public:
  StrategicMerger(const ResourceInfo& info, JsonAllocator& allocator)
      : info_(info), allocator_(allocator) {}

  // Null, or the error for the client.
  std::optional<std::string> MergeMap(Json& original, const Json& patch, const std::string& path) {
    if (const Json* directive = Find(patch, "$patch")) {
      std::string_view text = Text(directive);
      if (text == "replace") {
        original = Copy(patch, allocator_);
        Remove(original, "$patch");
        return std::nullopt;
      }
      if (text == "delete") {
        original.SetObject();
        return std::nullopt;
      }
      if (text != "merge") {
        return StrCat("unknown patch type: ", text, " in map: map[$patch:", text, "]");
      }
    }
    if (const Json* retain = Find(patch, "$retainKeys")) RetainKeys(original, *retain);

    for (const auto& member : patch.GetObject()) {
      std::string_view key = Text(&member.name);
      if (key == "$patch" || key == "$retainKeys" || key.starts_with(kDeleteFromList)) continue;
      if (key.starts_with(kSetOrder)) continue;
      auto error = MergeMember(original, patch, key, member.value, path);
      if (error) return error;
    }
    for (const auto& member : patch.GetObject()) {
      std::string_view key = Text(&member.name);
      if (key.starts_with(kDeleteFromList)) {
        DeleteScalars(original, key.substr(kDeleteFromList.size()), member.value);
      }
    }
    for (const auto& member : patch.GetObject()) {
      std::string_view key = Text(&member.name);
      if (!key.starts_with(kSetOrder)) continue;
      std::string_view list = key.substr(kSetOrder.size());
      std::string_view merge_key;
      if (!IsMergeList(Extend(path, list), &merge_key)) continue;
      Json* present = FindMutable(&original, list);
      if (present == nullptr || !present->IsArray() || !member.value.IsArray()) continue;
      Order(*present, member.value, before_[std::string(Extend(path, list))], merge_key);
    }
    return std::nullopt;
  }

 private:
  static std::string Extend(const std::string& path, std::string_view key) {
    return path.empty() ? std::string(key) : StrCat(path, ".", key);
  }

  bool IsMergeList(std::string_view path, std::string_view* key) const {
    std::string_view kind = info_.kind;
    if (info_.group == "apps" && path.starts_with("spec.template.")) {
      path.remove_prefix(std::string_view("spec.template.").size());
      kind = "Pod";
    }
    for (const MergeList& list : kMergeLists) {
      if ((list.kind.empty() || list.kind == kind) && list.path == path) {
        *key = list.key;
        return true;
      }
    }
    if (info_.group == "apps" && path == "status.conditions") {
      *key = "type";
      return true;
    }
    return false;
  }

  void RetainKeys(Json& original, const Json& retain) {
    if (!retain.IsArray() || !original.IsObject()) return;
    for (auto it = original.MemberBegin(); it != original.MemberEnd();) {
      bool keep = false;
      for (const Json& key : retain.GetArray()) keep = keep || Text(&key) == Text(&it->name);
      it = keep ? it + 1 : original.EraseMember(it);
    }
  }

  std::optional<std::string> MergeMember(Json& original, const Json& patch, std::string_view key,
                                         const Json& value, const std::string& path) {
    if (value.IsNull()) {
      Remove(original, key);
      return std::nullopt;
    }
    const std::string child = Extend(path, key);
    Json* present = FindMutable(&original, key);
    if (present != nullptr && present->GetType() != value.GetType()) {
      Set(original, key, Json(), allocator_);
      present = nullptr;
    }
    std::string_view merge_key;
    if (value.IsObject()) {
      if (present == nullptr) {
        Set(original, key, Json(rapidjson::kObjectType), allocator_);
        present = FindMutable(&original, key);
      }
      return MergeMap(*present, value, child);
    }
    if (!value.IsArray() || !IsMergeList(child, &merge_key)) {
      Set(original, key, Copy(value, allocator_), allocator_);
      return std::nullopt;
    }
    if (present == nullptr) {
      Set(original, key, Json(rapidjson::kArrayType), allocator_);
      present = FindMutable(&original, key);
    }
    Json before = Copy(*present, allocator_);
    auto error = merge_key.empty() ? MergeScalars(*present, value)
                                   : MergeElements(*present, value, merge_key, child);
    if (error) return error;
    if (Find(patch, StrCat(kSetOrder, key)) == nullptr) Order(*present, value, before, merge_key);
    before_[child] = std::move(before);
    return std::nullopt;
  }

  std::optional<std::string> MergeScalars(Json& list, const Json& additions) {
    for (const Json& item : additions.GetArray()) {
      bool found = false;
      for (const Json& other : list.GetArray()) found = found || other == item;
      if (!found) list.PushBack(Copy(item, allocator_), allocator_);
    }
    return std::nullopt;
  }

  void DeleteScalars(Json& original, std::string_view key, const Json& removals) {
    Json* list = FindMutable(&original, key);
    if (list == nullptr || !list->IsArray() || !removals.IsArray()) return;
    for (const Json& item : removals.GetArray()) {
      for (auto it = list->Begin(); it != list->End();) {
        it = *it == item ? list->Erase(it) : it + 1;
      }
    }
    if (list->Empty()) Remove(original, key);
  }

  static Json* FindByKey(Json& list, std::string_view key, const Json& value) {
    for (Json& item : list.GetArray()) {
      const Json* other = Find(item, key);
      if (other != nullptr && *other == value) return &item;
    }
    return nullptr;
  }

  std::optional<std::string> MergeElements(Json& list, const Json& patch, std::string_view key,
                                           const std::string& path) {
    for (const Json& item : patch.GetArray()) {
      if (TextAt(item, "$patch") == "replace") list.Clear();
    }
    for (const Json& item : patch.GetArray()) {
      std::string_view directive = TextAt(item, "$patch");
      if (directive == "replace" && Find(item, key) == nullptr) continue;
      const Json* value = Find(item, key);
      if (value == nullptr) {
        return StrCat("map: ", Dump(item), " does not contain declared merge key: ", key);
      }
      Json* present = FindByKey(list, key, *value);
      if (directive == "delete") {
        if (present != nullptr) list.Erase(present);
        continue;
      }
      if (present == nullptr) {
        list.PushBack(Json(rapidjson::kObjectType), allocator_);
        present = list.End() - 1;
      }
      auto error = MergeMap(*present, item, path);
      if (error) return error;
    }
    return std::nullopt;
  }

  static std::optional<size_t> Position(const Json& order, const Json& item, std::string_view key) {
    if (!order.IsArray()) return std::nullopt;
    const Json* wanted = key.empty() ? &item : Find(item, key);
    for (rapidjson::SizeType i = 0; i < order.Size(); ++i) {
      const Json* other = key.empty() ? &order[i] : Find(order[i], key);
      if (wanted != nullptr && other != nullptr && *wanted == *other) return i;
    }
    return std::nullopt;
  }

  // Items named by `wanted` take its order; the others keep the order of `before` and come in where
  // that order puts them.
  void Order(Json& list, const Json& wanted, const Json& before, std::string_view key) {
    std::vector<Json> ordered, others;
    for (Json& item : list.GetArray()) {
      (Position(wanted, item, key) ? ordered : others).push_back(std::move(item));
    }
    std::stable_sort(ordered.begin(), ordered.end(), [&](const Json& a, const Json& b) {
      return *Position(wanted, a, key) < *Position(wanted, b, key);
    });
    list.Clear();
    auto right = ordered.begin();
    for (Json& left : others) {
      std::optional<size_t> left_at = Position(before, left, key);
      for (; right != ordered.end(); ++right) {
        std::optional<size_t> right_at = Position(before, *right, key);
        if (left_at && right_at && *left_at < *right_at) break;
        list.PushBack(std::move(*right), allocator_);
      }
      list.PushBack(std::move(left), allocator_);
    }
    for (; right != ordered.end(); ++right) list.PushBack(std::move(*right), allocator_);
  }

  const ResourceInfo& info_;
  JsonAllocator& allocator_;
  // Lists as they were before this patch, for the order of what the patch does not name.
  std::map<std::string, Json> before_;
};

// Nulls in what the patch adds mean nothing.
void DropNulls(Json& value) {
  if (value.IsArray()) {
    for (Json& item : value.GetArray()) DropNulls(item);
  }
  if (!value.IsObject()) return;
  for (auto it = value.MemberBegin(); it != value.MemberEnd();) {
    if (it->value.IsNull()) {
      it = value.EraseMember(it);
    } else {
      DropNulls(it->value);
      ++it;
    }
  }
}

}  // namespace

Outcome<JsonDocument> ApplyStrategicPatch(const ResourceInfo& info, const JsonDocument& current,
                                          std::string_view patch) {
  Result<JsonDocument> changes = ParseJson(patch);
  if (!changes.ok()) return BadRequest(JsonSyntaxError(patch));
  if (!changes->IsObject()) {
    return BadRequest(StrCat("json: cannot unmarshal ", JsonTypeName(*changes),
                             " into Go value of type map[string]interface {}"));
  }
  JsonDocument result;
  result.CopyFrom(current, result.GetAllocator());
  StrategicMerger merger(info, result.GetAllocator());
  std::optional<std::string> error = merger.MergeMap(result, *changes, "");
  if (error) return PlainError(*error);
  DropNulls(result);
  return result;
}

}  // namespace csinative::apiserver
