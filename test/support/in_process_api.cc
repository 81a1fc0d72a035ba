// SPDX-License-Identifier: Apache-2.0
#include "test/support/in_process_api.h"

#include <utility>

#include "lib/async/sync.h"
#include "lib/kube/url.h"

namespace csinative::testing {
namespace {

Status Reset() {
  return Status(Code::kUnavailable, "EOF", TransportError{TransportError::Kind::kReset});
}

}  // namespace

http::ServerRequest ToServerRequest(const kube::ApiRequest& request, const std::string& token) {
  http::ServerRequest out;
  out.method = request.method;
  out.target = request.path;
  if (!request.query.empty()) out.target += "?" + kube::EncodeQuery(request.query);
  out.headers.Add("Authorization", "Bearer " + token);
  out.headers.Add("Accept", request.accept);
  if (!request.content_type.empty()) out.headers.Add("Content-Type", request.content_type);
  out.body = request.body;
  return out;
}

kube::ApiResponse ToApiResponse(http::Response response) {
  kube::ApiResponse out;
  out.code = response.status;
  out.content_type = std::string(response.headers.Get("Content-Type").value_or(""));
  out.retry_after = std::string(response.headers.Get("Retry-After").value_or(""));
  out.body = std::move(response.body);
  return out;
}

std::string TokenFor(apiserver::ApiHandler& handler, const std::string& user) {
  std::string token = "token-of-" + user;
  handler.tokens().Add(token, {.name = user, .groups = {"system:masters"}, .uid = ""});
  return token;
}

async::Task<Status> CollectingWriter::Send(http::Response sent) {
  response = std::move(sent);
  co_return Status();
}
async::Task<Status> CollectingWriter::StartStream(int status, http::Headers headers) {
  response = http::Response{status, std::move(headers), ""};
  co_return Status();
}
async::Task<Status> CollectingWriter::Write(std::string chunk) {
  response->body += chunk;
  co_return Status();
}

struct InProcessApi::StreamState {
  kube::ApiResponse head;
  async::Event has_head;
  async::Channel<std::string> pieces;
  async::CancelSource cancel;
  bool aborted = false;
};

class InProcessApi::StreamWriter final : public http::ResponseWriter {
 public:
  explicit StreamWriter(StreamState* state) : state_(state) {}

  async::Task<Status> Send(http::Response response) override {
    state_->head = ToApiResponse(std::move(response));
    std::string body = std::exchange(state_->head.body, "");
    if (!body.empty()) state_->pieces.Push(std::move(body));
    state_->has_head.Set();
    co_return Status();
  }
  async::Task<Status> StartStream(int status, http::Headers headers) override {
    state_->head = ToApiResponse({status, std::move(headers), ""});
    state_->has_head.Set();
    co_return Status();
  }
  async::Task<Status> Write(std::string chunk) override {
    state_->pieces.Push(std::move(chunk));
    co_return Status();
  }
  void Abort() override { state_->aborted = true; }

 private:
  StreamState* const state_;
};

class InProcessApi::ClientEnd final : public kube::ApiStream {
 public:
  ClientEnd(async::EventLoop& loop, std::shared_ptr<StreamState> state)
      : loop_(loop), state_(std::move(state)) {}
  ~ClientEnd() override {
    if (!loop_.discarding()) state_->cancel.Cancel();
  }
  const kube::ApiResponse& head() const override { return state_->head; }
  async::Task<Result<std::string>> Read() override { co_return co_await state_->pieces.Pop(); }

 private:
  async::EventLoop& loop_;
  const std::shared_ptr<StreamState> state_;
};

InProcessApi::InProcessApi(async::EventLoop& loop, apiserver::ApiHandler& handler, std::string user)
    : handler_(handler), token_(TokenFor(handler, user)), streams_(loop) {}

async::Task<Result<kube::ApiResponse>> InProcessApi::Do(kube::ApiRequest request) {
  CollectingWriter writer;
  co_await handler_.Handle(ToServerRequest(request, token_), &writer);
  CSI_CO_RETURN_IF_ERROR(co_await async::CancellationStatus());
  if (!writer.response) co_return Reset();
  co_return ToApiResponse(*std::move(writer.response));
}

async::Task<void> InProcessApi::Serve(apiserver::ApiHandler* handler, http::ServerRequest request,
                                      std::shared_ptr<StreamState> state) {
  StreamWriter writer(state.get());
  const async::TaskContext context = co_await async::CurrentContext();
  // The stream ends with its client, and with the transport.
  struct Forward final : async::CancelHook {
    async::CancelSource* to;
    void OnCancel(const Status& reason) override { to->Cancel(reason); }
  } forward;
  forward.to = &state->cancel;
  if (!context.cancel->cancelled()) context.cancel->Link(&forward);
  co_await handler->Handle(std::move(request), &writer).Under(state->cancel);
  if (state->aborted || !state->has_head.is_set()) {
    state->pieces.Close(Reset());
  } else {
    state->pieces.Push("");
  }
  state->has_head.Set();
}

async::Task<Result<std::unique_ptr<kube::ApiStream>>> InProcessApi::Stream(
    kube::ApiRequest request) {
  auto state = std::make_shared<StreamState>();
  streams_.Spawn(Serve(&handler_, ToServerRequest(request, token_), state));
  auto end = std::make_unique<ClientEnd>(streams_.loop(), state);
  CSI_CO_RETURN_IF_ERROR(co_await state->has_head.Wait());
  if (state->head.code == 0) co_return Reset();
  co_return std::unique_ptr<kube::ApiStream>(std::move(end));
}

}  // namespace csinative::testing
