// SPDX-License-Identifier: Apache-2.0
//
// A client of ApiHandler without a socket: keeps what it would have received. Loop only.
#pragma once

#include <string>
#include <utility>

#include "lib/async/task.h"
#include "lib/http/server.h"

namespace csinative::apiserver {

class RecordingWriter final : public http::ResponseWriter {
 public:
  async::Task<Status> Send(http::Response response) override {
    status = response.status;
    headers = response.headers;
    body = std::move(response.body);
    co_return Status();
  }
  async::Task<Status> StartStream(int code, http::Headers fields) override {
    status = code;
    headers = std::move(fields);
    co_return Status();
  }
  async::Task<Status> Write(std::string chunk) override {
    body += chunk;
    co_return Status();
  }
  void Abort() override { aborted = true; }

  int status = 0;
  http::Headers headers;
  std::string body;      // of streams: all chunks so far
  bool aborted = false;  // the connection broke
  bool ended = false;    // set by whoever runs the handler
};

}  // namespace csinative::apiserver
