// SPDX-License-Identifier: Apache-2.0
#include "test/integration/attacher/fixture.h"

#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <utility>

#include "lib/async/sleep.h"
#include "test/support/apiserver/recording_writer.h"
#include "test/support/sidecar_fixture.h"

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

AttacherFixture::AttacherFixture() = default;

AttacherFixture::~AttacherFixture() {
  attacher_.reset();
  driver_.reset();
  if (api_) async::RunTask(loop_, api_->Close());
  if (HasFailure()) std::fprintf(stderr, "---- csi-attacher\n%s----\n", Stderr().c_str());
}

std::string AttacherFixture::StartApi() {
  api_ = std::make_unique<apiserver::EmbeddedApiServer>(loop_, *random_);
  Status started = api_->Start();
  EXPECT_TRUE(started.ok()) << started.ToString();
  std::string path = dir_.path() + "/kubeconfig";
  std::ofstream(path) << api_->Kubeconfig();
  return path;
}

void AttacherFixture::StartDriver(std::vector<std::string> arguments) {
  std::vector<std::string> command = {SAMPLE_DRIVER_BINARY, "--endpoint", "unix://" + socket(),
                                      "--state-dir", dir_.path() + "/driver"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  auto child = test::ChildProcess::Start(
      {.command = std::move(command), .stderr_file = dir_.path() + "/driver.log"});
  ASSERT_TRUE(child.ok()) << child.status().ToString();
  driver_.emplace(std::move(child).value());
  ASSERT_TRUE(Until([this] { return ::access(socket().c_str(), F_OK) == 0; }));
}

std::vector<std::string> AttacherFixture::UsualArguments(const std::string& kubeconfig) const {
  return {"-csi-address=" + socket(), "-kubeconfig=" + kubeconfig, "-retry-interval-start=100ms",
          "-v=5"};
}

void AttacherFixture::StartAttacher(std::vector<std::string> arguments) {
  std::vector<std::string> command = {CSI_ATTACHER_BINARY};
  command.insert(command.end(), arguments.begin(), arguments.end());
  auto child =
      test::ChildProcess::Start({.command = std::move(command),
                                 .env = {{"KUBECONFIG", ""}, {"KUBERNETES_SERVICE_HOST", ""}},
                                 .stdout_file = dir_.path() + "/attacher.out",
                                 .stderr_file = log_path()});
  ASSERT_TRUE(child.ok()) << child.status().ToString();
  attacher_.emplace(std::move(child).value());
}

void AttacherFixture::Add(const std::string& json) {
  ASSERT_TRUE(api_->api().CreateObject(json).ok()) << json;
}

std::string AttacherFixture::Find(const std::string& group, const std::string& resource,
                                  const std::string& name) {
  const apiserver::ObjectPtr object = api_->api().GetObject(group, resource, "", name);
  return object ? object->json : "";
}

int AttacherFixture::Request(const std::string& method, const std::string& target) {
  http::ServerRequest request;
  request.method = method;
  request.target = target;
  request.headers.Add("Authorization", "Bearer " + api_->admin_token());
  request.headers.Add("Accept", "application/json");
  apiserver::RecordingWriter writer;
  async::RunTask(loop_, api_->api().Handle(std::move(request), &writer));
  return writer.status;
}

bool AttacherFixture::Until(std::function<bool()> done, Duration limit) {
  return async::RunTask(loop_, Poll(&loop_, std::move(done), loop_.Now() + limit));
}

int AttacherFixture::ExitCode(Duration limit) {
  if (!Until([this] { return attacher_->Poll().has_value(); }, limit)) return -1;
  const int status = *attacher_->Poll();
  return WIFEXITED(status) ? WEXITSTATUS(status) : -2;
}

std::string AttacherFixture::Get(const std::string& path) const {
  const std::vector<int> ports = test::ListeningPorts(attacher_->pid());
  if (ports.empty()) return "";
  return test::HttpExchange(ports.front(),
                            "GET " + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
}

std::string AttacherFixture::Read(const std::string& path) const {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace csinative
