// SPDX-License-Identifier: Apache-2.0
#include "test/support/apiserver/object_store.h"

#include <algorithm>
#include <cassert>

#include "lib/base/json_string.h"
#include "lib/base/strings.h"

namespace csinative::apiserver {
namespace {

const Json* FindPath(const Json& document, const std::vector<std::string>& path) {
  const Json* at = &document;
  for (const std::string& key : path) at = Find(at, key);
  return at;
}

std::string FieldText(const Json* value) {
  if (value == nullptr || value->IsNull()) return "";
  if (value->IsString()) return std::string(Text(value));
  return Dump(*value);
}

}  // namespace

ObjectPtr MakeObject(const ResourceInfo& info, const JsonDocument& document, int64_t version) {
  auto object = std::make_shared<Object>();
  object->resource_version = version;
  const Json* metadata = Find(document, "metadata");
  if (metadata != nullptr) {
    object->namespace_name = TextAt(*metadata, "namespace");
    object->name = TextAt(*metadata, "name");
    object->uid = TextAt(*metadata, "uid");
    if (const Json* labels = Find(metadata, "labels"); labels != nullptr && labels->IsObject()) {
      for (const auto& member : labels->GetObject()) {
        object->labels.emplace_back(Text(&member.name), Text(&member.value));
      }
    }
  }
  object->fields.emplace_back("metadata.name", object->name);
  if (info.namespaced) object->fields.emplace_back("metadata.namespace", object->namespace_name);
  for (const auto& [name, path] : info.fields) {
    std::string text = FieldText(FindPath(document, path));
    // Booleans have no absent form in the server's field sets.
    if (text.empty() && (name == "spec.unschedulable" || name == "spec.hostNetwork")) {
      text = "false";
    }
    if (name == "source" && text.empty()) text = TextAt(document, "reportingComponent");
    object->fields.emplace_back(name, std::move(text));
  }

  std::string& json = object->json;
  json = "{\"kind\":";
  AppendJsonString(json, info.kind);
  json += ",\"apiVersion\":";
  AppendJsonString(json, info.group_version());
  object->type_prefix = json.size() + 1;
  for (const auto& member : document.GetObject()) {
    std::string_view key = Text(&member.name);
    if (key == "kind" || key == "apiVersion") continue;
    json += ',';
    AppendJsonString(json, key);
    json += ':';
    json += Dump(member.value);
  }
  object->type_prefix = std::min(object->type_prefix, json.size());
  json += '}';
  return object;
}

JsonDocument ParseDocument(const Object& object) { return *ParseJson(object.json); }

ObjectPtr Collection::Get(std::string_view namespace_name, std::string_view name) const {
  auto it = objects_.find(Key(namespace_name, name));
  return it == objects_.end() ? nullptr : it->second;
}

std::deque<Change>::const_iterator Collection::UpperBound(int64_t version) const {
  return std::upper_bound(
      changes_.begin(), changes_.end(), version,
      [](int64_t v, const Change& change) { return v < change.object->resource_version; });
}

std::optional<uint64_t> Collection::CursorAfter(int64_t version) const {
  if (version < oldest_version_) return std::nullopt;
  return forgotten_ + static_cast<uint64_t>(UpperBound(version) - changes_.begin());
}

std::optional<const Change*> Collection::ChangeAt(uint64_t cursor) const {
  if (cursor < forgotten_) return std::nullopt;
  const uint64_t index = cursor - forgotten_;
  return index >= changes_.size() ? nullptr : &changes_[index];
}

std::optional<std::map<Collection::Key, ObjectPtr>> Collection::At(int64_t version) const {
  if (version < oldest_version_) return std::nullopt;
  std::map<Key, ObjectPtr> state = objects_;
  const auto begin = UpperBound(version);
  for (auto it = changes_.end(); it != begin;) {
    const Change& change = *--it;
    Key key(change.object->namespace_name, change.object->name);
    if (change.previous == nullptr) {
      state.erase(key);
    } else {
      state[key] = change.previous;
    }
  }
  return state;
}

ObjectStore::ObjectStore() : ObjectStore(Options()) {}

ObjectStore::ObjectStore(Options options) : options_(options), version_(options.first_version) {}

Collection& ObjectStore::collection(const ResourceInfo& info) {
  auto key = std::make_pair(info.group, info.resource);
  auto it = collections_.find(key);
  if (it == collections_.end()) {
    it = collections_.emplace(std::move(key), Collection(info)).first;
    it->second.oldest_version_ = compacted_version_;
  }
  it->second.info_ = &info;
  return it->second;
}

ObjectPtr ObjectStore::Put(Collection& collection, JsonDocument& document) {
  ++version_;
  Json& metadata = Ensure(document, "metadata", document.GetAllocator());
  SetText(metadata, "resourceVersion", std::to_string(version_), document.GetAllocator());
  ObjectPtr object = MakeObject(collection.info(), document, version_);
  ObjectPtr& slot = collection.objects_[Collection::Key(object->namespace_name, object->name)];
  ObjectPtr previous = std::exchange(slot, object);
  Record(collection, Change{object, std::move(previous), false});
  return object;
}

ObjectPtr ObjectStore::Delete(Collection& collection, std::string_view namespace_name,
                              std::string_view name) {
  auto it = collection.objects_.find(Collection::Key(namespace_name, name));
  assert(it != collection.objects_.end());
  ObjectPtr previous = it->second;
  collection.objects_.erase(it);
  ++version_;
  JsonDocument document = ParseDocument(*previous);
  SetText(Ensure(document, "metadata", document.GetAllocator()), "resourceVersion",
          std::to_string(version_), document.GetAllocator());
  ObjectPtr last = MakeObject(collection.info(), document, version_);
  Record(collection, Change{last, std::move(previous), true});
  return last;
}

void ObjectStore::Record(Collection& collection, Change change) {
  collection.changes_.push_back(std::move(change));
  while (collection.changes_.size() > options_.history) {
    collection.oldest_version_ = collection.changes_.front().object->resource_version;
    collection.changes_.pop_front();
    ++collection.forgotten_;
  }
  if (on_change_) on_change_(collection);
}

void ObjectStore::CompactAll() {
  compacted_version_ = version_;
  for (auto& [key, collection] : collections_) {
    collection.forgotten_ += collection.changes_.size();
    collection.changes_.clear();
    collection.oldest_version_ = version_;
  }
}

}  // namespace csinative::apiserver
