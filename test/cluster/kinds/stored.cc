// SPDX-License-Identifier: Apache-2.0
#include "test/cluster/kinds/stored.h"

#include <algorithm>

#include "lib/base/strings.h"
#include "test/cluster/parity/normalize.h"

namespace csinative::kinds {
namespace {

using apiserver::Dump;
using apiserver::Find;
using apiserver::FindMutable;
using apiserver::Remove;
using apiserver::Text;
using apiserver::TextAt;

JsonDocument CopyOf(const Json& value) {
  JsonDocument copy;
  copy.CopyFrom(value, copy.GetAllocator());
  return copy;
}

void DropNulls(Json* value) {
  if (value->IsArray()) {
    for (Json& item : value->GetArray()) DropNulls(&item);
  }
  if (!value->IsObject()) return;
  for (auto it = value->MemberBegin(); it != value->MemberEnd();) {
    if (it->value.IsNull()) {
      it = value->EraseMember(it);
    } else {
      DropNulls(&it->value);
      ++it;
    }
  }
}

void SortItems(Json* list) {
  if (list == nullptr || !list->IsArray()) return;
  std::sort(list->Begin(), list->End(),
            [](const Json& a, const Json& b) { return Dump(a) < Dump(b); });
}

// What other writers than ours own. A write of kubectl's says so by itself.
void KeepOthersFields(Json* metadata) {
  Json* entries = metadata == nullptr ? nullptr : FindMutable(metadata, "managedFields");
  if (entries == nullptr || !entries->IsArray()) return;
  for (auto it = entries->Begin(); it != entries->End();) {
    it = TextAt(*it, "manager").starts_with("kubectl") ? it + 1 : entries->Erase(it);
  }
  SortItems(entries);
}

std::string Differences(const Json& a, const Json& b) {
  return parity::Differences(Dump(a), Dump(b));
}

std::string TwinText(const Json& object, std::string_view name) {
  JsonDocument copy = CopyOf(object);
  if (Json* metadata = FindMutable(&copy, "metadata"); metadata != nullptr) {
    for (const char* key : {"uid", "resourceVersion", "creationTimestamp", "managedFields"}) {
      Remove(*metadata, key);
    }
  }
  if (Json* status = FindMutable(&copy, "status"); status != nullptr && status->IsObject()) {
    Remove(*status, "lastPhaseTransitionTime");
  }
  DropNulls(&copy);
  return ReplaceAll(Dump(copy), name, "NAME");
}

JsonDocument ComparedWhenKept(const Json& object) {
  JsonDocument copy = CopyOf(object);
  DropNulls(&copy);
  Json* metadata = FindMutable(&copy, "metadata");
  if (metadata != nullptr) {
    Remove(*metadata, "resourceVersion");
    SortItems(FindMutable(metadata, "finalizers"));
  }
  KeepOthersFields(metadata);
  if (Json* status = FindMutable(&copy, "status"); status != nullptr && status->IsObject()) {
    SortItems(FindMutable(status, "conditions"));
  }
  return copy;
}

JsonDocument ComparedWhenRead(const Json& object) {
  JsonDocument copy = CopyOf(object);
  DropNulls(&copy);
  if (Json* metadata = FindMutable(&copy, "metadata"); metadata != nullptr) {
    Remove(*metadata, "managedFields");
  }
  return copy;
}

void CollectMissing(const std::string& path, const Json& text, const Json* object,
                    std::string* out) {
  if (text.IsNull() || (object != nullptr && text == *object)) return;
  if (object != nullptr && text.IsObject() && object->IsObject()) {
    for (const auto& member : text.GetObject()) {
      const std::string_view name = Text(&member.name);
      CollectMissing(StrCat(path, "/", name), member.value, Find(*object, name), out);
    }
    return;
  }
  if (object != nullptr && text.IsArray() && object->IsArray() && text.Size() <= object->Size()) {
    for (rapidjson::SizeType i = 0; i < text.Size(); ++i) {
      CollectMissing(StrCat(path, "/", i), text[i], &(*object)[i], out);
    }
    return;
  }
  *out += StrCat("\n    ", path, ": ", Dump(text), " became ",
                 object == nullptr ? "absent" : Dump(*object));
}

}  // namespace

std::string CompareTwins(const Json& ours, std::string_view our_name, const Json& theirs,
                         std::string_view their_name) {
  return parity::Differences(TwinText(ours, our_name), TwinText(theirs, their_name));
}

std::string CompareKept(const Json& expected, const Json& stored) {
  return Differences(ComparedWhenKept(expected), ComparedWhenKept(stored));
}

std::string CompareRead(const Json& read, const Json& stored) {
  return Differences(ComparedWhenRead(read), ComparedWhenRead(stored));
}

std::string CompareContained(const Json& text, const Json& object) {
  std::string missing;
  CollectMissing("", text, &object, &missing);
  return missing;
}

}  // namespace csinative::kinds
