// SPDX-License-Identifier: Apache-2.0
#include "test/integration/sidecar/fixture.h"

#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "lib/async/run.h"
#include "lib/base/strings.h"
#include "test/support/apiserver/recording_writer.h"

namespace csinative {

int SidecarsFixture::Program::Lines(const std::string& text) const {
  std::istringstream in(Stderr());
  int count = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.find(text) != npos) ++count;
  }
  return count;
}

int SidecarsFixture::Program::Port() const {
  const std::vector<int> ports = test::ListeningPorts(child_.pid());
  return ports.empty() ? 0 : ports.front();
}

SidecarsFixture::~SidecarsFixture() {
  if (HasFailure()) {
    for (const Program& program : programs_) {
      std::fprintf(stderr, "---- %s\n%s----\n", program.name().c_str(), program.Stderr().c_str());
    }
  }
  programs_.clear();
  driver_.reset();
  if (api_) async::RunTask(loop_, api_->Close());
}

const std::map<std::string, std::string>& SidecarsFixture::Binaries() {
  static const std::map<std::string, std::string> binaries = {
      {"csi-attacher", CSI_ATTACHER_BINARY},
      {"csi-node-driver-registrar", REGISTRAR_BINARY},
      {"csi-provisioner", CSI_PROVISIONER_BINARY},
      {"livenessprobe", LIVENESSPROBE_BINARY},
  };
  return binaries;
}

void SidecarsFixture::StartApi() {
  api_ = std::make_unique<apiserver::EmbeddedApiServer>(loop_, *random_);
  const Status started = api_->Start();
  ASSERT_TRUE(started.ok()) << started.ToString();
  WriteFile("kubeconfig", api_->Kubeconfig());
}

std::string SidecarsFixture::WriteFile(const std::string& name, const std::string& text) const {
  std::string path = dir_.path() + "/" + name;
  std::ofstream(path) << text;
  return path;
}

SidecarsFixture::Program& SidecarsFixture::Start(const std::string& name,
                                                 std::vector<std::string> arguments,
                                                 StartOptions options) {
  std::vector<std::string> command = std::move(options.wrapper);
  command.push_back(options.path.empty() ? Binaries().at(name) : options.path);
  command.insert(command.end(), arguments.begin(), arguments.end());
  options.env.emplace("KUBECONFIG", "");
  options.env.emplace("KUBERNETES_SERVICE_HOST", "");
  const std::string files = StrCat(dir_.path(), "/", name, "-", started_++);
  auto child = test::ChildProcess::Start({.command = std::move(command),
                                          .env = std::move(options.env),
                                          .stdout_file = files + ".out",
                                          .stderr_file = files + ".log"});
  EXPECT_TRUE(child.ok()) << child.status().ToString();
  return programs_.emplace_back(name, std::move(child).value(), files + ".log", files + ".out");
}

std::vector<std::string> SidecarsFixture::ControllerArguments(std::vector<std::string> more) const {
  std::vector<std::string> arguments = {"--csi-address=" + driver_socket(),
                                        "--kubeconfig=" + kubeconfig(), "--v=5"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

std::vector<std::string> SidecarsFixture::WithTerminationLog(const std::string& file) const {
  // A /dev of its own, with what a program opens there.
  static constexpr char kScript[] =
      "set -e; old=$1; file=$2; shift 2; mkdir -p $old; mount --rbind /dev $old; "
      "mount -t tmpfs none /dev; for n in null zero random urandom termination-log; do "
      "touch /dev/$n; done; for n in null zero random urandom; do mount --bind $old/$n /dev/$n; "
      "done; touch $file; mount --bind $file /dev/termination-log; exec \"$@\"";
  return {"/usr/bin/unshare",           "--mount", "/bin/sh", "-c", kScript, "sh",
          dir_.path() + "/dev-outside", file};
}

std::map<std::string, std::string> SidecarsFixture::InCluster() const {
  const std::string account = "/var/run/secrets/kubernetes.io/serviceaccount";
  std::filesystem::create_directories(account);
  std::ofstream(account + "/token") << api_->admin_token();
  std::ofstream(account + "/ca.crt") << api_->ca_pem();
  std::ofstream(account + "/namespace") << "default";
  return {{"KUBERNETES_SERVICE_HOST", "127.0.0.1"},
          {"KUBERNETES_SERVICE_PORT", std::to_string(api_->port())}};
}

void SidecarsFixture::Add(const std::string& json) {
  ASSERT_TRUE(api_->api().CreateObject(json).ok()) << json;
}

std::string SidecarsFixture::Find(const std::string& group, const std::string& resource,
                                  const std::string& ns, const std::string& name) {
  const apiserver::ObjectPtr object = api_->api().GetObject(group, resource, ns, name);
  return object ? object->json : "";
}

int SidecarsFixture::Patch(const std::string& path, const std::string& merge_patch) {
  return Request("PATCH", path, merge_patch);
}

int SidecarsFixture::Delete(const std::string& path) { return Request("DELETE", path, ""); }

int SidecarsFixture::Request(const std::string& method, const std::string& path,
                             const std::string& body) {
  http::ServerRequest request;
  request.method = method;
  request.target = path;
  request.headers.Add("Authorization", "Bearer " + api_->admin_token());
  request.headers.Add("Accept", "application/json");
  if (!body.empty()) request.headers.Add("Content-Type", "application/merge-patch+json");
  request.body = body;
  apiserver::RecordingWriter writer;
  async::RunTask(loop_, api_->api().Handle(std::move(request), &writer));
  return writer.status;
}

int SidecarsFixture::ExitCode(Program& program, Duration limit) {
  if (!Until([&] { return !program.Running(); }, limit)) return -1;
  const int status = *program.child().Poll();
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace csinative
