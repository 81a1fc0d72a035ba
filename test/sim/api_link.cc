// SPDX-License-Identifier: Apache-2.0
#include <deque>
#include <utility>

#include "lib/async/completion.h"
#include "lib/async/sleep.h"
#include "lib/async/sync.h"
#include "lib/base/strings.h"
#include "test/sim/links.h"
#include "test/support/in_process_api.h"

namespace csinative::sim {
namespace {

using kube::ApiRequest;
using kube::ApiResponse;

constexpr Duration kQuick = std::chrono::microseconds(200);
constexpr Duration kUsual = std::chrono::milliseconds(8);
constexpr Duration kSlow = std::chrono::seconds(12);

Status Reset() {
  return Status(Code::kUnavailable, "EOF", TransportError{TransportError::Kind::kReset});
}

Status Refused() {
  return Status(Code::kUnavailable, "dial tcp: connect: connection refused",
                TransportError{TransportError::Kind::kRefused});
}

ApiResponse ServerError(FaultPlan& plan) {
  struct Answer {
    int code;
    const char* reason;
    const char* retry_after;
  };
  constexpr Answer kAnswers[] = {{500, "InternalError", ""},
                                 {503, "ServiceUnavailable", ""},
                                 {504, "Timeout", ""},
                                 {429, "TooManyRequests", "1"}};
  const Answer& answer = kAnswers[plan.Below(4)];
  ApiResponse response;
  response.code = answer.code;
  response.content_type = "application/json";
  response.retry_after = answer.retry_after;
  response.body =
      StrCat(R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",)",
             R"("message":"injected","reason":")", answer.reason, R"(","code":)", answer.code, "}");
  return response;
}

// The server's side of a stream, and the way of its pieces to the process.
struct StreamState {
  explicit StreamState(IncarnationPtr p) : process(std::move(p)) {}
  IncarnationPtr process;
  std::shared_ptr<async::CancelSource> cancel = std::make_shared<async::CancelSource>();
  MonotonicTime last_delivery{};
  // Touched by the process's loop only.
  ApiResponse head;
  async::Event has_head;
  async::Channel<std::string> pieces;
  bool head_sent = false;
};
using StreamPtr = std::shared_ptr<StreamState>;

class StreamWriter final : public http::ResponseWriter {
 public:
  StreamWriter(Surroundings& world, StreamPtr state) : world_(world), state_(std::move(state)) {}

  async::Task<Status> Send(http::Response response) override {
    SendHead(testing::ToApiResponse(std::move(response)));
    co_return Status();
  }
  async::Task<Status> StartStream(int status, http::Headers headers) override {
    SendHead(testing::ToApiResponse({status, std::move(headers), ""}));
    co_return Status();
  }
  async::Task<Status> Write(std::string chunk) override {
    if (!state_->process->alive) co_return UnavailableError("the client has gone");
    Deliver([state = state_, chunk = std::move(chunk)] { state->pieces.Push(chunk); });
    co_return Status();
  }
  void Abort() override { Finish(Reset()); }

  // The end of the stream: clean, or with a failure.
  void Finish(Status failure) {
    if (std::exchange(finished_, true)) return;
    Deliver([state = state_, failure = std::move(failure)] {
      if (failure.ok() && state->has_head.is_set()) {
        state->pieces.Push("");
      } else {
        state->pieces.Close(failure.ok() ? Reset() : failure);
      }
      state->has_head.Set();
    });
  }

 private:
  void SendHead(ApiResponse head) {
    std::string body = std::exchange(head.body, "");
    Deliver([state = state_, head = std::move(head), body = std::move(body)] {
      state->head = head;
      if (!body.empty()) state->pieces.Push(body);
      state->has_head.Set();
    });
  }
  // In order, each after a latency of its own.
  void Deliver(std::function<void()> step) {
    if (!state_->process->alive) return;
    const MonotonicTime when =
        std::max(state_->last_delivery, world_.loop.Now() + world_.plan.Between(kQuick, kUsual));
    state_->last_delivery = when;
    state_->process->loop.PostAt(when, std::move(step));
  }

  Surroundings& world_;
  const StreamPtr state_;
  bool finished_ = false;
};

class ClientEnd final : public kube::ApiStream {
 public:
  ClientEnd(async::EventLoop& world, StreamPtr state) : world_(world), state_(std::move(state)) {}
  ~ClientEnd() override {
    // Not at once: the server notices with its next step.
    world_.Post([cancel = state_->cancel] { cancel->Cancel(); });
  }
  const ApiResponse& head() const override { return state_->head; }
  async::Task<Result<std::string>> Read() override { co_return co_await state_->pieces.Pop(); }

