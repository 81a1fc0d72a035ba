// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/object_packer.h"

#include <zstd.h>

#include <cassert>
#include <new>

namespace csinative::kube {
namespace {

// Every so many of the examples goes into the dictionary.
constexpr int kStride = 50;
// Of each at most so much: rarely does an object stand out by its tail.
constexpr size_t kMostOfAnExample = 1024;
constexpr int kLevel = 1;

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
  if (++examples_ % kStride == 0) dictionary_ += bytes.substr(0, kMostOfAnExample);
  if (examples_ < kExamples) return;
  tables_ = std::make_unique<Tables>(dictionary_);
  dictionary_ = std::string();
}

std::string_view ObjectPacker::Pack(std::string_view bytes) {
  if (tables_ == nullptr) return {};
  packed_.resize(ZSTD_compressBound(bytes.size()));
  const size_t size = ZSTD_compress2(tables_->packing.get(), packed_.data(), packed_.size(),
                                     bytes.data(), bytes.size());
  if (ZSTD_isError(size) != 0 || size >= bytes.size()) return {};
  return std::string_view(packed_).substr(0, size);
}

std::string_view ObjectPacker::Unpack(std::string_view packed) {
  assert(tables_ != nullptr);
  unpacked_.resize(ZSTD_getFrameContentSize(packed.data(), packed.size()));
  const size_t size = ZSTD_decompressDCtx(tables_->unpacking.get(), unpacked_.data(),
                                          unpacked_.size(), packed.data(), packed.size());
  // Our own memory: it cannot fail.
  assert(size == unpacked_.size());
  static_cast<void>(size);
  return unpacked_;
}

}  // namespace csinative::kube
