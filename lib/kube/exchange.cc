// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/exchange.h"

#include <algorithm>
#include <utility>

#include "lib/async/sleep.h"
#include "lib/async/timeout.h"
#include "lib/base/strings.h"
#include "lib/kube/log_body.h"
#include "lib/kube/url.h"

namespace csinative::kube {
namespace {

// A request to which nobody answers must end: a hung connection is not noticed otherwise. The
// server gives up on a request after 60 s (kube-apiserver --request-timeout) and says so.
constexpr Duration kAttemptTimeout = std::chrono::seconds(70);

// Waits above this are logged at V(3); above kLongWait also below that (kube-client 10.4).
constexpr Duration kNotableWait = std::chrono::milliseconds(50);
constexpr Duration kLongWait = std::chrono::seconds(1);

// "Get", as net/http names the method in errors.
std::string TitleCase(std::string_view method) {
  std::string out = ToLower(method);
  if (!out.empty()) out[0] = method[0];
  return out;
}

class EndedStream final : public ApiStream {
 public:
  explicit EndedStream(ApiResponse head) : head_(std::move(head)) {}
  const ApiResponse& head() const override { return head_; }
  async::Task<Result<std::string>> Read() override { co_return std::string(); }

 private:
  ApiResponse head_;
};

bool IsBrokenOrTimedOut(const Status& failure) {
  const TransportError* error = failure.transport_error();
  return error != nullptr && (error->kind == TransportError::Kind::kReset ||
                              error->kind == TransportError::Kind::kTimeout);
}

template <typename T>
async::Task<Result<T>> LimitAttempt(async::Task<Result<T>> task) {
  Result<T> result = co_await async::WithTimeout(kAttemptTimeout, std::move(task));
  if (result.ok() || !IsDeadlineExceeded(result.status())) co_return result;
  const Status cancelled = co_await async::CancellationStatus();
  // The caller's own limit, or one that the transport noticed.
  if (!cancelled.ok() || result.status().transport_error() != nullptr) co_return result;
  co_return Status(Code::kDeadlineExceeded,
                   "context deadline exceeded (Client.Timeout exceeded while awaiting headers)",
                   TransportError{TransportError::Kind::kTimeout});
}

}  // namespace

async::Task<Result<ApiResponse>> Exchanger::Do(ApiRequest request, std::string group) {
  CSI_CO_ASSIGN_OR_RETURN(Answer answer,
                          co_await Run(std::move(request), std::move(group), Mode::kUnary));
  co_return std::move(answer.response);
}

async::Task<Result<std::unique_ptr<ApiStream>>> Exchanger::Open(ApiRequest request,
                                                                std::string group,
                                                                ExchangeKind kind) {
  const Mode mode = kind == ExchangeKind::kWatch ? Mode::kWatch : Mode::kListStream;
  Result<Answer> answer = co_await Run(std::move(request), std::move(group), mode);
  if (answer.ok()) co_return std::move(answer->stream);
  const Status failure = answer.status();
  if (mode == Mode::kWatch && IsBrokenOrTimedOut(failure)) {
    std::unique_ptr<ApiStream> ended = std::make_unique<EndedStream>(ApiResponse{.code = 200});
    co_return ended;
  }
  co_return failure;
}

async::Task<Result<Exchanger::Answer>> Exchanger::Run(ApiRequest request, std::string group,
                                                      Mode mode) {
  const ExchangeKind kind = mode == Mode::kWatch ? ExchangeKind::kWatch : ExchangeKind::kUnary;
  PreviousError previous;
  std::string reason;  // of the retry, empty at first
  for (int retries = 0;; ++retries) {
    // client-go lets the first attempt of a watch pass.
    if (mode != Mode::kWatch || retries > 0) {
      Status token = co_await WaitForToken(&request, group, reason);
      if (!token.ok()) co_return previous.Explain(token, token.message());
    }
    if (retries == 0 && HostDelay() > Duration::zero()) {
      CSI_CO_RETURN_IF_ERROR(co_await async::Sleep(HostDelay()));
    }
    LogRequestBody(request);
    const MonotonicTime start = loop_.Now();
    Result<Answer> answer = co_await Attempt(request, mode);
    const Status failure = answer.status();
    previous.Track(failure);
    if (host_backoff_) {
      host_backoff_->Update(transport_.base_url(), failure.ok() ? answer->head().code : 0);
    }
    if (failure.ok()) LogAnswer(request, answer->head(), loop_.Now() - start);
    const std::optional<RetryAdvice> advice =
        failure.ok() ? AdviseAfterAnswer(answer->head())
                     : AdviseAfterFailure(kind, request.method, failure);
    if (!advice || retries >= options_.max_retries) {
      if (failure.ok()) co_return std::move(answer);
      const std::string context = StrCat(TitleCase(request.method), " \"", UrlOf(request), "\"");
      co_return previous.Explain(failure.WithContext(context), failure.message());
    }
    reason = DescribeRetry(retries + 1, *advice);
    answer = UnavailableError("");  // closes the stream of the failed attempt
    Status slept = co_await async::Sleep(std::max(advice->delay, HostDelay()));
    if (!slept.ok()) {
      previous.Track(slept);
      co_return previous.Explain(slept, slept.message());
    }
  }
}

async::Task<Result<Exchanger::Answer>> Exchanger::Attempt(ApiRequest request, Mode mode) {
  // Before the limit and the check of the lease begin: the wait can be long.
  std::shared_ptr<void> admission;
  if (mode == Mode::kUnary) {
    CSI_CO_ASSIGN_OR_RETURN(admission, co_await transport_.Admit(options_.urgent));
  }
  if (options_.before_write && request.method != "GET") {
    CSI_CO_ASSIGN_OR_RETURN(request.send_before, options_.before_write());
  }
  Answer answer;
  if (mode == Mode::kUnary) {
    CSI_CO_ASSIGN_OR_RETURN(answer.response,
                            co_await LimitAttempt(transport_.Do(std::move(request))));
  } else {
    CSI_CO_ASSIGN_OR_RETURN(answer.stream,
                            co_await LimitAttempt(transport_.Stream(std::move(request))));
  }
  co_return std::move(answer);
}

async::Task<Status> Exchanger::WaitForToken(const ApiRequest* request, std::string group,
                                            std::string reason) {
  CSI_CO_ASSIGN_OR_RETURN(const Duration waited, co_await throttle_.Wait(std::move(group)));
  LogWait(*request, waited, reason);
  co_return Status();
}

void Exchanger::LogWait(const ApiRequest& request, Duration waited, const std::string& reason) {
  constexpr std::string_view kMessage = "Waited before sending request";
  if (waited <= kNotableWait) return;
  const std::string why =
      reason.empty() ? "client-side throttling, not priority and fairness" : reason;
  log_.V(3).Info(kMessage, "delay", waited, "reason", why, "verb", request.method, "URL",
                 [&] { return UrlOf(request); });
  if (waited <= kLongWait) return;
  struct Level {
    int verbosity;
    Duration interval;
  };
  constexpr Level kLevels[] = {{2, std::chrono::seconds(1)}, {0, std::chrono::seconds(10)}};
  for (size_t i = 0; i < 2; ++i) {
    if (!log_.Enabled(kLevels[i].verbosity)) continue;
    const MonotonicTime now = loop_.Now();
    if (long_wait_logged_[i] && now - *long_wait_logged_[i] < kLevels[i].interval) return;
    long_wait_logged_[i] = now;
    log_.V(kLevels[i].verbosity)
        .Info(kMessage, "delay", waited, "reason", why, "verb", request.method, "URL",
              [&] { return UrlOf(request); });
    return;
  }
}

void Exchanger::LogAnswer(const ApiRequest& request, const ApiResponse& head, Duration took) {
  for (const std::string& warning : head.warnings) log_.Info(StrCat("Warning: ", warning));
  log_.V(6).Info(
      "Response", "verb", request.method, "url", [&] { return UrlOf(request); }, "status",
      head.code, "milliseconds",
      std::chrono::duration_cast<std::chrono::milliseconds>(took).count());
}

void Exchanger::LogRequestBody(const ApiRequest& request) {
  if (request.body.empty()) return;
  log_.V(8).Info("Request Body", "body",
                 [&] { return BodyForLog(request.body, log_.backend()->verbosity()); });
}

Duration Exchanger::HostDelay() const {
  return host_backoff_ ? host_backoff_->Delay(transport_.base_url()) : Duration::zero();
}

std::string Exchanger::UrlOf(const ApiRequest& request) const {
  std::string url = transport_.base_url() + request.path;
  if (!request.query.empty()) url += StrCat("?", EncodeQuery(request.query));
  return url;
}

async::Task<Result<std::string>> ReadAll(ApiStream* stream, size_t limit) {
  std::string all;
  while (all.size() < limit) {
    CSI_CO_ASSIGN_OR_RETURN(const std::string piece,
                            co_await async::WithTimeout(kAttemptTimeout, stream->Read()));
    if (piece.empty()) break;
    all += piece;
  }
  co_return all;
}

}  // namespace csinative::kube
