// SPDX-License-Identifier: Apache-2.0
#include "test/support/fake_channel.h"

#include <gtest/gtest.h>

#include "lib/async/run.h"
#include "lib/async/sleep.h"
#include "lib/async/timeout.h"
#include "proto/csi/v1/csi.pb.h"

namespace csinative::testing {
namespace {

using ::csi::v1::ProbeRequest;
using ::csi::v1::ProbeResponse;
using std::chrono::seconds;

constexpr char kProbe[] = "/csi.v1.Identity/Probe";

class FakeChannelTest : public ::testing::Test {
 protected:
  Status Probe(Duration limit = seconds(10)) {
    return async::RunTask(
        scheduler, loop,
        async::WithTimeout(limit, channel.Call(kProbe, ProbeRequest(), &response)));
  }
  async::VirtualScheduler scheduler;
  async::VirtualLoop loop{scheduler};
  FakeChannel channel;
  ProbeResponse response;
};

TEST_F(FakeChannelTest, ScriptComesBeforeTheHandler) {
  ProbeResponse ready;
  ready.mutable_ready()->set_value(true);
  channel.Answer(kProbe, ready);
  channel.FailOnce(kProbe, UnavailableError("starting"));
  EXPECT_EQ(Probe().message(), "rpc error: code = Unavailable desc = starting");
  EXPECT_TRUE(Probe().ok());
  EXPECT_TRUE(response.ready().value());
  EXPECT_EQ(channel.CountOf(kProbe), 2u);
  EXPECT_EQ(channel.MethodNames(), (std::vector<std::string>{"Probe", "Probe"}));
}

TEST_F(FakeChannelTest, HandlerThatSleepsMeetsTheDeadlineInVirtualTime) {
  channel.Handle<ProbeRequest, ProbeResponse>(
      kProbe, [](ProbeRequest, ProbeResponse*) -> async::Task<Status> {
        co_return co_await async::Sleep(seconds(3600));
      });
  const MonotonicTime start = loop.Now();
  EXPECT_EQ(Probe().message(),
            "rpc error: code = DeadlineExceeded desc = context deadline exceeded");
  EXPECT_EQ(loop.Now() - start, seconds(10));
}

TEST_F(FakeChannelTest, MethodWithoutHandlerIsUnimplemented) {
  EXPECT_EQ(Probe().code(), Code::kUnimplemented);
}

}  // namespace
}  // namespace csinative::testing
