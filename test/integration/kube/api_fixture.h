// SPDX-License-Identifier: Apache-2.0
//
// The client library over real sockets against the embedded API server, in one loop: server,
// kubeconfig file, transport and client of a test.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "lib/async/run.h"
#include "lib/async/sleep.h"
#include "lib/async/timeout.h"
#include "lib/kube/client.h"
#include "lib/kube/config.h"
#include "lib/log/logger.h"
#include "test/support/apiserver/api_server.h"
#include "test/support/shared_context.h"

namespace csinative::kube {

class ApiFixture : public ::testing::Test {
 protected:
  explicit ApiFixture(apiserver::EmbeddedApiServerOptions options = {});
  ~ApiFixture() override;

  // A client of its own for a kubeconfig text, the admin's by default. Transport and client live
  // as long as the test.
  Client& NewClient(ClientOptions options = {.qps = -1}, std::string kubeconfig = {});
  Result<std::unique_ptr<ApiTransport>> NewTransport(const std::string& kubeconfig);
  std::string Write(const std::string& name, const std::string& content);

  template <typename T>
  T Run(async::Task<T> task) {
    return async::RunTask(loop_, std::move(task));
  }
  // Runs the loop until the condition holds; fails the test after ten seconds.
  void RunUntil(std::function<bool()> condition, const char* what);

  apiserver::ApiHandler& api() { return server_.api(); }

  async::RealLoop loop_{test::ContextForLoop()};
  std::unique_ptr<Random> random_ = NewSystemRandom();
  std::shared_ptr<log::CollectingOutput> output_ = std::make_shared<log::CollectingOutput>();
  log::Logger log_ = log::NewLogger(output_);
  apiserver::EmbeddedApiServer server_;
  std::filesystem::path dir_;
  std::vector<std::unique_ptr<ApiTransport>> transports_;
  std::vector<std::unique_ptr<Client>> clients_;
};

}  // namespace csinative::kube
