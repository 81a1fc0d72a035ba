// SPDX-License-Identifier: Apache-2.0
//
// Compact object cache: each object is one allocation that holds its key and its serialized bytes,
// packed in large stores; it is decoded when somebody looks. Indices hold pointers to the objects
// and share equal values. Everything is kept in key order. Loop only.
//
// A relist fills a second store and takes its place. Objects that did not change are shared between
// both, by reference count, so that a relist costs tables, not objects.
#pragma once

#include <google/protobuf/message.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/kube/message_pool.h"
#include "lib/kube/object_packer.h"
#include "lib/kube/sorted_table.h"

namespace csinative::kube {

// One allocation with a reference count and two strings. Null only when default-made or moved from.
class PackedRef {
 public:
  enum class Form { kPlain, kPacked };

  PackedRef() = default;
  PackedRef(std::string_view key, std::string_view bytes, Form form = Form::kPlain);
  PackedRef(const PackedRef& other) : rep_(other.rep_) {
    if (rep_ != nullptr) ++rep_->references;
  }
  PackedRef(PackedRef&& other) noexcept : rep_(std::exchange(other.rep_, nullptr)) {}
  PackedRef& operator=(PackedRef other) noexcept {
    std::swap(rep_, other.rep_);
    return *this;
  }
  ~PackedRef() { Release(); }

  explicit operator bool() const { return rep_ != nullptr; }
  bool operator==(const PackedRef& other) const = default;  // the same allocation
  // REQUIRES: not null. Both live as long as a reference does.
  std::string_view key() const { return {Data(), rep_->key_size}; }
  // As they are kept: Store::PlainBytes is for readers.
  std::string_view bytes() const { return {Data() + rep_->key_size, rep_->size}; }
  Form form() const { return rep_->packed ? Form::kPacked : Form::kPlain; }
  // What the allocator spends on it.
  size_t heap_bytes() const;

 private:
  struct Rep {
    uint32_t references;
    uint32_t key_size;
    uint32_t packed : 1;
    uint32_t size : 31;
  };
  const char* Data() const { return reinterpret_cast<const char*>(rep_ + 1); }
  void Release();

  Rep* rep_ = nullptr;
};

class Store {
 public:
  using Message = google::protobuf::Message;
  using IndexFunction = std::function<std::vector<std::string>(const Message&)>;
  struct IndexDefinition {
    std::string name;
    IndexFunction function;  // pure: equal bytes give equal values
  };

  // Borrowed: pool and definitions outlive the store, the pool also what Decode() returned. Stores
  // that share objects share the packer; null: everything is kept plain.
  Store(MessagePool* pool, const std::vector<IndexDefinition>* definitions,
        std::shared_ptr<ObjectPacker> packer = nullptr);

  // `object` is what `bytes` decode to. Returns the object it replaces, if any, and if asked for
  // decoded. Bytes that equal the stored ones change nothing and return the stored object.
  PackedRef Put(std::string_view key, std::string_view bytes, const Message& object,
                PooledMessage* decoded_old = nullptr);
  // Shares an object of another store.
  void Share(const PackedRef& object, const Message& decoded);
  // Returns the object that was there, if any.
  PackedRef Erase(std::string_view key);

  // Null if the key is not there.
  PackedRef Find(std::string_view key) const;
  // The first object after `key`, null if none: iteration that survives changes.
  PackedRef After(std::string_view key) const;
  PackedRef First() const;
  // In key order; visit returns false to stop. No changes meanwhile.
  void ForEach(const std::function<bool(const PackedRef&)>& visit) const;
  // In key order. REQUIRES: a defined index.
  std::vector<PackedRef> ByIndex(std::string_view index, std::string_view value) const;

  PooledMessage Decode(const PackedRef& object) const;
  // The serialized object; valid until the next call of this store or of one that shares the
  // packer.
  std::string_view PlainBytes(const PackedRef& object) const;
  // Whether the object decodes to what these bytes do.
  bool Holds(const PackedRef& object, std::string_view bytes) const;

  size_t size() const { return objects_.size(); }
  // Heap bytes of objects and indices.
  size_t bytes() const;

 private:
  struct ObjectTraits {
    using Key = std::string_view;
    static Key KeyOf(const PackedRef& object) { return object.key(); }
  };
  // One value of one object.
  struct Posting {
    PackedRef value;  // key() is the value; postings of one value share it
    PackedRef object;
  };
  struct PostingTraits {
    using Key = std::pair<std::string_view, std::string_view>;
    static Key KeyOf(const Posting& p) { return {p.value.key(), p.object.key()}; }
  };
  using Index = SortedTable<Posting, PostingTraits>;

  PackedRef Packed(std::string_view key, std::string_view bytes);
  PooledMessage Parse(std::string_view plain_bytes) const;
  void AddToIndices(const PackedRef& object, const Message& decoded);
  void RemoveFromIndices(const PackedRef& object, const Message& decoded);

  MessagePool* const pool_;
  const std::vector<IndexDefinition>* definitions_;
  const std::shared_ptr<ObjectPacker> packer_;
  SortedTable<PackedRef, ObjectTraits> objects_;
  std::vector<Index> indices_;  // parallel to *definitions_
  size_t object_bytes_ = 0;
  size_t value_bytes_ = 0;
};

}  // namespace csinative::kube
