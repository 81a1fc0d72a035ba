// SPDX-License-Identifier: Apache-2.0
#include "test/integration/provisioner/fixture.h"

#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <utility>

#include "lib/async/sleep.h"

namespace csinative {
namespace {

async::Task<bool> Poll(async::EventLoop* loop, std::function<bool()> done, MonotonicTime end) {
  while (!done()) {
    if (loop->Now() >= end) co_return false;
    (void)co_await async::Sleep(std::chrono::milliseconds(5));
  }
  co_return true;
}

}  // namespace

ProvisionerFixture::ProvisionerFixture() = default;

ProvisionerFixture::~ProvisionerFixture() {
  provisioner_.reset();
  driver_.reset();
  if (api_) async::RunTask(loop_, api_->Close());
  if (HasFailure()) {
    std::fprintf(stderr, "---- csi-provisioner\n%s----\n", Read(log_path()).c_str());
  }
}

std::string ProvisionerFixture::StartApi(apiserver::EmbeddedApiServerOptions options) {
  api_ = std::make_unique<apiserver::EmbeddedApiServer>(loop_, *random_, std::move(options));
  Status started = api_->Start();
  EXPECT_TRUE(started.ok()) << started.ToString();
  return WriteFile("kubeconfig", api_->Kubeconfig());
}

void ProvisionerFixture::StartDriver(std::vector<std::string> arguments) {
  std::vector<std::string> command = {SAMPLE_DRIVER_BINARY, "--endpoint", "unix://" + socket(),
                                      "--state-dir", dir_.path() + "/driver"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  auto child = test::ChildProcess::Start(
      {.command = std::move(command), .stderr_file = dir_.path() + "/driver.log"});
  ASSERT_TRUE(child.ok()) << child.status().ToString();
  driver_.emplace(std::move(child).value());
  ASSERT_TRUE(Until([this] { return ::access(socket().c_str(), F_OK) == 0; }));
}

std::vector<std::string> ProvisionerFixture::UsualArguments(const std::string& kubeconfig) const {
  return {"--csi-address=" + socket(), "--kubeconfig=" + kubeconfig, "-v=5"};
}

void ProvisionerFixture::StartProvisioner(std::vector<std::string> arguments,
                                          std::map<std::string, std::string> env) {
  std::vector<std::string> command = {CSI_PROVISIONER_BINARY};
  command.insert(command.end(), arguments.begin(), arguments.end());
  env.emplace("KUBECONFIG", "");
  env.emplace("KUBERNETES_SERVICE_HOST", "");
  auto child = test::ChildProcess::Start({.command = std::move(command),
                                          .env = std::move(env),
                                          .stdout_file = dir_.path() + "/provisioner.out",
                                          .stderr_file = log_path()});
  ASSERT_TRUE(child.ok()) << child.status().ToString();
  provisioner_.emplace(std::move(child).value());
}

bool ProvisionerFixture::Until(std::function<bool()> done, Duration limit) {
  return async::RunTask(loop_, Poll(&loop_, std::move(done), loop_.Now() + limit));
}

int ProvisionerFixture::ExitCode(Duration limit) {
  if (!Until([this] { return provisioner_->Poll().has_value(); }, limit)) return -1;
  const int status = *provisioner_->Poll();
  return WIFEXITED(status) ? WEXITSTATUS(status) : -2;
}

std::string ProvisionerFixture::Read(const std::string& path) const {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string ProvisionerFixture::WriteFile(const std::string& name, const std::string& text) const {
  std::string path = dir_.path() + "/" + name;
  std::ofstream(path) << text;
  return path;
}

}  // namespace csinative
