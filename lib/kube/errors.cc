// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/errors.h"

#include <algorithm>
#include <array>

#include "lib/base/strings.h"

namespace csinative::kube {
namespace {

// Reasons apimachinery knows (kube-client 9.2). With any other reason the HTTP code decides.
constexpr std::array<std::string_view, 19> kKnownReasons = {
    "Unauthorized",
    "Forbidden",
    "NotFound",
    "AlreadyExists",
    "Conflict",
    "Gone",
    "Expired",
    "Invalid",
    "ServerTimeout",
    "StorageReadError",
    "InternalError",
    "Timeout",
    "TooManyRequests",
    "BadRequest",
    "MethodNotAllowed",
    "NotAcceptable",
    "RequestEntityTooLarge",
    "UnsupportedMediaType",
    "ServiceUnavailable",
};

bool HasReason(const Status& status, std::string_view reason) {
  const ApiError* error = status.api_error();
  return error != nullptr && error->reason == reason;
}

bool HasReasonOrCode(const Status& status, std::string_view reason, int code) {
  const ApiError* error = status.api_error();
  if (error == nullptr) return false;
  if (error->reason == reason) return true;
  const bool known =
      std::find(kKnownReasons.begin(), kKnownReasons.end(), error->reason) != kKnownReasons.end();
  return !known && error->http_code == code;
}

}  // namespace

bool IsNotFound(const Status& status) { return HasReasonOrCode(status, "NotFound", 404); }
bool IsAlreadyExists(const Status& status) { return HasReason(status, "AlreadyExists"); }
bool IsConflict(const Status& status) { return HasReasonOrCode(status, "Conflict", 409); }
bool IsForbidden(const Status& status) { return HasReasonOrCode(status, "Forbidden", 403); }
bool IsInvalid(const Status& status) { return HasReasonOrCode(status, "Invalid", 422); }
bool IsGone(const Status& status) {
  return HasReasonOrCode(status, "Gone", 410) || HasReason(status, "Expired");
}
bool IsTimeout(const Status& status) { return HasReasonOrCode(status, "Timeout", 504); }
bool IsServerTimeout(const Status& status) { return HasReason(status, "ServerTimeout"); }
bool IsInternalError(const Status& status) { return HasReasonOrCode(status, "InternalError", 500); }
bool IsUnauthorized(const Status& status) { return HasReasonOrCode(status, "Unauthorized", 401); }

bool IsTooManyRequests(const Status& status) {
  const ApiError* error = status.api_error();
  return error != nullptr && (error->reason == "TooManyRequests" || error->http_code == 429);
}

bool HasStatusCause(const Status& status, std::string_view reason) {
  const ApiError* error = status.api_error();
  return error != nullptr &&
         std::any_of(error->causes.begin(), error->causes.end(),
                     [&](const ApiCause& cause) { return cause.reason == reason; });
}

bool IsUnexpectedServerError(const Status& status) {
  return HasStatusCause(status, "UnexpectedServerResponse");
}

bool IsTooLargeResourceVersion(const Status& status) {
  if (HasStatusCause(status, "ResourceVersionTooLarge")) return true;
  if (!IsTimeout(status)) return false;
  // Servers before 1.20 have the text only: in a cause, or in the message.
  constexpr std::string_view kText = "Too large resource version";
  const auto& causes = status.api_error()->causes;
  return std::any_of(causes.begin(), causes.end(),
                     [&](const ApiCause& cause) { return cause.message == kText; }) ||
         status.message().find(kText) != std::string::npos;
}

bool IsConnectionRefused(const Status& status) {
  const TransportError* error = status.transport_error();
  return error != nullptr && error->kind == TransportError::Kind::kRefused;
}

std::optional<Duration> SuggestedDelay(const Status& status) {
  const ApiError* error = status.api_error();
  if (error == nullptr) return std::nullopt;
  const int64_t seconds = error->retry_after_seconds.value_or(0);
  if (seconds <= 0 && error->reason != "ServerTimeout") return std::nullopt;
  return std::chrono::seconds(std::max<int64_t>(seconds, 0));
}

Status CacheNotFound(std::string_view singular, std::string_view name) {
  ApiError error{.http_code = 404,
                 .reason = "NotFound",
                 .kind = std::string(singular),
                 .name = std::string(name)};
  return Status(Code::kNotFound, StrCat(singular, " \"", name, "\" not found"), std::move(error));
}

}  // namespace csinative::kube
