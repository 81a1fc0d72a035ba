// SPDX-License-Identifier: Apache-2.0
#include "lib/http/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <cassert>

namespace csinative::http {
namespace {

constexpr int kGzipOnly = 16 + MAX_WBITS;  // zlib: inflateInit2, deflateInit2
constexpr size_t kStep = 32 * 1024;
constexpr size_t kMaxInput = size_t{1} << 30;  // zlib counts in unsigned int

}  // namespace

struct GzipDecoder::Impl {
  z_stream stream = {};
  bool at_member_end = false;
};

GzipDecoder::GzipDecoder() : impl_(std::make_unique<Impl>()) {
  [[maybe_unused]] const int result = inflateInit2(&impl_->stream, kGzipOnly);
  assert(result == Z_OK);
}

GzipDecoder::~GzipDecoder() { inflateEnd(&impl_->stream); }

bool GzipDecoder::complete() const { return impl_->at_member_end; }

Result<std::string> GzipDecoder::Push(std::string_view compressed, size_t limit) {
  std::string out;
  z_stream& z = impl_->stream;
  while (!compressed.empty()) {
    if (std::exchange(impl_->at_member_end, false)) inflateReset(&z);  // the next of several
    const size_t take = std::min(compressed.size(), kMaxInput);
    z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(compressed.data()));
    z.avail_in = static_cast<uInt>(take);
    int result = Z_OK;
    do {
      const size_t before = out.size();
      out.resize(before + kStep);
      z.next_out = reinterpret_cast<Bytef*>(out.data() + before);
      z.avail_out = kStep;
      result = inflate(&z, Z_NO_FLUSH);
      out.resize(before + kStep - z.avail_out);
      if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) {
        return Status(Code::kDataLoss, "gzip: invalid data");
      }
      if (out.size() > limit) {
        return Status(Code::kResourceExhausted, "gzip: decompressed data is too large");
      }
    } while (result == Z_OK && (z.avail_in > 0 || z.avail_out == 0));
    compressed.remove_prefix(take - z.avail_in);
    if (result == Z_STREAM_END) impl_->at_member_end = true;
  }
  return out;
}

Result<std::string> Gunzip(std::string_view compressed, size_t limit) {
  GzipDecoder decoder;
  Result<std::string> out = decoder.Push(compressed, limit);
  if (out.ok() && !decoder.complete()) return Status(Code::kDataLoss, "gzip: unexpected EOF");
  return out;
}

std::string Gzip(std::string_view plain) {
  z_stream z = {};
  [[maybe_unused]] int result =
      deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipOnly, 8, Z_DEFAULT_STRATEGY);
  assert(result == Z_OK);
  std::string out(deflateBound(&z, plain.size()), '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
  z.avail_in = static_cast<uInt>(plain.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  result = deflate(&z, Z_FINISH);
  assert(result == Z_STREAM_END);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

}  // namespace csinative::http
