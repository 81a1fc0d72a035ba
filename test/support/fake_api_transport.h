// SPDX-License-Identifier: Apache-2.0
//
// A scripted ApiTransport for tests in virtual time: answers are queued, requests are recorded.
//
//   transport.Answer(Json(200, R"({"kind":"Status",...})"));
//   FakeStream stream = transport.AnswerStream();   // a watch that the test feeds
//   ...
//   EXPECT_THAT(transport.Lines(), ElementsAre("GET /api/v1/persistentvolumes?watch=true"));
//
// Does not model: latency (unless asked for), connections, HTTP headers, credentials. Loop only.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/async/event_loop.h"
#include "lib/async/sync.h"
#include "lib/kube/transport.h"

namespace csinative::testing {

// The server's end of a stream. Cheap to copy; outlives transport and client's end.
class FakeStream {
 public:
  explicit FakeStream(kube::ApiResponse head) : state_(std::make_shared<State>()) {
    state_->head = std::move(head);
  }
  // Bytes for the next Read(); each call is one read. Not empty.
  void Send(std::string bytes) { state_->pieces.Push(std::move(bytes)); }
  // The clean end of the body.
  void End() { state_->pieces.Push(std::string()); }
  // Reads fail from here on.
  void Fail(Status failure) { state_->pieces.Close(std::move(failure)); }
  // The client has let go of its end.
  bool closed() const { return state_->closed; }

 private:
  friend class FakeApiTransport;
  struct State {
    kube::ApiResponse head;
    async::Channel<std::string> pieces;
    bool closed = false;
  };
  class ClientEnd;
  std::shared_ptr<State> state_;
};

class FakeApiTransport final : public kube::ApiTransport {
 public:
  explicit FakeApiTransport(async::EventLoop& loop) : loop_(loop) {}

  // The answers to the next requests, in order. A request without an answer waits until it is
  // cancelled.
  void Answer(kube::ApiResponse response, Duration delay = Duration::zero());
  void Fail(Status failure, Duration delay = Duration::zero());
  FakeStream AnswerStream(std::string content_type = "application/vnd.kubernetes.protobuf");
  // The same with another head, e.g. of a failure.
  FakeStream AnswerStream(kube::ApiResponse head);
  void Hang();
  // Answers whatever the script has no answer for.
  void AnswerAlways(std::function<Result<kube::ApiResponse>(const kube::ApiRequest&)> handler) {
    always_ = std::move(handler);
  }

  // So many requests at a time get admission, apart from urgent ones. Default: all.
  void set_places(size_t places) { places_.emplace(places); }

  const std::vector<kube::ApiRequest>& requests() const { return requests_; }
  // "GET /api/v1/nodes?limit=500", one for each request.
  std::vector<std::string> Lines() const;
  // When each request came.
  const std::vector<MonotonicTime>& times() const { return times_; }
  // Scripted answers that nobody has asked for.
  size_t answers_left() const { return script_.size(); }

  async::Task<Result<std::shared_ptr<void>>> Admit(bool urgent) override;
  async::Task<Result<kube::ApiResponse>> Do(kube::ApiRequest request) override;
  async::Task<Result<std::unique_ptr<kube::ApiStream>>> Stream(kube::ApiRequest request) override;
  std::string base_url() const override { return "https://server"; }

 private:
  struct Step {
    Result<FakeStream> stream;
    Duration delay;
    bool hang = false;
  };
  async::Task<Result<FakeStream>> Next(kube::ApiRequest request);

  async::EventLoop& loop_;
  std::optional<async::Semaphore> places_;
  std::deque<Step> script_;
  std::function<Result<kube::ApiResponse>(const kube::ApiRequest&)> always_;
  std::vector<kube::ApiRequest> requests_;
  std::vector<MonotonicTime> times_;
};

// No answer came.
Status BrokenConnection(std::string message = "EOF");
Status RefusedConnection();

}  // namespace csinative::testing
