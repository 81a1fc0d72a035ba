// SPDX-License-Identifier: Apache-2.0
//
// Runs a handler without sockets and keeps its answer.
#pragma once

#include <string>
#include <utility>

#include "lib/async/run.h"
#include "lib/http/server.h"

namespace csinative::serve {

class Recorder final : public http::ResponseWriter {
 public:
  async::Task<Status> Send(http::Response response) override {
    response_ = std::move(response);
    co_return Status();
  }
  async::Task<Status> StartStream(int status, http::Headers headers) override {
    response_ = {.status = status, .headers = std::move(headers)};
    co_return Status();
  }
  async::Task<Status> Write(std::string chunk) override {
    response_.body += chunk;
    co_return Status();
  }
  void Abort() override {}

  const http::Response& response() const { return response_; }

 private:
  http::Response response_;
};

inline http::Response Call(const http::Handler& handler, http::Request request) {
  async::RealLoop loop;
  Recorder recorder;
  http::ServerRequest server_request;
  static_cast<http::Request&>(server_request) = std::move(request);
  async::RunTask(loop, handler(std::move(server_request), &recorder));
  return recorder.response();
}

}  // namespace csinative::serve
