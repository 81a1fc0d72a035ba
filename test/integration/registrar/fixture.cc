// SPDX-License-Identifier: Apache-2.0
#include "test/integration/registrar/fixture.h"

#include <filesystem>
#include <memory>
#include <utility>

#include "lib/async/run.h"
#include "lib/async/timeout.h"
#include "lib/csi/calls.h"
#include "lib/rpc/channel.h"

namespace csinative {
namespace {

using ::pluginregistration::InfoRequest;
using ::pluginregistration::PluginInfo;
using ::pluginregistration::RegistrationStatus;
using ::pluginregistration::RegistrationStatusResponse;
using std::chrono::seconds;

async::Task<Result<std::unique_ptr<rpc::Channel>>> Dial(async::EventLoop* loop, std::string path) {
  co_return co_await async::WithTimeout(seconds(10), rpc::Connect(*loop, std::move(path), {}));
}

async::Task<Result<PluginInfo>> AskInfo(rpc::Channel* channel) {
  PluginInfo info;
  // The kubelet's own limits: one second here, five for the notification.
  const Status status = co_await async::WithTimeout(
      seconds(1), channel->Call("/pluginregistration.Registration/GetInfo", InfoRequest(), &info));
  if (!status.ok()) co_return status;
  co_return std::move(info);
}

async::Task<Result<std::string>> AskNodeId(async::EventLoop* loop, std::string endpoint) {
  CSI_CO_ASSIGN_OR_RETURN(auto channel, co_await Dial(loop, std::move(endpoint)));
  auto info = co_await csi::Call(*channel, ::csi::v1::NodeGetInfoRequest());
  if (!info.ok()) co_return info.status();
  co_return info->node_id();
}

async::Task<Result<Registration>> RegisterPlugin(async::EventLoop* loop, std::string path,
                                                 std::string refusal) {
  CSI_CO_ASSIGN_OR_RETURN(auto channel, co_await Dial(loop, std::move(path)));
  Registration out;
  CSI_CO_ASSIGN_OR_RETURN(out.info, co_await AskInfo(channel.get()));
  CSI_CO_ASSIGN_OR_RETURN(out.node_id, co_await AskNodeId(loop, out.info.endpoint()));
  RegistrationStatus status;
  status.set_plugin_registered(refusal.empty());
  status.set_error(std::move(refusal));
  RegistrationStatusResponse response;
  out.registered = status.plugin_registered();
  out.notified = co_await async::WithTimeout(
      seconds(5), channel->Call("/pluginregistration.Registration/NotifyRegistrationStatus", status,
                                &response));
  co_return std::move(out);
}

async::Task<Result<PluginInfo>> InfoOnly(async::EventLoop* loop, std::string path) {
  CSI_CO_ASSIGN_OR_RETURN(auto channel, co_await Dial(loop, std::move(path)));
  co_return co_await AskInfo(channel.get());
}

}  // namespace

RegistrarFixture::RegistrarFixture() : SidecarFixture(REGISTRAR_BINARY, SAMPLE_DRIVER_BINARY) {
  std::filesystem::create_directory(folder());
}

std::vector<std::string> RegistrarFixture::UsualArguments(std::vector<std::string> more) const {
  std::vector<std::string> arguments = {"--csi-address=" + driver_socket(),
                                        "--kubelet-registration-path=" + driver_socket(),
                                        "--plugin-registration-path=" + folder(), "-v=5"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

void RegistrarFixture::StartAll(std::vector<std::string> more) {
  ASSERT_NO_FATAL_FAILURE(StartDriver());
  ASSERT_NO_FATAL_FAILURE(StartProgram(UsualArguments(std::move(more))));
  WaitForSocket();
}

void RegistrarFixture::WaitForSocket() {
  ASSERT_TRUE(Until([this] { return Logged("\"Registration Server started\""); }));
}

Result<Registration> RegistrarFixture::Register(std::string refusal) {
  return async::RunTask(loop_, RegisterPlugin(&loop_, socket(), std::move(refusal)));
}

Result<PluginInfo> RegistrarFixture::GetInfo() {
  return async::RunTask(loop_, InfoOnly(&loop_, socket()));
}

}  // namespace csinative
