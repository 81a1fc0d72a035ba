// SPDX-License-Identifier: Apache-2.0
//
// Ordered table of small movable items for the informer store: a sorted sequence cut into chunks.
// Costs the bytes of the items and little else (a std::map node costs 40 bytes more each), keeps
// key order, and appends sorted input without moving anything. An insertion moves at most one
// chunk. Loop only.
#pragma once

#include <malloc.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace csinative::kube {

// Traits: `using Key`, a cheap ordered value that may view into the item, and
// `static Key KeyOf(const T&)`. Keys are unique.
template <typename T, typename Traits>
class SortedTable {
 public:
  using Key = typename Traits::Key;

  // The item, or null. Valid until the table changes.
  const T* Find(const Key& key) const {
    const T* at = LowerBound(key);
    return at != nullptr && Traits::KeyOf(*at) == key ? at : nullptr;
  }

  // The first item not before `key`, or after `key`; null if there is none.
  const T* LowerBound(const Key& key) const { return At(Locate(key)); }
  const T* UpperBound(const Key& key) const {
    Position position = Locate(key);
    const T* at = At(position);
    if (at == nullptr || Traits::KeyOf(*at) != key) return at;
    return At(Next(position));
  }
  const T* First() const { return chunks_.empty() ? nullptr : &chunks_.front().front(); }

  // Puts the item in its place; returns the one it replaces.
  std::optional<T> Put(T item) {
    const Key key = Traits::KeyOf(item);
    Position position = Locate(key);
    if (T* at = At(position); at != nullptr && Traits::KeyOf(*at) == key) {
      return std::exchange(*at, std::move(item));
    }
    Insert(position, std::move(item));
    ++size_;
    return std::nullopt;
  }

  std::optional<T> Erase(const Key& key) {
    const Position position = Locate(key);
    T* at = At(position);
    if (at == nullptr || Traits::KeyOf(*at) != key) return std::nullopt;
    std::optional<T> erased(std::move(*at));
    auto& chunk = chunks_[position.chunk];
    chunk.erase(chunk.begin() + static_cast<std::ptrdiff_t>(position.offset));
    if (chunk.empty()) chunks_.erase(chunks_.begin() + static_cast<std::ptrdiff_t>(position.chunk));
    --size_;
    return erased;
  }

  // In order, from the first item not before `from`; `visit` returns false to stop. The table must
  // not change meanwhile.
  template <typename Visit>
  void ForEachFrom(const Key& from, Visit visit) const {
    for (Position p = Locate(from); At(p) != nullptr; p = Next(p)) {
      if (!visit(*At(p))) return;
    }
  }
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (const auto& chunk : chunks_) {
      for (const T& item : chunk) {
        if (!visit(item)) return;
      }
    }
  }

  size_t size() const { return size_; }
  // Heap bytes of the table itself, without what items point to.
  size_t bytes() const {
    size_t bytes = chunks_.capacity() * sizeof(Chunk);
    for (const Chunk& chunk : chunks_) bytes += chunk.capacity() * sizeof(T) + kMallocOverhead;
    return bytes;
  }

 private:
  static constexpr size_t kChunkItems = 256;
  static constexpr size_t kMallocOverhead = sizeof(size_t);
  using Chunk = std::vector<T>;
  struct Position {
    size_t chunk = 0;
    size_t offset = 0;
  };

  // Where `key` is or belongs. Between two chunks: the end of the earlier one.
  Position Locate(const Key& key) const {
    const auto chunk = std::partition_point(chunks_.begin(), chunks_.end(), [&](const Chunk& c) {
      return Traits::KeyOf(c.back()) < key;
    });
    if (chunk == chunks_.end()) return {chunks_.size(), 0};
    const auto item = std::partition_point(chunk->begin(), chunk->end(), [&](const T& candidate) {
      return Traits::KeyOf(candidate) < key;
    });
    return {static_cast<size_t>(chunk - chunks_.begin()),
            static_cast<size_t>(item - chunk->begin())};
  }
  const T* At(Position p) const {
    return p.chunk < chunks_.size() ? &chunks_[p.chunk][p.offset] : nullptr;
  }
  T* At(Position p) { return p.chunk < chunks_.size() ? &chunks_[p.chunk][p.offset] : nullptr; }
  Position Next(Position p) const {
    if (++p.offset == chunks_[p.chunk].size()) return {p.chunk + 1, 0};
    return p;
  }

  void Insert(Position p, T item) {
    if (p.chunk == chunks_.size()) {
      // Behind everything: sorted input fills chunk after chunk.
      if (chunks_.empty() || chunks_.back().size() >= kChunkItems) chunks_.emplace_back();
      chunks_.back().push_back(std::move(item));
      return;
    }
    if (chunks_[p.chunk].size() >= kChunkItems) {
      const size_t half = kChunkItems / 2;
      Chunk upper;
      upper.reserve(kChunkItems);
      auto& lower = chunks_[p.chunk];
      std::move(lower.begin() + half, lower.end(), std::back_inserter(upper));
      lower.resize(half);
      chunks_.insert(chunks_.begin() + static_cast<std::ptrdiff_t>(p.chunk) + 1, std::move(upper));
      if (p.offset > half) p = {p.chunk + 1, p.offset - half};
    }
    auto& chunk = chunks_[p.chunk];
    chunk.insert(chunk.begin() + static_cast<std::ptrdiff_t>(p.offset), std::move(item));
  }

  std::vector<Chunk> chunks_;  // none empty
  size_t size_ = 0;
};

}  // namespace csinative::kube
