// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/api_status.h"

#include <utility>

#include "lib/base/go_quote.h"
#include "lib/base/strings.h"

namespace csinative::kube {
namespace {

// The canonical code nearest to an API failure. A failure the server reports is never
// kDeadlineExceeded or kCancelled: those are ours alone.
Code CodeOf(std::string_view reason, int http_code) {
  if (reason == "AlreadyExists") return Code::kAlreadyExists;
  if (reason == "Conflict") return Code::kAborted;
  if (reason == "Gone" || reason == "Expired") return Code::kOutOfRange;
  switch (http_code) {
    case 400:
    case 422:
      return Code::kInvalidArgument;
    case 401:
      return Code::kUnauthenticated;
    case 403:
      return Code::kPermissionDenied;
    case 404:
      return Code::kNotFound;
    case 405:
    case 406:
    case 415:
      return Code::kUnimplemented;
    case 409:
      return Code::kAborted;
    case 410:
      return Code::kOutOfRange;
    case 429:
      return Code::kResourceExhausted;
    case 503:
    case 504:
      return Code::kUnavailable;
    default:
      break;
  }
  if (http_code >= 500) return Code::kInternal;
  return Code::kUnknown;
}

struct Generic {
  std::string reason;
  std::string message;
};

// The table of kube-client 9.1.
Generic Describe(const UndecodedAnswer& answer, std::string_view body) {
  switch (answer.code) {
    case 409:
      return {answer.method == "POST" ? "AlreadyExists" : "Conflict",
              "the server reported a conflict"};
    case 404:
      return {"NotFound", "the server could not find the requested resource"};
    case 400:
      return {"BadRequest", "the server rejected our request for an unknown reason"};
    case 401:
      return {"Unauthorized", "the server has asked for the client to provide credentials"};
    case 403:
      return {"Forbidden", std::string(body)};
    case 406:
      return {"NotAcceptable",
              body == "unknown" ? "the server was unable to respond with a content type that the "
                                  "client supports"
                                : std::string(body)};
    case 415:
      return {"UnsupportedMediaType", std::string(body)};
    case 405:
      return {"MethodNotAllowed",
              "the server does not allow this method on the requested resource"};
    case 422:
      return {"Invalid", "the server rejected our request due to an error in our request"};
    case 503:
      return {"ServiceUnavailable", "the server is currently unable to handle the request"};
    case 504:
      return {"Timeout",
              "the server was unable to return a response in the time allotted, but may still be "
              "processing the request"};
    case 429:
      return {"TooManyRequests",
              "the server has received too many requests and has asked us to try again later"};
    default:
      break;
  }
  if (answer.code >= 500) {
    return {"InternalError", StrCat("an error on the server (", GoQuote(body),
                                    ") has prevented the request from succeeding")};
  }
  return {"Unknown", StrCat("the server responded with the status code ", answer.code,
                            " but did not return more information")};
}

}  // namespace

Status FromApiStatus(const meta::Status& status) {
  const meta::StatusDetails& details = status.details();
  ApiError error{.http_code = status.code(),
                 .reason = status.reason(),
                 .kind = details.kind(),
                 .name = details.name()};
  if (details.has_retryafterseconds()) error.retry_after_seconds = details.retryafterseconds();
  error.causes.reserve(static_cast<size_t>(details.causes_size()));
  for (const meta::StatusCause& cause : details.causes()) {
    error.causes.push_back({cause.reason(), cause.message(), cause.field()});
  }
  const Code code = CodeOf(error.reason, error.http_code);
  return Status(code, status.message(), std::move(error));
}

Status GenericServerError(const UndecodedAnswer& answer) {
  const std::string_view body = answer.body.empty() ? "unknown" : answer.body;
  auto [reason, message] = Describe(answer, body);
  if (!answer.resource.empty()) {
    message += StrCat(" (", ToLower(answer.method), " ", answer.resource);
    if (!answer.group.empty()) message += StrCat(".", answer.group);
    if (!answer.name.empty()) message += StrCat(" ", answer.name);
    message += ")";
  }
  ApiError error{.http_code = answer.code,
                 .reason = reason,
                 .kind = std::string(answer.resource),
                 .name = std::string(answer.name)};
  if (answer.retry_after_seconds > 0) error.retry_after_seconds = answer.retry_after_seconds;
  error.causes.push_back({"UnexpectedServerResponse", std::string(body), ""});
  return Status(CodeOf(error.reason, error.http_code), std::move(message), std::move(error));
}

}  // namespace csinative::kube
