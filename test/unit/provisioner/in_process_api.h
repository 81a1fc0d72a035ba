// SPDX-License-Identifier: Apache-2.0
//
// The embedded API server as an ApiTransport in the same process, on any loop: controllers against
// real API semantics in virtual time. Loop only.
//
// Does not model: connections, latency (the server's fault hook does), TLS.
#pragma once

#include <memory>
#include <string>

#include "lib/async/scope.h"
#include "lib/kube/transport.h"
#include "test/support/apiserver/api_handler.h"

namespace csinative::testing {

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
  http::ServerRequest ToHttp(const kube::ApiRequest& request) const;
  static async::Task<void> Serve(apiserver::ApiHandler* handler, http::ServerRequest request,
                                 std::shared_ptr<StreamState> state);

  apiserver::ApiHandler& handler_;
  const std::string token_;
  async::Scope streams_;
};

}  // namespace csinative::testing
