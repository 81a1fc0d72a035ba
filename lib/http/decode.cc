// SPDX-License-Identifier: Apache-2.0
#include "lib/http/decode.h"

#include <utility>

#include "lib/base/strings.h"
#include "lib/http/gzip.h"
#include "lib/http/net_error.h"

namespace csinative::http {
namespace {

// One piece of a stream may expand to this much; 16 KiB of gzip never give more than 16 MiB.
constexpr size_t kMaxPiece = size_t{32} << 20;

bool IsGzip(const Headers& headers) {
  const auto encoding = headers.Get("Content-Encoding");
  return encoding && EqualsIgnoreCase(TrimSpace(*encoding), "gzip");
}

void RemoveEncoding(Headers* headers) {
  headers->Remove("Content-Encoding");
  headers->Remove("Content-Length");
}

class DecodedStream final : public StreamingResponse {
 public:
  explicit DecodedStream(std::unique_ptr<StreamingResponse> inner)
      : inner_(std::move(inner)), headers_(inner_->headers()) {
    RemoveEncoding(&headers_);
  }

  int status() const override { return inner_->status(); }
  const Headers& headers() const override { return headers_; }

  async::Task<Result<std::string>> Read() override {
    while (true) {
      Result<std::string> piece = co_await inner_->Read();
      if (!piece.ok()) co_return piece;
      if (piece->empty()) {
        if (any_ && !decoder_.complete()) {
          co_return TransportStatus(TransportError::Kind::kReset, "unexpected EOF");
        }
        co_return std::string();
      }
      any_ = true;
      Result<std::string> plain = decoder_.Push(*piece, kMaxPiece);
      if (!plain.ok() || !plain->empty()) co_return plain;
    }
  }

 private:
  const std::unique_ptr<StreamingResponse> inner_;
  Headers headers_;
  GzipDecoder decoder_;
  bool any_ = false;
};

}  // namespace

Status DecodeResponse(Response* response, size_t max_body_bytes) {
  if (!IsGzip(response->headers) || response->body.empty()) return Status();
  CSI_ASSIGN_OR_RETURN(std::string plain, Gunzip(response->body, max_body_bytes));
  response->body = std::move(plain);
  RemoveEncoding(&response->headers);
  return Status();
}

std::unique_ptr<StreamingResponse> DecodeStream(std::unique_ptr<StreamingResponse> stream) {
  if (!IsGzip(stream->headers())) return stream;
  return std::make_unique<DecodedStream>(std::move(stream));
}

}  // namespace csinative::http
