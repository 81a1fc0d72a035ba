// SPDX-License-Identifier: Apache-2.0
#include "lib/csi/guarded_channel.h"

#include <gtest/gtest.h>

#include "lib/async/run.h"
#include "lib/csi/identity.h"
#include "test/support/fake_channel.h"

namespace csinative::csi {
namespace {

TEST(GuardedChannelTest, CallsOnlyWhileAllowed) {
  async::VirtualScheduler scheduler;
  async::VirtualLoop loop(scheduler);
  testing::FakeChannel fake;
  ::csi::v1::GetPluginInfoResponse info;
  info.set_name("driver");
  fake.Answer("/csi.v1.Identity/GetPluginInfo", info);
  bool allowed = true;
  GuardedChannel channel(
      fake, [&allowed] { return allowed ? Status() : UnavailableError("not leading"); });
  EXPECT_TRUE(async::RunTask(scheduler, loop, GetDriverName(channel)).ok());
  allowed = false;
  const auto refused = async::RunTask(scheduler, loop, GetDriverName(channel));
  EXPECT_EQ(refused.status().message(), "rpc error: code = Unavailable desc = not leading");
  EXPECT_EQ(fake.calls().size(), 1u);
}

}  // namespace
}  // namespace csinative::csi
