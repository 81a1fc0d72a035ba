// SPDX-License-Identifier: Apache-2.0
//
// gzip (RFC 1952) in pieces. Any thread, one at a time.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "lib/base/result.h"

namespace csinative::http {

class GzipDecoder {
 public:
  GzipDecoder();
  ~GzipDecoder();
  GzipDecoder(const GzipDecoder&) = delete;
  GzipDecoder& operator=(const GzipDecoder&) = delete;

  // What the next compressed bytes expand to, possibly nothing yet. kDataLoss for bytes that are
  // not gzip, kResourceExhausted when more than `limit` bytes would come out of this piece.
  Result<std::string> Push(std::string_view compressed, size_t limit);
  // True if the input may end here.
  bool complete() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

Result<std::string> Gunzip(std::string_view compressed, size_t limit);
std::string Gzip(std::string_view plain);

}  // namespace csinative::http
