// SPDX-License-Identifier: Apache-2.0
#include "lib/rpc/go_errors.h"

#include <charconv>
#include <optional>

#include "lib/base/strings.h"
#include "lib/rpc/channel.h"

namespace csinative::rpc {
namespace {

// What HTTP/2 error codes become in Go's client (grpc-go, http2ErrConvTab and handleRSTStream).
struct ResetCode {
  const char* name;
  Code code;
};
constexpr ResetCode kResetCodes[] = {
    {"NO_ERROR", Code::kInternal},
    {"PROTOCOL_ERROR", Code::kInternal},
    {"INTERNAL_ERROR", Code::kInternal},
    {"FLOW_CONTROL_ERROR", Code::kResourceExhausted},
    {"SETTINGS_TIMEOUT", Code::kInternal},
    {"STREAM_CLOSED", Code::kInternal},
    {"FRAME_SIZE_ERROR", Code::kInternal},
    {"REFUSED_STREAM", Code::kUnavailable},
    {"CANCEL", Code::kCancelled},
    {"COMPRESSION_ERROR", Code::kInternal},
    {"CONNECT_ERROR", Code::kInternal},
    {"ENHANCE_YOUR_CALM", Code::kResourceExhausted},
    {"INADEQUATE_SECURITY", Code::kPermissionDenied},
    {"HTTP_1_1_REQUIRED", Code::kInternal},
};
constexpr size_t kRefusedStream = 7;
constexpr size_t kCancelStream = 8;

std::optional<size_t> ResetNumber(std::string_view message) {
  constexpr std::string_view kPrefix = "Received RST_STREAM with error code ";
  if (!message.starts_with(kPrefix)) return std::nullopt;
  message.remove_prefix(kPrefix.size());
  size_t number = 0;
  auto [end, error] = std::from_chars(message.data(), message.data() + message.size(), number);
  if (error != std::errc() || number >= std::size(kResetCodes)) return std::nullopt;
  return number;
}

Status Local(Code code, std::string description) {
  return RpcStatus(static_cast<int>(code), std::move(description));
}

// What the library says of a connection that broke.
bool IsSocketFailure(std::string_view text) {
  for (std::string_view known : {"Socket closed", "Connection reset by peer", "Broken pipe",
                                 "Transport closed", "Endpoint read failed", "Stream removed"}) {
    if (text.find(known) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace

Verdict TranslateFailure(const grpc::Status& status, const CallFacts& facts) {
  const std::string& text = status.error_message();
  switch (status.error_code()) {
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      if (facts.deadline_passed && (!facts.from_trailers || text == "Deadline Exceeded")) {
        return {Local(Code::kDeadlineExceeded, "context deadline exceeded")};
      }
      break;
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      // A peer written in C++ says the same about a request: that is its answer.
      if (text.starts_with("Received message larger than max") &&
          !text.starts_with(
              StrCat("Received message larger than max (", facts.request_bytes, " vs. "))) {
        return {Local(Code::kResourceExhausted, "grpc: r" + text.substr(1))};
      }
      break;
    case grpc::StatusCode::UNAVAILABLE:
      if (text == "GOAWAY received") {
        return {Local(Code::kUnavailable, "the connection is draining"), Resend::kNewConnection};
      }
      if (!facts.connection_ok && IsSocketFailure(text)) {
        if (text.find("Connection reset by peer") == std::string::npos) {
          return {Local(Code::kUnavailable, "error reading from server: EOF")};
        }
        return {Local(Code::kUnavailable, StrCat("error reading from server: read ", facts.peer,
                                                 ": read: connection reset by peer"))};
      }
      break;
    case grpc::StatusCode::UNKNOWN:
      // Frames that make no sense.
      if (text == "Stream removed") {
        return {Local(Code::kUnavailable, "error reading from server: EOF")};
      }
      break;
    default:
      break;
  }
  if (std::optional<size_t> reset = ResetNumber(text)) {
    const ResetCode& known = kResetCodes[*reset];
    // A peer that enforces the same deadline resets the stream: Go reports the deadline then.
    const Code code =
        *reset == kCancelStream && facts.deadline_passed ? Code::kDeadlineExceeded : known.code;
    return {Local(code, StrCat("stream terminated by RST_STREAM with error code: ", known.name)),
            *reset == kRefusedStream ? Resend::kSameConnection : Resend::kNo};
  }
  return {RpcStatus(static_cast<int>(status.error_code()), text)};
}

}  // namespace csinative::rpc
