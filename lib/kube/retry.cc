// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/retry.h"

#include <charconv>

#include "lib/base/go_duration.h"
#include "lib/base/go_quote.h"
#include "lib/base/strings.h"

namespace csinative::kube {
namespace {

// For failures without an answer, and so without a Retry-After.
constexpr Duration kFailureDelay = std::chrono::seconds(1);

// A whole number of seconds. A date is not understood, as in client-go.
std::optional<Duration> ParseRetryAfter(std::string_view text) {
  int32_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return std::chrono::seconds(std::max(seconds, 0));
}

}  // namespace

std::optional<RetryAdvice> AdviseAfterAnswer(const ApiResponse& response) {
  if (response.code != 429 && response.code < 500) return std::nullopt;
  const std::optional<Duration> delay = ParseRetryAfter(response.retry_after);
  if (!delay) return std::nullopt;
  if (response.flow_schema_uid.empty()) return RetryAdvice{*delay, StrCat(response.code)};
  return RetryAdvice{*delay, StrCat("due to server-side throttling, FlowSchema UID: ",
                                    GoQuote(response.flow_schema_uid))};
}

std::optional<RetryAdvice> AdviseAfterFailure(ExchangeKind kind, std::string_view method,
                                              const Status& failure) {
  const TransportError* error = failure.transport_error();
  if (error == nullptr) return std::nullopt;
  const bool broken = error->kind == TransportError::Kind::kReset;
  const bool timeout = error->kind == TransportError::Kind::kTimeout;
  const bool repeat = kind == ExchangeKind::kWatch ? broken || timeout : broken && method == "GET";
  if (!repeat) return std::nullopt;
  return RetryAdvice{kFailureDelay, StrCat("due to retryable error, error: ", failure.message())};
}

std::string DescribeRetry(int retries, const RetryAdvice& advice) {
  return StrCat("retries: ", retries, ", retry-after: ", FormatGoDuration(advice.delay),
                " - retry-reason: ", advice.reason);
}

void PreviousError::Track(const Status& failure) {
  if (!current_.ok()) previous_ = current_;
  current_ = failure;
}

Status PreviousError::Explain(const Status& last, std::string_view bare_text) const {
  if (last.ok() || previous_.ok() || previous_.message() == bare_text) return last;
  return last.WithMessage(
      StrCat(last.message(), " - error from a previous attempt: ", previous_.message()));
}

}  // namespace csinative::kube
