// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/patch.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "apis/json/parse.h"
#include "lib/base/strings.h"

namespace csinative::kube {
namespace {

using Json = rapidjson::Value;
using Allocator = rapidjson::Document::AllocatorType;

// A list that the server merges: of scalars if it has no key, else of objects told apart by it.
struct MergeList {
  std::string_view kind;  // empty: every kind
  std::string_view path;  // members from the top, elements of lists left out
  std::string_view key;
  bool retain_keys = false;  // an element holds one of several alternatives
};

// k8s.io/api v0.36 struct tags, of what controllers here write (kube-client 18.4).
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
    MergeList{"Pod", "spec.containers.volumeDevices", "devicePath"},
    MergeList{"Pod", "spec.containers.volumeMounts", "mountPath"},
    MergeList{"Pod", "spec.imagePullSecrets", "name"},
    MergeList{"Pod", "spec.initContainers", "name"},
    MergeList{"Pod", "spec.initContainers.volumeDevices", "devicePath"},
    MergeList{"Pod", "spec.initContainers.volumeMounts", "mountPath"},
    MergeList{"Pod", "spec.volumes", "name", true},
    MergeList{"Pod", "status.conditions", "type"},
    MergeList{"Pod", "status.hostIPs", "ip"},
    MergeList{"Pod", "status.podIPs", "ip"},
};

const MergeList* FindMergeList(std::string_view kind, std::string_view path) {
  for (const MergeList& list : kMergeLists) {
    if (list.path == path && (list.kind.empty() || list.kind == kind)) return &list;
  }
  return nullptr;
}

const Json* Find(const Json& object, std::string_view key) {
  const auto member = object.FindMember(
      Json(rapidjson::StringRef(key.data(), static_cast<rapidjson::SizeType>(key.size()))));
  return member == object.MemberEnd() ? nullptr : &member->value;
}

// Names of the members of both, sorted.
std::set<std::string_view> Names(const Json& a, const Json& b) {
  std::set<std::string_view> names;
  for (const Json* object : {&a, &b}) {
    for (const auto& member : object->GetObject()) names.insert(apis::JsonString(member.name));
  }
  return names;
}

// Differences of two documents. A merge patch is one that knows of no lists.
class Differ {
 public:
  enum class Lists { kReplace, kMerge };
  Differ(std::string_view kind, Lists lists, Allocator& allocator)
      : kind_(kind), lists_(lists), allocator_(allocator) {}

  // Both are objects.
  Result<Json> Objects(const Json& before, const Json& after, const std::string& path) {
    CSI_ASSIGN_OR_RETURN(Members members, Differences(before, after, path));
    return Assemble(std::move(members));
  }

 private:
  using Members = std::vector<std::pair<std::string, Json>>;

  Result<Members> Differences(const Json& before, const Json& after, const std::string& path) {
    Members out;
    for (const std::string_view name : Names(before, after)) {
      const Json* from = Find(before, name);
      const Json* to = Find(after, name);
      if (to == nullptr) {
        out.emplace_back(name, Json());
      } else if (from == nullptr || from->GetType() != to->GetType()) {
        // true and false are two types of the library's, and differ anyway.
        out.emplace_back(name, Copy(*to));
      } else if (*from != *to) {
        const std::string below = path.empty() ? std::string(name) : StrCat(path, ".", name);
        CSI_RETURN_IF_ERROR(Values(std::string(name), *from, *to, below, &out));
      }
    }
    return out;
  }

