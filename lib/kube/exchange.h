// SPDX-License-Identifier: Apache-2.0
//
// Sends one request for the client: waits for the rate limit, repeats where that is safe, writes
// the log lines client-go writes (kube-client 10). Internal to lib/kube. Loop only.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "lib/async/event_loop.h"
#include "lib/async/task.h"
#include "lib/base/result.h"
#include "lib/kube/host_backoff.h"
#include "lib/kube/retry.h"
#include "lib/kube/throttle.h"
#include "lib/kube/transport.h"
#include "lib/log/logger.h"

namespace csinative::kube {

class Exchanger {
 public:
  struct Options {  // as in ClientOptions
    int max_retries = kMaxRetries;
    std::optional<HostBackoffOptions> host_backoff = {};
    std::function<Result<MonotonicTime>()> before_write = {};
    bool urgent = false;
  };
  // Borrowed: loop and transport outlive it.
  Exchanger(async::EventLoop& loop, ApiTransport& transport, log::Logger log, Throttle throttle,
            Options options)
      : loop_(loop),
        transport_(transport),
        log_(std::move(log)),
        throttle_(std::move(throttle)),
        options_(std::move(options)) {
    if (options_.host_backoff) host_backoff_.emplace(loop, *options_.host_backoff);
  }

  // The final answer, of any code. `group` picks the token bucket.
  async::Task<Result<ApiResponse>> Do(ApiRequest request, std::string group);

  // The final answer's stream, of any code. A watch whose connection broke until the retries ran
  // out gives a stream that is at its end.
  async::Task<Result<std::unique_ptr<ApiStream>>> Open(ApiRequest request, std::string group,
                                                       ExchangeKind kind);

 private:
  struct Answer {
    ApiResponse response;               // unary
    std::unique_ptr<ApiStream> stream;  // streaming
    const ApiResponse& head() const { return stream ? stream->head() : response; }
  };
  enum class Mode { kUnary, kListStream, kWatch };

  async::Task<Result<Answer>> Run(ApiRequest request, std::string group, Mode mode);
  async::Task<Result<Answer>> Attempt(ApiRequest request, Mode mode);
  async::Task<Status> WaitForToken(const ApiRequest* request, std::string group,
                                   std::string reason);
  void LogWait(const ApiRequest& request, Duration waited, const std::string& reason);
  void LogRequestBody(const ApiRequest& request);
  void LogAnswer(const ApiRequest& request, const ApiResponse& head, Duration took);
  Duration HostDelay() const;
  std::string UrlOf(const ApiRequest& request) const;

  async::EventLoop& loop_;
  ApiTransport& transport_;
  log::Logger log_;
  Throttle throttle_;
  const Options options_;
  std::optional<HostBackoff> host_backoff_;
  // When the last long wait was logged, at V(2) and at V(0).
  std::optional<MonotonicTime> long_wait_logged_[2];
};

// Reads a stream to its end, at most `limit` bytes.
async::Task<Result<std::string>> ReadAll(ApiStream* stream, size_t limit);

}  // namespace csinative::kube
