// SPDX-License-Identifier: Apache-2.0
//
// The embedded API server as an ApiTransport in the same process, on any loop: controllers against
// real API semantics in virtual time. Loop only.
//
// Does not model: connections, latency (the server's fault hook does), TLS.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "lib/async/scope.h"
#include "lib/kube/transport.h"
#include "test/support/apiserver/api_handler.h"

namespace csinative::testing {

// What lib/http would make of an API request, and of an answer.
http::ServerRequest ToServerRequest(const kube::ApiRequest& request, const std::string& token);
kube::ApiResponse ToApiResponse(http::Response response);
// A token by which `user` may do everything.
std::string TokenFor(apiserver::ApiHandler& handler, const std::string& user);

// Keeps the answer to one request; nothing if the connection was dropped.
class CollectingWriter final : public http::ResponseWriter {
 public:
  std::optional<http::Response> response;

  async::Task<Status> Send(http::Response sent) override;
  async::Task<Status> StartStream(int status, http::Headers headers) override;
  async::Task<Status> Write(std::string chunk) override;
  void Abort() override { response.reset(); }
};

class InProcessApi final : public kube::ApiTransport {
 public:
  // Requests are made as `user`, who may do everything. Borrowed parts outlive this.
  InProcessApi(async::EventLoop& loop, apiserver::ApiHandler& handler, std::string user);

  async::Task<Result<kube::ApiResponse>> Do(kube::ApiRequest request) override;
  async::Task<Result<std::unique_ptr<kube::ApiStream>>> Stream(kube::ApiRequest request) override;
  std::string base_url() const override { return "https://in-process"; }

  // Ends all streams. REQUIRED before destruction.
  async::Task<void> Close() { return streams_.Close(); }

 private:
  struct StreamState;
  class StreamWriter;
  class ClientEnd;
  static async::Task<void> Serve(apiserver::ApiHandler* handler, http::ServerRequest request,
                                 std::shared_ptr<StreamState> state);

  apiserver::ApiHandler& handler_;
  const std::string token_;
  async::Scope streams_;
};

}  // namespace csinative::testing