 private:
  async::EventLoop& world_;
  const StreamPtr state_;
};

class ApiLink final : public kube::ApiTransport {
 public:
  ApiLink(Surroundings& world, apiserver::ApiHandler& api, IncarnationPtr process, bool faulty)
      : world_(world),
        api_(api),
        process_(std::move(process)),
        faulty_(faulty),
        token_(testing::TokenFor(api, process_->name)) {}

  async::Task<Result<ApiResponse>> Do(ApiRequest request) override {
    world_.conduct.OnRequest(*process_, request);
    if (CutOff()) {
      CSI_CO_RETURN_IF_ERROR(co_await async::Sleep(kUsual));
      co_return Refused();
    }
    co_return co_await async::FromCallback<Result<ApiResponse>>(
        [this, &request](async::Completer<Result<ApiResponse>> done) {
          world_.scope.Spawn(
              Serve(&world_, &api_, process_, std::move(request), token_, faulty_, done));
        });
  }

  async::Task<Result<std::unique_ptr<kube::ApiStream>>> Stream(ApiRequest request) override {
    world_.conduct.OnRequest(*process_, request);
    if (CutOff() || Strikes(world_.plan.rates().api_refused)) co_return Refused();
    auto state = std::make_shared<StreamState>(process_);
    process_->streams.remove_if([](const auto& weak) { return weak.expired(); });
    process_->streams.push_back(state->cancel);
    const bool cut = Strikes(world_.plan.rates().watch_cut);
    world_.scope.Spawn(
        ServeStream(&world_, &api_, testing::ToServerRequest(request, token_), state));
    if (cut) {
      world_.loop.PostAt(
          world_.loop.Now() + world_.plan.Between(std::chrono::seconds(1), std::chrono::minutes(4)),
          [cancel = state->cancel] { cancel->Cancel(UnavailableError("cut")); });
    }
    auto end = std::make_unique<ClientEnd>(world_.loop, state);
    CSI_CO_RETURN_IF_ERROR(co_await state->has_head.Wait());
    if (state->head.code == 0) co_return Reset();
    co_return std::unique_ptr<kube::ApiStream>(std::move(end));
  }

  std::string base_url() const override { return "https://sim"; }

 private:
  bool CutOff() const { return world_.loop.Now() < process_->cut_off_until; }
  bool Strikes(double chance) { return faulty_ && world_.plan.Strikes(chance); }

  static async::Task<void> Serve(Surroundings* world, apiserver::ApiHandler* api,
                                 IncarnationPtr process, ApiRequest request, std::string token,
                                 bool faulty, async::Completer<Result<ApiResponse>> done) {
    FaultPlan& plan = world->plan;
    const FaultRates& rates = plan.rates();
    const bool write = request.method != "GET";
    const std::string what = StrCat(request.method, " ", request.path);
    const auto strikes = [&](double chance) { return faulty && plan.Strikes(chance); };
    const bool refused = strikes(rates.api_refused);
    const bool error = strikes(rates.api_server_error);
    const bool lost = strikes(rates.api_lost_answer);
    const bool slow = strikes(rates.api_slow);
    (void)co_await async::Sleep(plan.Between(kQuick, slow ? kSlow : kUsual));
    if (refused || error) {
      if (write) world->trace.Add(process->name, StrCat(what, refused ? ": refused" : ": error"));
      done(refused ? Result<ApiResponse>(Refused()) : Result<ApiResponse>(ServerError(plan)));
      co_return;
    }
    testing::CollectingWriter writer;
    co_await api->Handle(testing::ToServerRequest(request, token), &writer);
    if (write) {
      world->trace.Add(process->name,
                       StrCat(what, ": ", writer.response ? writer.response->status : 0,
                              lost ? ", answer lost" : ""));
      if (faulty) world->after_effect(process);
    }
    (void)co_await async::Sleep(plan.Between(kQuick, kUsual));
    if (lost || !writer.response) {
      done(Reset());
    } else {
      done(testing::ToApiResponse(*std::move(writer.response)));
    }
  }

  static async::Task<void> ServeStream(Surroundings* world, apiserver::ApiHandler* api,
                                       http::ServerRequest request, StreamPtr state) {
    StreamWriter writer(*world, state);
    (void)co_await async::Sleep(world->plan.Between(kQuick, kUsual));
    if (!state->cancel->cancelled()) {
      co_await api->Handle(std::move(request), &writer).Under(*state->cancel);
    }
    writer.Finish(state->cancel->cancelled() ? Reset() : Status());
  }

  Surroundings& world_;
  apiserver::ApiHandler& api_;
  const IncarnationPtr process_;
  const bool faulty_;
  const std::string token_;
};

}  // namespace

std::unique_ptr<kube::ApiTransport> NewApiLink(Surroundings& world, apiserver::ApiHandler& api,
                                               IncarnationPtr process, bool faulty) {
  return std::make_unique<ApiLink>(world, api, std::move(process), faulty);
}

}  // namespace csinative::sim
