// SPDX-License-Identifier: Apache-2.0
//
// The store below the API: whole documents under (resource, namespace, name), one counter of
// resource versions, and for each resource the recent changes that watches replay. No I/O, no
// clock, no rules about contents. Loop only.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "test/support/apiserver/json.h"
#include "test/support/apiserver/resources.h"

namespace csinative::apiserver {

// One version of one object; immutable.
struct Object {
  int64_t resource_version = 0;
  std::string namespace_name;
  std::string name;
  std::string uid;
  // The document, `{"kind":...,"apiVersion":...,` first.
  std::string json;
  size_t type_prefix = 1;  // bytes of json up to the first field after kind and apiVersion
  std::vector<std::pair<std::string, std::string>> labels;
  std::vector<std::pair<std::string, std::string>> fields;  // for field selectors
  mutable std::string protobuf;                             // encoded on first use

  // The document without kind and apiVersion, as items of typed lists are.
  std::string WithoutType() const { return "{" + json.substr(type_prefix); }
};
using ObjectPtr = std::shared_ptr<const Object>;

// A copy of the document to read or change.
JsonDocument ParseDocument(const Object& object);

struct Change {
  ObjectPtr object;    // after the change; for a deletion the last state with the new version
  ObjectPtr previous;  // null for a creation
  bool deleted = false;
};

class Collection {
 public:
  using Key = std::pair<std::string, std::string>;  // namespace, name

  explicit Collection(const ResourceInfo& info) : info_(&info) {}

  const ResourceInfo& info() const { return *info_; }
  ObjectPtr Get(std::string_view namespace_name, std::string_view name) const;
  const std::map<Key, ObjectPtr>& objects() const { return objects_; }

  // Objects as they were after resource version `version`, in key order; nullopt when the history
  // does not reach back so far.
  std::optional<std::map<Key, ObjectPtr>> At(int64_t version) const;

  // Where the changes after `version` begin; nullopt when some of them may be forgotten. A cursor
  // counts the changes of this collection, so compaction takes nothing from who has seen them all.
  std::optional<uint64_t> CursorAfter(int64_t version) const;
  // The change at the cursor: null if there is none yet, nullopt when it is forgotten. The pointer
  // is good until the next change.
  std::optional<const Change*> ChangeAt(uint64_t cursor) const;
  // Watches can start at this version or later.
  int64_t oldest_version() const { return oldest_version_; }

 private:
  friend class ObjectStore;
  std::deque<Change>::const_iterator UpperBound(int64_t version) const;

  const ResourceInfo* info_;
  std::map<Key, ObjectPtr> objects_;
  std::deque<Change> changes_;
  uint64_t forgotten_ = 0;  // changes that are no longer in changes_
  int64_t oldest_version_ = 0;
};

class ObjectStore {
 public:
  struct Options {
    // Changes kept for each resource. More makes slow watches and old pages possible for longer and
    // costs the size of two documents a change.
    size_t history = 10000;
    int64_t first_version = 1;
  };

  ObjectStore();
  explicit ObjectStore(Options options);

  Collection& collection(const ResourceInfo& info);

  int64_t resource_version() const { return version_; }
  // Creates or replaces. Sets metadata.resourceVersion in the document.
  ObjectPtr Put(Collection& collection, JsonDocument& document);
  // Returns the last state under the version of the deletion. REQUIRES: the object exists.
  ObjectPtr Delete(Collection& collection, std::string_view namespace_name, std::string_view name);
  // Forgets all changes up to now: older watches, pages and exact lists are expired.
  void CompactAll();
  // Called after each change, with the collection that changed.
  void set_on_change(std::function<void(Collection&)> callback) {
    on_change_ = std::move(callback);
  }

 private:
  void Record(Collection& collection, Change change);

  const Options options_;
  int64_t version_;
  int64_t compacted_version_ = 0;
  std::map<std::pair<std::string, std::string>, Collection> collections_;  // by group, resource
  std::function<void(Collection&)> on_change_;
};

// Builds the immutable form; the document has its resource version already.
ObjectPtr MakeObject(const ResourceInfo& info, const JsonDocument& document, int64_t version);

}  // namespace csinative::apiserver
