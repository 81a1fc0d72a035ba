// SPDX-License-Identifier: Apache-2.0
//
// When the client repeats a request by itself (kube-client 10.1). Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/kube/transport.h"

namespace csinative::kube {

inline constexpr int kMaxRetries = 10;  // client-go rest.Request: 11 attempts

enum class ExchangeKind {
  kUnary,  // anything but a watch
  kWatch,
};

struct RetryAdvice {
  Duration delay;      // before the next attempt
  std::string reason;  // "503", "due to retryable error, error: ...", for the log
};

// After an answer: 429 or 5xx with a whole number in Retry-After is repeated, whatever the verb.
std::optional<RetryAdvice> AdviseAfterAnswer(const ApiResponse& response);
// After no answer: a broken connection is repeated after a second for GET and for watches, a
// timeout for watches. Anything else may have been executed, or fails again.
std::optional<RetryAdvice> AdviseAfterFailure(ExchangeKind kind, std::string_view method,
                                              const Status& failure);

// "retries: 1, retry-after: 2s - retry-reason: 503".
std::string DescribeRetry(int retries, const RetryAdvice& advice);

// Remembers failures of earlier attempts, so that the last one does not hide a different cause.
class PreviousError {
 public:
  // `failure` without the request's context; Ok for an attempt that was answered.
  void Track(const Status& failure);
  // `last`, with " - error from a previous attempt: <earlier>" where that tells something new.
  Status Explain(const Status& last, std::string_view bare_text) const;

 private:
  Status current_;
  Status previous_;
};

}  // namespace csinative::kube
