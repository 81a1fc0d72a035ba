// SPDX-License-Identifier: Apache-2.0
#include "test/support/fake_api_transport.h"

#include "lib/async/sleep.h"
#include "lib/base/strings.h"
#include "lib/kube/url.h"

namespace csinative::testing {

class FakeStream::ClientEnd final : public kube::ApiStream {
 public:
  explicit ClientEnd(std::shared_ptr<State> state) : state_(std::move(state)) {}
  ~ClientEnd() override { state_->closed = true; }
  const kube::ApiResponse& head() const override { return state_->head; }
  async::Task<Result<std::string>> Read() override { return state_->pieces.Pop(); }

 private:
  std::shared_ptr<State> state_;
};

void FakeApiTransport::Answer(kube::ApiResponse response, Duration delay) {
  FakeStream stream(std::move(response));
  // As a stream: the body in one piece, and its end.
  if (!stream.state_->head.body.empty()) stream.Send(stream.state_->head.body);
  stream.End();
  script_.push_back({std::move(stream), delay});
}

void FakeApiTransport::Fail(Status failure, Duration delay) {
  script_.push_back({std::move(failure), delay});
}

FakeStream FakeApiTransport::AnswerStream(std::string content_type) {
  return AnswerStream(kube::ApiResponse{.code = 200, .content_type = std::move(content_type)});
}

FakeStream FakeApiTransport::AnswerStream(kube::ApiResponse head) {
  FakeStream stream(std::move(head));
  script_.push_back({stream, Duration::zero()});
  return stream;
}

void FakeApiTransport::Hang() {
  script_.push_back({UnavailableError("never returned"), Duration::zero(), true});
}

std::vector<std::string> FakeApiTransport::Lines() const {
  std::vector<std::string> lines;
  for (const kube::ApiRequest& request : requests_) {
    std::string line = StrCat(request.method, " ", request.path);
    if (!request.query.empty()) line += StrCat("?", kube::EncodeQuery(request.query));
    lines.push_back(std::move(line));
  }
  return lines;
}

async::Task<Result<FakeStream>> FakeApiTransport::Next(kube::ApiRequest request) {
  requests_.push_back(request);
  times_.push_back(loop_.Now());
  CSI_CO_RETURN_IF_ERROR(co_await async::CancellationStatus());
  if (script_.empty() && always_) {
    CSI_CO_ASSIGN_OR_RETURN(kube::ApiResponse response, always_(request));
    Answer(std::move(response));
  }
  if (script_.empty() || script_.front().hang) {
    if (!script_.empty()) script_.pop_front();
    async::Event never;
    Status ended = co_await never.Wait();
    co_return ended;
  }
  Step step = std::move(script_.front());
  script_.pop_front();
  if (step.delay > Duration::zero()) {
    CSI_CO_RETURN_IF_ERROR(co_await async::Sleep(step.delay));
  }
  co_return std::move(step.stream);
}

async::Task<Result<std::shared_ptr<void>>> FakeApiTransport::Admit(bool urgent) {
  if (urgent || !places_) co_return std::shared_ptr<void>();
  CSI_CO_RETURN_IF_ERROR(co_await places_->Acquire());
  co_return std::shared_ptr<void>(std::make_shared<async::Permit>(*places_));
}

async::Task<Result<kube::ApiResponse>> FakeApiTransport::Do(kube::ApiRequest request) {
  CSI_CO_ASSIGN_OR_RETURN(const FakeStream stream, co_await Next(std::move(request)));
  co_return stream.state_->head;
}

async::Task<Result<std::unique_ptr<kube::ApiStream>>> FakeApiTransport::Stream(
    kube::ApiRequest request) {
  CSI_CO_ASSIGN_OR_RETURN(const FakeStream stream, co_await Next(std::move(request)));
  std::unique_ptr<kube::ApiStream> end = std::make_unique<FakeStream::ClientEnd>(stream.state_);
  co_return end;
}

Status BrokenConnection(std::string message) {
  return Status(Code::kUnavailable, std::move(message),
                TransportError{TransportError::Kind::kReset});
}

Status RefusedConnection() {
  return Status(Code::kUnavailable, "dial tcp 127.0.0.1:1: connect: connection refused",
                TransportError{TransportError::Kind::kRefused});
}

}  // namespace csinative::testing
