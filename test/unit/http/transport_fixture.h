// SPDX-License-Identifier: Apache-2.0
//
// One client against one server on one loop, for each transport. The tests below it are the
// contract of lib/http/client.h; both transports pass them unchanged.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lib/async/run.h"
#include "lib/async/scope.h"
#include "lib/async/sleep.h"
#include "lib/async/sync.h"
#include "lib/async/timeout.h"
#include "lib/base/strings.h"
#include "lib/http/client.h"
#include "lib/http/server.h"
#include "test/support/certs.h"
#include "test/support/shared_context.h"

namespace csinative::http {

using Transport = ClientConfig::Transport;

inline std::string TransportName(Transport transport) {
  switch (transport) {
    case Transport::kAuto:
      return "Auto";
    case Transport::kCppRest:
      return "CppRest";
    case Transport::kBeast:
      return "Beast";
  }
  return "";
}

inline TransportError::Kind KindOfFailure(const Status& status) {
  EXPECT_NE(status.transport_error(), nullptr) << status.ToString();
  return status.transport_error() == nullptr ? TransportError::Kind::kOther
                                             : status.transport_error()->kind;
}

// What handlers and tests tell each other. Handlers may run until the fixture has closed its
// server, so this is part of the fixture and not of a test's frame.
struct Script {
  int calls = 0;
  size_t written = 0;
  int inside = 0;  // handlers at work, now and at most
  int most = 0;
  std::set<std::string> peers;
  async::Event entered;
  async::Event go_on;
  async::Event cancelled;
  async::Channel<std::string> pieces;
};

class TransportFixture : public ::testing::TestWithParam<Transport> {
 protected:
  ~TransportFixture() override {
    client_.reset();
    if (server_) Run(server_->Close());
  }

  template <typename T>
  T Run(async::Task<T> task) {
    return async::RunTask(loop_, std::move(task));
  }

  void Serve(Handler handler, ServerConfig config = {.address = "127.0.0.1:0"}) {
    auto server = Listen(loop_, std::move(config), std::move(handler));
    ASSERT_TRUE(server.ok()) << server.status().ToString();
    server_ = std::move(server).value();
  }
  // Answers each request with what `answer` returns, and keeps it in requests_.
  void ServeAnswers(std::function<Response(const ServerRequest&)> answer) {
    answer_ = std::move(answer);
    Serve([this](ServerRequest request, ResponseWriter* writer) {
      requests_.push_back(request);
      return SendAnswer(answer_(request), writer);
    });
  }
  static async::Task<void> SendAnswer(Response response, ResponseWriter* writer) {
    (void)co_await writer->Send(std::move(response));
  }

  // A client of `server_`; later calls replace it.
  void Connect(ClientConfig config = {}) {
    if (config.base_url.empty()) config.base_url = StrCat("http://127.0.0.1:", server_->port());
    config.transport = GetParam();
    auto client = NewClient(loop_, std::move(config));
    ASSERT_TRUE(client.ok()) << client.status().ToString();
    client_ = std::move(client).value();
  }
  Result<Response> Do(Request request) { return Run(client_->Do(std::move(request))); }
  Result<Response> Get(std::string target) { return Do({.target = std::move(target)}); }

  async::RealLoop loop_{test::ContextForLoop()};
  std::unique_ptr<Server> server_;
  std::unique_ptr<Client> client_;
  std::function<Response(const ServerRequest&)> answer_;
  Script script_;
  std::vector<ServerRequest> requests_;
};

}  // namespace csinative::http