  // Sorted by name: directives of lists come before the members they belong to.
  Json Assemble(Members members) {
    std::sort(members.begin(), members.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    Json object(rapidjson::kObjectType);
    for (auto& [name, value] : members) object.AddMember(Text(name), value, allocator_);
    return object;
  }

  // Two different values of one type.
  Status Values(const std::string& name, const Json& from, const Json& to, const std::string& path,
                Members* out) {
    if (from.IsObject()) {
      CSI_ASSIGN_OR_RETURN(Json below, Objects(from, to, path));
      out->emplace_back(name, std::move(below));
      return Status();
    }
    const MergeList* list =
        from.IsArray() && lists_ == Lists::kMerge ? FindMergeList(kind_, path) : nullptr;
    if (list == nullptr) {
      out->emplace_back(name, Copy(to));
      return Status();
    }
    if (list->key.empty()) {
      Scalars(name, from, to, out);
      return Status();
    }
    return Elements(*list, name, from, to, path, out);
  }

  // A list of scalars is a set with an order.
  void Scalars(const std::string& name, const Json& from, const Json& to, Members* out) {
    Json added(rapidjson::kArrayType);
    for (const Json& value : to.GetArray()) {
      if (!Holds(from, value)) added.PushBack(Copy(value), allocator_);
    }
    std::vector<std::string> removed;
    for (const Json& value : from.GetArray()) {
      if (!Holds(to, value)) removed.push_back(apis::JsonText(value));
    }
    std::sort(removed.begin(), removed.end());
    removed.erase(std::unique(removed.begin(), removed.end()), removed.end());
    if (!added.Empty()) out->emplace_back(name, std::move(added));
    if (!removed.empty()) {
      Json list(rapidjson::kArrayType);
      for (const std::string& text : removed) {
        for (const Json& value : from.GetArray()) {
          if (apis::JsonText(value) != text) continue;
          list.PushBack(Copy(value), allocator_);
          break;
        }
      }
      out->emplace_back("$deleteFromPrimitiveList/" + name, std::move(list));
    }
    if (!from.Empty()) out->emplace_back("$setElementOrder/" + name, Copy(to));
  }

  Status Elements(const MergeList& list, const std::string& name, const Json& from, const Json& to,
                  const std::string& path, Members* out) {
    Json changes(rapidjson::kArrayType);
    Json order(rapidjson::kArrayType);
    for (const Json& element : to.GetArray()) {
      CSI_ASSIGN_OR_RETURN(const Json* key, KeyOf(list, element));
      order.PushBack(KeyOnly(list, *key), allocator_);
      CSI_ASSIGN_OR_RETURN(const Json* known, WithKey(list, from, *key));
      if (known == nullptr) {
        changes.PushBack(Copy(element), allocator_);
      } else if (*known != element) {
        CSI_ASSIGN_OR_RETURN(Members change, Differences(*known, element, path));
        if (list.retain_keys) change.emplace_back("$retainKeys", NamesOf(element));
        change.emplace_back(list.key, Copy(*key));
        changes.PushBack(Assemble(std::move(change)), allocator_);
      }
    }
    for (const Json& element : from.GetArray()) {
      CSI_ASSIGN_OR_RETURN(const Json* key, KeyOf(list, element));
      CSI_ASSIGN_OR_RETURN(const Json* kept, WithKey(list, to, *key));
      if (kept != nullptr) continue;
      Json removal(rapidjson::kObjectType);
      removal.AddMember("$patch", "delete", allocator_);
      removal.AddMember(Text(list.key), Copy(*key), allocator_);
      changes.PushBack(removal, allocator_);
    }
    if (!changes.Empty()) out->emplace_back(name, std::move(changes));
    if (!from.Empty()) out->emplace_back("$setElementOrder/" + name, std::move(order));
    return Status();
  }

  Json NamesOf(const Json& element) {
    Json names(rapidjson::kArrayType);
    for (const std::string_view name : Names(element, element)) {
      names.PushBack(Text(name), allocator_);
    }
    return names;
  }

  Result<const Json*> KeyOf(const MergeList& list, const Json& element) {
    const Json* key = element.IsObject() ? Find(element, list.key) : nullptr;
    if (key != nullptr) return key;
    return InvalidArgumentError(StrCat("map: ", apis::JsonText(element),
                                       " does not contain declared merge key: ", list.key));
  }

  // The element of `elements` with that key, null if there is none.
  Result<const Json*> WithKey(const MergeList& list, const Json& elements, const Json& key) {
    for (const Json& element : elements.GetArray()) {
      CSI_ASSIGN_OR_RETURN(const Json* other, KeyOf(list, element));
      if (*other == key) return &element;
    }
    return static_cast<const Json*>(nullptr);
  }

  Json KeyOnly(const MergeList& list, const Json& key) {
    Json object(rapidjson::kObjectType);
    object.AddMember(Text(list.key), Copy(key), allocator_);
    return object;
  }

  static bool Holds(const Json& list, const Json& value) {
    const auto values = list.GetArray();
    return std::find(values.begin(), values.end(), value) != values.end();
  }

  Json Copy(const Json& value) { return Json(value, allocator_); }
  Json Text(std::string_view text) {
    return Json(text.data(), static_cast<rapidjson::SizeType>(text.size()), allocator_);
  }

  const std::string_view kind_;
  const Lists lists_;
  Allocator& allocator_;
};

Result<std::string> Difference(std::string_view kind, Differ::Lists lists, const Json& before,
                               const Json& after) {
  if (!before.IsObject() || !after.IsObject()) {
    return InvalidArgumentError("only objects can be patched");
  }
  rapidjson::Document document;
  Differ differ(kind, lists, document.GetAllocator());
  CSI_ASSIGN_OR_RETURN(const Json patch, differ.Objects(before, after, ""));
  return apis::JsonText(patch);
}

}  // namespace

std::string MergePatch(const rapidjson::Value& before, const rapidjson::Value& after) {
  // Whatever is no object is replaced, as the RFC says.
  if (!before.IsObject() || !after.IsObject()) return apis::JsonText(after);
  return *Difference("", Differ::Lists::kReplace, before, after);
}

Result<std::string> StrategicPatch(std::string_view kind, const rapidjson::Value& before,
                                   const rapidjson::Value& after) {
  return Difference(kind, Differ::Lists::kMerge, before, after);
}

}  // namespace csinative::kube
