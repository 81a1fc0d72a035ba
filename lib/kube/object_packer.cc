// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/object_packer.h"

#include <zdict.h>
#include <zstd.h>

#include <cassert>
#include <new>

namespace csinative::kube {
namespace {

// Every so many of the examples is looked at, and every so many of those goes into the dictionary.
// The others, compressed with it, show the statistics of what will be compressed.
constexpr int kStride = 10;
constexpr int kDictionaryStride = 50;
// Of each at most so much: rarely does an object stand out by its tail.
constexpr size_t kMostOfAnExample = 1024;
constexpr int kLevel = 1;

// What one giant has left behind.
void Shrink(std::string* buffer) {
  constexpr size_t kKept = size_t{64} << 10;
  if (buffer->capacity() > kKept) std::string().swap(*buffer);
}

template <typename T>
T* NotNull(T* made) {
  if (made == nullptr) throw std::bad_alloc();
  return made;
}

struct Free {
  void operator()(ZSTD_CCtx* c) const { ZSTD_freeCCtx(c); }
  void operator()(ZSTD_DCtx* d) const { ZSTD_freeDCtx(d); }
  void operator()(ZSTD_CDict* c) const { ZSTD_freeCDict(c); }
  void operator()(ZSTD_DDict* d) const { ZSTD_freeDDict(d); }
};

}  // namespace

struct ObjectPacker::Examples {
  // The dictionary with the tables of the entropy coder; without them each packed object would
  // carry its own, which is a quarter of it and most of the time. The text alone if that fails, as
  // with examples that have nothing in common.
  std::string Dictionary() const {
    constexpr size_t kTables = 1024;
    std::string whole(text.size() + kTables, '\0');
    const size_t size = ZDICT_finalizeDictionary(
        whole.data(), whole.size(), text.data(), text.size(), samples.data(), sizes.data(),
        static_cast<unsigned>(sizes.size()), {.compressionLevel = kLevel, .dictID = 1});
    if (ZDICT_isError(size) != 0) return text;
    whole.resize(size);
    return whole;
  }

  int seen = 0;
  std::string text;  // of the dictionary
  std::string samples;
  std::vector<size_t> sizes;  // of the samples
};

struct ObjectPacker::Tables {
  explicit Tables(const std::string& dictionary)
      : to(NotNull(ZSTD_createCDict(dictionary.data(), dictionary.size(), kLevel))),
        from(NotNull(ZSTD_createDDict(dictionary.data(), dictionary.size()))),
        packing(NotNull(ZSTD_createCCtx())),
        unpacking(NotNull(ZSTD_createDCtx())) {
    // There is one dictionary.
    ZSTD_CCtx_setParameter(packing.get(), ZSTD_c_dictIDFlag, 0);
    ZSTD_CCtx_refCDict(packing.get(), to.get());
    ZSTD_DCtx_refDDict(unpacking.get(), from.get());
  }

  const std::unique_ptr<ZSTD_CDict, Free> to;
  const std::unique_ptr<ZSTD_DDict, Free> from;
  const std::unique_ptr<ZSTD_CCtx, Free> packing;
  const std::unique_ptr<ZSTD_DCtx, Free> unpacking;
};

ObjectPacker::ObjectPacker() = default;
ObjectPacker::~ObjectPacker() = default;

void ObjectPacker::Learn(std::string_view bytes) {
  if (tables_ != nullptr) return;
  if (examples_ == nullptr) examples_ = std::make_unique<Examples>();
  if (++examples_->seen % kDictionaryStride == 0) {
    examples_->text += bytes.substr(0, kMostOfAnExample);
  } else if (examples_->seen % kStride == 0) {
    const std::string_view sample = bytes.substr(0, kMostOfAnExample);
    examples_->samples += sample;
    examples_->sizes.push_back(sample.size());
  }
  if (examples_->seen < kExamples) return;
  tables_ = std::make_unique<Tables>(examples_->Dictionary());
  examples_.reset();
}

std::string_view ObjectPacker::Pack(std::string_view bytes) {
  if (tables_ == nullptr) return {};
  Shrink(&packed_);
  packed_.resize(ZSTD_compressBound(bytes.size()));
  const size_t size = ZSTD_compress2(tables_->packing.get(), packed_.data(), packed_.size(),
                                     bytes.data(), bytes.size());
  if (ZSTD_isError(size) != 0 || size >= bytes.size()) return {};
  return std::string_view(packed_).substr(0, size);
}

std::string_view ObjectPacker::Unpack(std::string_view packed) {
  assert(tables_ != nullptr);
  Shrink(&unpacked_);
  unpacked_.resize(ZSTD_getFrameContentSize(packed.data(), packed.size()));
  const size_t size = ZSTD_decompressDCtx(tables_->unpacking.get(), unpacked_.data(),
                                          unpacked_.size(), packed.data(), packed.size());
  // Our own memory: it cannot fail.
  assert(size == unpacked_.size());
  static_cast<void>(size);
  return unpacked_;
}

}  // namespace csinative::kube
