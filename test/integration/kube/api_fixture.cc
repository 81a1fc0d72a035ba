// SPDX-License-Identifier: Apache-2.0
#include "test/integration/kube/api_fixture.h"

#include <cstdlib>
#include <fstream>

namespace csinative::kube {
namespace {

async::Task<bool> Poll(std::function<bool()> condition) {
  for (int i = 0; i < 5000; ++i) {
    if (condition()) co_return true;
    const Status slept = co_await async::Sleep(std::chrono::milliseconds(2));
    if (!slept.ok()) co_return false;
  }
  co_return false;
}

}  // namespace

ApiFixture::ApiFixture(apiserver::EmbeddedApiServerOptions options)
    : server_(loop_, *random_, std::move(options)) {
  std::string name = std::filesystem::temp_directory_path() / "kube_integration.XXXXXX";
  dir_ = ::mkdtemp(name.data());
  const Status started = server_.Start();
  EXPECT_TRUE(started.ok()) << started.ToString();
}

ApiFixture::~ApiFixture() {
  clients_.clear();
  transports_.clear();
  Run(server_.Close());
  std::filesystem::remove_all(dir_);
}

std::string ApiFixture::Write(const std::string& name, const std::string& content) {
  std::ofstream(dir_ / name) << content;
  return (dir_ / name).string();
}

Result<std::unique_ptr<ApiTransport>> ApiFixture::NewTransport(const std::string& kubeconfig) {
  CSI_ASSIGN_OR_RETURN(RestConfig config,
                       LoadConfig({.kubeconfig = Write("kubeconfig", kubeconfig)}, log_));
  return NewHttpTransport(loop_, std::move(config), "kube-test/v0 (linux/amd64) kubernetes/x",
                          log_);
}

Client& ApiFixture::NewClient(ClientOptions options, std::string kubeconfig) {
  if (kubeconfig.empty()) kubeconfig = server_.Kubeconfig();
  Result<std::unique_ptr<ApiTransport>> transport = NewTransport(kubeconfig);
  EXPECT_TRUE(transport.ok()) << transport.status().ToString();
  transports_.push_back(*std::move(transport));
  clients_.push_back(
      *Client::Create(loop_, *random_, *transports_.back(), log_, std::move(options)));
  return *clients_.back();
}

void ApiFixture::RunUntil(std::function<bool()> condition, const char* what) {
  EXPECT_TRUE(Run(Poll(std::move(condition)))) << "did not happen: " << what;
}

}  // namespace csinative::kube
