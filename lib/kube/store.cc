// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/store.h"

#include <malloc.h>

#include <cassert>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace csinative::kube {
namespace {

// API servers refuse objects of more than some MiB.
constexpr uint32_t kMaxSize = ~uint32_t{0} >> 1;

}  // namespace

PackedRef::PackedRef(std::string_view key, std::string_view bytes, Form form) {
  void* memory = std::malloc(sizeof(Rep) + key.size() + bytes.size());
  if (memory == nullptr) throw std::bad_alloc();
  rep_ = new (memory) Rep{.references = 1,
                          .key_size = static_cast<uint32_t>(key.size()),
                          .packed = form == Form::kPacked,
                          .size = static_cast<uint32_t>(bytes.size()) & kMaxSize};
  char* data = reinterpret_cast<char*>(rep_ + 1);
  if (!key.empty()) std::memcpy(data, key.data(), key.size());
  if (!bytes.empty()) std::memcpy(data + key.size(), bytes.data(), bytes.size());
}

void PackedRef::Release() {
  if (rep_ == nullptr || --rep_->references > 0) return;
  std::free(rep_);
}

size_t PackedRef::heap_bytes() const { return malloc_usable_size(rep_) + sizeof(size_t); }

Store::Store(MessagePool* pool, const std::vector<IndexDefinition>* definitions,
             std::shared_ptr<ObjectPacker> packer)
    : pool_(pool),
      definitions_(definitions),
      packer_(std::move(packer)),
      indices_(definitions->size()) {}

PackedRef Store::Packed(std::string_view key, std::string_view bytes) {
  if (packer_ != nullptr) {
    const std::string_view packed = packer_->Pack(bytes);
    if (!packed.empty()) return PackedRef(key, packed, PackedRef::Form::kPacked);
  }
  return PackedRef(key, bytes);
}

std::string_view Store::PlainBytes(const PackedRef& object) const {
  if (object.form() == PackedRef::Form::kPlain) return object.bytes();
  return packer_->Unpack(object.bytes());
}

bool Store::Holds(const PackedRef& object, std::string_view bytes) const {
  return PlainBytes(object) == bytes;
}

PackedRef Store::Put(std::string_view key, std::string_view bytes, const Message& object,
                     PooledMessage* decoded_old) {
  PackedRef old = Find(key);
  if (old) {
    const std::string_view plain = PlainBytes(old);
    const bool unchanged = plain == bytes;
    PooledMessage decoded;
    if (decoded_old != nullptr || (!unchanged && !indices_.empty())) decoded = Parse(plain);
    if (!unchanged && !indices_.empty()) RemoveFromIndices(old, *decoded);
    if (decoded_old != nullptr) *decoded_old = std::move(decoded);
    if (unchanged) return old;
  } else if (packer_ != nullptr && objects_.size() >= ObjectPacker::kExamples) {
    // The second half of the first thousand: small stores come and go without tables.
    packer_->Learn(bytes);
  }
  PackedRef packed = Packed(key, bytes);
  if (old) object_bytes_ -= old.heap_bytes();
  object_bytes_ += packed.heap_bytes();
  AddToIndices(packed, object);
  objects_.Put(std::move(packed));
  return old;
}

void Store::Share(const PackedRef& object, const Message& decoded) {
  Erase(object.key());
  object_bytes_ += object.heap_bytes();
  AddToIndices(object, decoded);
  objects_.Put(object);
}

PackedRef Store::Erase(std::string_view key) {
  PackedRef old = Find(key);
  if (!old) return old;
  if (!indices_.empty()) RemoveFromIndices(old, *Decode(old));
  object_bytes_ -= old.heap_bytes();
  objects_.Erase(key);
  return old;
}

PackedRef Store::Find(std::string_view key) const {
  const PackedRef* at = objects_.Find(key);
  return at == nullptr ? PackedRef() : *at;
}

PackedRef Store::After(std::string_view key) const {
  const PackedRef* at = objects_.UpperBound(key);
  return at == nullptr ? PackedRef() : *at;
}

PackedRef Store::First() const {
  const PackedRef* at = objects_.First();
  return at == nullptr ? PackedRef() : *at;
}

void Store::ForEach(const std::function<bool(const PackedRef&)>& visit) const {
  objects_.ForEach(visit);
}

std::vector<PackedRef> Store::ByIndex(std::string_view index, std::string_view value) const {
  std::vector<PackedRef> found;
  for (size_t i = 0; i < indices_.size(); ++i) {
    if ((*definitions_)[i].name != index) continue;
    indices_[i].ForEachFrom({value, ""}, [&](const Posting& posting) {
      if (posting.value.key() != value) return false;
      found.push_back(posting.object);
      return true;
    });
    return found;
  }
  assert(false && "no such index");
  return found;
}

PooledMessage Store::Decode(const PackedRef& object) const { return Parse(PlainBytes(object)); }

PooledMessage Store::Parse(std::string_view bytes) const {
  PooledMessage message = pool_->Take(bytes.size());
  // Our own serialization of the same type: it cannot fail.
  const bool parsed = message->ParsePartialFromArray(bytes.data(), static_cast<int>(bytes.size()));
  assert(parsed);
  static_cast<void>(parsed);
  return message;
}

size_t Store::bytes() const {
  size_t bytes = objects_.bytes() + object_bytes_ + value_bytes_;
  for (const Index& index : indices_) bytes += index.bytes();
  return bytes;
}

void Store::AddToIndices(const PackedRef& object, const Message& decoded) {
  for (size_t i = 0; i < indices_.size(); ++i) {
    for (const std::string& value : (*definitions_)[i].function(decoded)) {
      // A neighbour with the same value lends its copy.
      PackedRef shared;
      if (const Posting* near = indices_[i].LowerBound({value, ""});
          near != nullptr && near->value.key() == value) {
        shared = near->value;
      } else {
        shared = PackedRef(value, "");
        value_bytes_ += shared.heap_bytes();
      }
      indices_[i].Put({std::move(shared), object});
    }
  }
}

void Store::RemoveFromIndices(const PackedRef& object, const Message& decoded) {
  for (size_t i = 0; i < indices_.size(); ++i) {
    for (const std::string& value : (*definitions_)[i].function(decoded)) {
      std::optional<Posting> erased = indices_[i].Erase({value, object.key()});
      if (!erased) continue;  // the function named the value twice
      const Posting* near = indices_[i].LowerBound({value, ""});
      if (near == nullptr || near->value.key() != value) {
        value_bytes_ -= erased->value.heap_bytes();
      }
    }
  }
}

}  // namespace csinative::kube
