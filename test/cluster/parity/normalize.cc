// SPDX-License-Identifier: Apache-2.0
#include "test/cluster/parity/normalize.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "apis/json/parse.h"
#include "lib/base/strings.h"

namespace csinative::parity {
namespace {

using apiserver::Dump;
using apiserver::Find;
using apiserver::FindMutable;
using apiserver::Json;
using apiserver::JsonAllocator;
using apiserver::JsonDocument;
using apiserver::MakeString;
using apiserver::ParseJson;
using apiserver::Remove;
using apiserver::Text;

const std::set<std::string_view> kTimes = {"creationTimestamp",       "deletionTimestamp",
                                           "lastPhaseTransitionTime", "lastTransitionTime",
                                           "expirationTimestamp",     "time"};

bool IsHex(char c) {
  return std::isxdigit(static_cast<unsigned char>(c)) &&
         !std::isupper(static_cast<unsigned char>(c));
}

// The length of a UUID that begins at `at`, or 0.
size_t UuidAt(std::string_view text, size_t at) {
  if (at + 36 > text.size()) return 0;
  for (size_t i = 0; i < 36; ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? text[at + i] != '-' : !IsHex(text[at + i])) return 0;
  }
  return 36;
}

// Numbers after these words are resource versions.
constexpr std::string_view kVersionWords[] = {
    "resource version: ", "current: ", "ResourceVersion in record (",
    "ResourceVersion in the precondition ("};
// Everything from the line break on prints a difference of two Go values.
constexpr std::string_view kDiffs[] = {"immutable after creation", "pod updates may not change"};

std::string NormalizeText(std::string_view text) {
  for (std::string_view marker : kDiffs) {
    size_t at = text.find(marker);
    if (at != std::string_view::npos) text = text.substr(0, text.find('\n', at));
  }
  std::string out;
  for (size_t i = 0; i < text.size();) {
    if (size_t length = UuidAt(text, i)) {
      out += "<uid>";
      i += length;
      continue;
    }
    bool replaced = false;
    for (std::string_view word : kVersionWords) {
      if (!out.ends_with(word) || !std::isdigit(static_cast<unsigned char>(text[i]))) continue;
      while (i < text.size() && std::isdigit(static_cast<unsigned char>(text[i]))) ++i;
      out += "<version>";
      replaced = true;
    }
    if (!replaced) out += text[i++];
  }
  return out;
}

void NormalizeMetadata(Json& metadata, JsonAllocator& allocator) {
  Remove(metadata, "managedFields");
  Json* name = FindMutable(&metadata, "name");
  std::string prefix(Text(Find(&metadata, "generateName")));
  if (name != nullptr && !prefix.empty() && Text(name).starts_with(prefix) &&
      Text(name).size() == prefix.size() + 5) {
    *name = MakeString(prefix + "<random>", allocator);
  }
}

void Normalize(Json& value, std::string_view key, JsonAllocator& allocator) {
  if (value.IsArray()) {
    for (Json& item : value.GetArray()) Normalize(item, key, allocator);
    return;
  }
  if (value.IsString()) {
    std::string_view text = Text(&value);
    std::string next;
    if (key == "resourceVersion" && !text.empty()) {
      next = "<version>";
    } else if ((key == "continue" || key == "token" || key == "serverAddress") && !text.empty()) {
      next = StrCat("<", key, ">");
    } else if (kTimes.contains(key) && text.size() == 20) {
      next = "<time>";
    } else if (text.starts_with("kube-api-access-")) {
      next = "kube-api-access-<random>";
    } else {
      next = NormalizeText(text);
    }
    if (next != text) value = MakeString(next, allocator);
    return;
  }
  if (!value.IsObject()) return;
  if (key == "metadata") NormalizeMetadata(value, allocator);
  Remove(value, "storageVersionHash");
  for (auto& member : value.GetObject()) {
    Normalize(member.value, Text(&member.name), allocator);
  }
}

// Keys sorted, so that equal values are equal texts.
void Sort(Json& value) {
  if (value.IsArray()) {
    for (Json& item : value.GetArray()) Sort(item);
  }
  if (!value.IsObject()) return;
  std::sort(value.MemberBegin(), value.MemberEnd(),
            [](const auto& a, const auto& b) { return Text(&a.name) < Text(&b.name); });
  for (auto& member : value.GetObject()) Sort(member.value);
}

void Erase(Json* value, std::string_view pointer) {
  std::vector<std::string_view> keys = Split(pointer.substr(1), '/');
  for (size_t i = 0; i + 1 < keys.size() && value != nullptr; ++i) {
    if (value->IsArray()) {
      const size_t index = static_cast<size_t>(std::atoi(std::string(keys[i]).c_str()));
      value = index < value->Size() ? &(*value)[static_cast<rapidjson::SizeType>(index)] : nullptr;
    } else {
      value = FindMutable(value, ReplaceAll(ReplaceAll(keys[i], "~1", "/"), "~0", "~"));
    }
  }
  if (value != nullptr) Remove(*value, keys.back());
}

void KeepOurs(Json& theirs, const Json& ours, JsonAllocator& allocator) {
  if (theirs.IsObject() && ours.IsObject()) {
    for (auto it = theirs.MemberBegin(); it != theirs.MemberEnd();) {
      const Json* mine = Find(ours, Text(&it->name));
      if (mine == nullptr) {
        it = theirs.EraseMember(it);
      } else {
        KeepOurs(it->value, *mine, allocator);
        ++it;
      }
    }
  }
  if (!theirs.IsArray() || !ours.IsArray() || ours.Empty() || Find(ours[0], "name") == nullptr) {
    return;
  }
  // In our order: the real server's has more in between.
  Json kept(rapidjson::kArrayType);
  for (const Json& mine : ours.GetArray()) {
    for (Json& item : theirs.GetArray()) {
      const Json* name = Find(item, "name");
      if (name == nullptr || *name != *Find(mine, "name")) continue;
      KeepOurs(item, mine, allocator);
      kept.PushBack(item, allocator);
      break;
    }
  }
  theirs = std::move(kept);
}

void Collect(const std::string& path, const Json* ours, const Json* theirs,
             std::vector<std::string>* out) {
  if (ours != nullptr && theirs != nullptr && *ours == *theirs) return;
  if (ours != nullptr && theirs != nullptr && ours->IsObject() && theirs->IsObject()) {
    std::set<std::string> keys;
    for (const auto& member : ours->GetObject()) keys.emplace(Text(&member.name));
    for (const auto& member : theirs->GetObject()) keys.emplace(Text(&member.name));
    for (const std::string& key : keys) {
      Collect(StrCat(path, "/", key), Find(ours, key), Find(theirs, key), out);
    }
    return;
  }
  if (ours != nullptr && theirs != nullptr && ours->IsArray() && theirs->IsArray() &&
      ours->Size() == theirs->Size()) {
    for (rapidjson::SizeType i = 0; i < ours->Size(); ++i) {
      Collect(StrCat(path, "/", i), &(*ours)[i], &(*theirs)[i], out);
    }
    return;
  }
  out->push_back(StrCat(path.empty() ? "/" : path, ": ", ours ? Dump(*ours) : "absent",
                        "\n      real: ", theirs ? Dump(*theirs) : "absent"));
}

}  // namespace

