// SPDX-License-Identifier: Apache-2.0
//
// A server and a channel in one process, on one real loop and a unix socket.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lib/async/run.h"
#include "lib/async/sleep.h"
#include "lib/async/sync.h"
#include "lib/async/timeout.h"
#include "lib/rpc/channel.h"
#include "lib/rpc/server.h"
#include "proto/csi/v1/csi.pb.h"
#include "test/unit/rpc/temp_dir.h"

namespace csinative::rpc {

using namespace std::chrono_literals;

class RpcFixture : public ::testing::Test {
 protected:
  static constexpr char kProbe[] = "/csi.v1.Identity/Probe";
  static constexpr char kInfo[] = "/csi.v1.Identity/GetPluginInfo";

  ~RpcFixture() override {
    channel.reset();
    StopServer();
  }

  template <typename T>
  T Run(async::Task<T> task) {
    return async::RunTask(loop, std::move(task));
  }

  // Starts a server that answers kInfo with the name "test".
  void StartServer() {
    server = NewServer(loop);
    Handle<::csi::v1::GetPluginInfoRequest, ::csi::v1::GetPluginInfoResponse>(*server, kInfo, Info);
    const Status started = server->Start(dir.Address("s"));
    ASSERT_TRUE(started.ok()) << started.ToString();
  }
  void StopServer() {
    if (server) async::RunTask(loop, server->Close());
    server.reset();
  }

  Status Dial(ConnectOptions options = {}, Duration limit = 5s) {
    Result<std::unique_ptr<Channel>> result =
        Run(async::WithTimeout(limit, Connect(loop, dir.Address("s"), std::move(options))));
    if (result.ok()) channel = std::move(*result);
    return result.status();
  }
  // The text of the outcome, "OK" for success.
  std::string CallInfo(Duration limit = 5s) {
    ::csi::v1::GetPluginInfoResponse response;
    const Status status = Run(async::WithTimeout(
        limit, channel->Call(kInfo, ::csi::v1::GetPluginInfoRequest(), &response)));
    if (!status.ok()) return ErrorText(status);
    return response.name() == "test" ? "OK" : "wrong answer " + response.ShortDebugString();
  }
  // Waits on the loop; false if `done` does not come true within 5 s.
  bool Until(std::function<bool()> done) { return Run(UntilTask(std::move(done))); }

  TempDir dir;
  async::RealLoop loop;
  std::unique_ptr<Server> server;
  std::unique_ptr<Channel> channel;

 private:
  static async::Task<Status> Info(::csi::v1::GetPluginInfoRequest,
                                  ::csi::v1::GetPluginInfoResponse* response) {
    response->set_name("test");
    co_return Status();
  }
  static async::Task<bool> UntilTask(std::function<bool()> done) {
    for (int i = 0; i < 5000 && !done(); ++i) (void)co_await async::Sleep(1ms);
    co_return done();
  }
};

}  // namespace csinative::rpc