std::string NormalizeBody(std::string_view body, const std::vector<std::string>& ignore) {
  JsonDocument document;
  JsonAllocator& allocator = document.GetAllocator();
  if (Result<JsonDocument> whole = ParseJson(body); whole.ok()) {
    document.CopyFrom(*whole, allocator);
    if (document.IsObject() && document.MemberCount() == 2 && Find(document, "type") != nullptr &&
        Find(document, "object") != nullptr) {
      Json event;
      event.CopyFrom(document, allocator);
      document.SetArray();
      document.PushBack(event, allocator);
    }
  } else {
    document.SetArray();
    bool stream = !TrimSpace(body).empty();
    for (std::string_view line : Split(body, '\n')) {
      if (TrimSpace(line).empty()) continue;
      Result<JsonDocument> event = ParseJson(line);
      stream = stream && event.ok();
      if (stream) document.PushBack(Json().CopyFrom(*event, allocator), allocator);
    }
    if (!stream) document.SetString(std::string(body).c_str(), allocator);
  }
  for (const std::string& pointer : ignore) Erase(&document, pointer);
  Normalize(document, "", allocator);
  Sort(document);
  return Dump(document);
}

std::string Project(std::string_view theirs, std::string_view ours) {
  Result<JsonDocument> their_document = ParseJson(theirs), our_document = ParseJson(ours);
  if (!their_document.ok() || !our_document.ok()) return std::string(theirs);
  KeepOurs(*their_document, *our_document, their_document->GetAllocator());
  return Dump(*their_document);
}

std::string Differences(std::string_view ours, std::string_view theirs) {
  Result<JsonDocument> our_document = ParseJson(ours), their_document = ParseJson(theirs);
  if (!our_document.ok() || !their_document.ok()) return "no JSON";
  std::vector<std::string> all;
  Collect("", &*our_document, &*their_document, &all);
  if (all.size() > 10) all.resize(10);
  return Join(all, "\n    ");
}

}  // namespace csinative::parity
