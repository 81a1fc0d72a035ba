// SPDX-License-Identifier: Apache-2.0
#include "lib/rpc/channel.h"

#include <algorithm>
#include <atomic>
#include <chrono>

#include "lib/async/sleep.h"
#include "test/support/oracle.h"
#include "test/unit/rpc/rpc_fixture.h"
#include "test/unit/rpc/scripted_peer.h"

namespace csinative::rpc {
namespace {

constexpr char kEof[] = "rpc error: code = Unavailable desc = error reading from server: EOF";

class ChannelTest : public RpcFixture {
 protected:
  // Counts what the dialler reports; short back-off.
  ConnectOptions Counting() {
    ConnectOptions options;
    options.backoff = 20ms;
    options.on_dial_error = [this](const Status& status) {
      ++dial_errors;
      last_dial_error = status.message();
    };
    return options;
  }
  ConnectOptions LossAware(bool reconnect) {
    ConnectOptions options = Counting();
    options.log_connection_lost = [this] { ++logged_losses; };
    options.on_connection_lost = [this, reconnect] {
      ++losses;
      return reconnect;
    };
    return options;
  }
  std::string DialErrorText() const {
    return "connection error: desc = \"transport: Error while dialing: dial unix " + dir.path() +
           "/s: connect: no such file or directory\"";
  }

  // An attempt may take as long as the back-off: more of it, where the count of attempts matters,
  // so that a busy machine has time to answer.
  static constexpr Duration kLongBackoff = 300ms;
  ConnectOptions Patient(ConnectOptions options) {
    options.backoff = kLongBackoff;
    return options;
  }

  bool SucceedsSoon() {
    for (int i = 0; i < 500; ++i) {
      if (CallInfo() == "OK") return true;
      (void)Run(async::Sleep(5ms));
    }
    return false;
  }

  int dial_errors = 0;
  int losses = 0;
  int logged_losses = 0;
  std::string last_dial_error;
};

TEST_F(ChannelTest, K1_ConnectsToListeningServer) {
  StartServer();
  ASSERT_TRUE(Dial().ok());
  EXPECT_EQ(CallInfo(), "OK");
}

TEST_F(ChannelTest, K1_AbsolutePathIsAnAddress) {
  StartServer();
  Result<std::unique_ptr<Channel>> result =
      Run(async::WithTimeout(5s, Connect(loop, dir.path() + "/s", {})));
  ASSERT_TRUE(result.ok());
}

TEST_F(ChannelTest, K1_FourSlashesAreAnAbsolutePathToo) {
  const oracle::Row row("registrar/12.3/2");
  const oracle::Row common("common/20.6/1");
  StartServer();
  ASSERT_TRUE(Run(async::WithTimeout(5s, Connect(loop, "unix:///" + dir.path() + "/s", {}))).ok());
}

TEST_F(ChannelTest, K2_ServerThatAppearsIsFoundByTheNextAttempt) {
  ConnectOptions options = Patient(Counting());
  auto count = std::move(options.on_dial_error);
  options.on_dial_error = [&](const Status& status) {
    count(status);
    if (dial_errors == 3) StartServer();
  };
  ASSERT_TRUE(Dial(std::move(options)).ok());
  EXPECT_EQ(dial_errors, 3);
  EXPECT_EQ(last_dial_error, DialErrorText());
}

TEST_F(ChannelTest, K3_LimitWithoutServerIsJustTheDeadline) {
  const Status status = Dial(Counting(), 100ms);
  EXPECT_TRUE(IsDeadlineExceeded(status));
  EXPECT_EQ(ErrorText(status), "context deadline exceeded");
}

TEST_F(ChannelTest, StillConnectingIsReportedAtEachInterval) {
  int reports = 0;
  ConnectOptions options = Counting();
  options.still_connecting_interval = 30ms;
  options.on_still_connecting = [&] { ++reports; };
  EXPECT_FALSE(Dial(std::move(options), 105ms).ok());
  EXPECT_GE(reports, 2);
  EXPECT_LE(reports, 3);
}

TEST_F(ChannelTest, SilentListenerIsNotConnected) {
  ScriptedPeer peer(dir.path() + "/s", [](PeerConnection& c) { c.Swallow(); });
  EXPECT_EQ(ErrorText(Dial(Counting(), 100ms)), "context deadline exceeded");
  EXPECT_GE(dial_errors, 1);
  EXPECT_EQ(last_dial_error, "connection error: desc = \"context deadline exceeded\"");
}

TEST_F(ChannelTest, EachDialAfterAMuteConnectionIsALoss) {
  ScriptedPeer peer(dir.path() + "/s", [](PeerConnection& c) { c.Swallow(); });
  EXPECT_FALSE(Dial(LossAware(true), 110ms).ok());  // 20 ms an attempt, then 20 ms of waiting
  EXPECT_GE(losses, 1);
  EXPECT_EQ(losses, peer.connections() - 1);
}

TEST_F(ChannelTest, K4_WithoutCallbackTheChannelReconnects) {
  const oracle::Row row("registrar/12.3/7");
  const oracle::Row common("common/20.6/4");
  StartServer();
  ASSERT_TRUE(Dial(Patient(Counting())).ok());
  StopServer();
  EXPECT_EQ(CallInfo(), "rpc error: code = Unavailable desc = " + DialErrorText());
  StartServer();
  EXPECT_TRUE(SucceedsSoon());
}

TEST_F(ChannelTest, K5_CallbackThatRefusesEndsTheChannel) {
  const oracle::Row row("registrar/12.3/8");
  const oracle::Row common("common/20.6/5");
  StartServer();
  ASSERT_TRUE(Dial(Patient(LossAware(false))).ok());
  StopServer();
  const char kDisabled[] =
      "rpc error: code = Unavailable desc = connection error: desc = \"connection lost, "
      "reconnecting disabled\"";
  EXPECT_EQ(CallInfo(), kDisabled);
  StartServer();
  (void)Run(async::Sleep(3 * kLongBackoff));
  EXPECT_EQ(CallInfo(), kDisabled);
  EXPECT_EQ(losses, 1);
}

TEST_F(ChannelTest, K6_CallbackThatAgreesReconnects) {
  const oracle::Row row("registrar/12.3/9");
  const oracle::Row common("common/20.6/6");
  StartServer();
  ASSERT_TRUE(Dial(Patient(LossAware(true))).ok());
  StopServer();
  EXPECT_EQ(CallInfo(), "rpc error: code = Unavailable desc = " + DialErrorText());
  StartServer();
  EXPECT_TRUE(SucceedsSoon());
  EXPECT_EQ(losses, 1);
  EXPECT_EQ(logged_losses, 1);
}

TEST_F(ChannelTest, K11_LossIsNoticedByTheNextCallOnly) {
  const oracle::Row row("common/20.6/11");
  StartServer();
  ASSERT_TRUE(Dial(LossAware(true)).ok());
  StopServer();
  StartServer();
  (void)Run(async::Sleep(60ms));
  EXPECT_EQ(losses, 0);
  EXPECT_EQ(CallInfo(), "OK");
  EXPECT_EQ(losses, 1);
  EXPECT_EQ(dial_errors, 0);
}

TEST_F(ChannelTest, EachLossIsReportedOnce) {
  StartServer();
  ASSERT_TRUE(Dial(LossAware(true)).ok());
  for (int round = 1; round <= 3; ++round) {
    StopServer();
    StartServer();
    EXPECT_EQ(CallInfo(), "OK");
    EXPECT_EQ(losses, round);
  }
}

TEST_F(ChannelTest, CallInFlightFailsFirstAndTheNextOneReportsTheLoss) {
  ScriptedPeer peer(dir.path() + "/s", [](PeerConnection& c) { c.NextRequest(); });
  ASSERT_TRUE(Dial(LossAware(true)).ok());
  EXPECT_EQ(CallInfo(), kEof);
  EXPECT_EQ(losses, 0);
  EXPECT_EQ(CallInfo(), kEof);
  EXPECT_EQ(losses, 1);
}

TEST_F(ChannelTest, DialAfterGoAwayIsALoss) {
  ScriptedPeer peer(dir.path() + "/s", [](PeerConnection& c) {
    c.NextRequest();
    c.GoAway(0, 0);  // no stream was processed
    c.Swallow();
  });
  ASSERT_TRUE(Dial(LossAware(true)).ok());
  // Sent again once, over a second connection.
  EXPECT_EQ(CallInfo(), "rpc error: code = Unavailable desc = the connection is draining");
  EXPECT_EQ(losses, 1);
  EXPECT_EQ(peer.connections(), 2);
}

TEST_F(ChannelTest, CallThatAGoAwayLeftUnprocessedIsRepeated) {
  std::atomic<bool> drained{false};
  ScriptedPeer peer(dir.path() + "/s", [&](PeerConnection& c) {
    const uint32_t stream = c.NextRequest();
    if (!drained.exchange(true)) return c.GoAway(0, 0);
    c.Reset(stream, 11);
    c.Swallow();
  });
  ASSERT_TRUE(Dial(Counting()).ok());
  EXPECT_EQ(CallInfo(),
            "rpc error: code = ResourceExhausted desc = stream terminated by RST_STREAM with "
            "error code: ENHANCE_YOUR_CALM");
}

TEST_F(ChannelTest, CallThatAGoAwayMayHaveProcessedIsNotRepeated) {
  std::atomic<int> requests{0};
  ScriptedPeer peer(dir.path() + "/s", [&](PeerConnection& c) {
    const uint32_t stream = c.NextRequest();
    ++requests;
    c.GoAway(stream, 0);
  });
  ASSERT_TRUE(Dial(Counting()).ok());
  EXPECT_EQ(CallInfo(), kEof);
  EXPECT_EQ(requests, 1);
}

TEST_F(ChannelTest, RefusedStreamIsRepeatedOnceOnTheSameConnection) {
  std::atomic<int> requests{0};
  ScriptedPeer peer(dir.path() + "/s", [&](PeerConnection& c) {
    while (uint32_t stream = c.NextRequest()) {
      ++requests;
      c.Reset(stream, 7);
    }
  });
  ASSERT_TRUE(Dial(LossAware(true)).ok());
  EXPECT_EQ(CallInfo(),
            "rpc error: code = Unavailable desc = stream terminated by RST_STREAM with error "
            "code: REFUSED_STREAM");
  EXPECT_EQ(requests, 2);
  EXPECT_EQ(losses, 0);
}

TEST_F(ChannelTest, PeerThatAnswersNonsenseIsUnavailable) {
  ScriptedPeer peer(dir.path() + "/s", [&](PeerConnection& c) {
    c.NextRequest();
    c.WriteBytes(std::string(100, 'x'));
    c.Swallow();
  });
  ASSERT_TRUE(Dial(Counting()).ok());
  EXPECT_EQ(CallInfo(), kEof);
}

TEST_F(ChannelTest, DeadlineHasGoTextAndReachesThePeer) {
  ScriptedPeer peer(dir.path() + "/s", [](PeerConnection& c) {
    while (c.NextRequest() != 0) {
    }
  });
  ASSERT_TRUE(Dial(Counting()).ok());
  EXPECT_EQ(CallInfo(50ms), "rpc error: code = DeadlineExceeded desc = context deadline exceeded");
}

TEST_F(ChannelTest, CancellationHasGoText) {
  ScriptedPeer peer(dir.path() + "/s", [](PeerConnection& c) {
    while (c.NextRequest() != 0) {
    }
  });
  ASSERT_TRUE(Dial(Counting()).ok());
  async::Scope scope(loop);
  std::string text;
  struct Caller {
    static async::Task<void> Go(Channel* channel, std::string* text) {
      ::csi::v1::ProbeResponse response;
      Status status = co_await channel->Call(kProbe, ::csi::v1::ProbeRequest(), &response);
      *text = ErrorText(status);
    }
  };
  scope.Spawn(Caller::Go(channel.get(), &text));
  (void)Run(async::Sleep(20ms));
  EXPECT_EQ(text, "");
  Run(scope.Close());
  EXPECT_EQ(text, "rpc error: code = Canceled desc = context canceled");
}

TEST_F(ChannelTest, DeadlineWhileWaitingForTheConnectionSaysSo) {
  StartServer();
  ASSERT_TRUE(Dial(Counting()).ok());
  StopServer();
  // Accepts, and never speaks: the dial is in progress when the deadline comes.
  ScriptedPeer peer(dir.path() + "/s", [](PeerConnection& c) { c.Swallow(); });
  EXPECT_EQ(CallInfo(10ms),
            "rpc error: code = DeadlineExceeded desc = context deadline exceeded while waiting "
            "for connections to become ready");
}

TEST_F(ChannelTest, CallsFailAtOnceWhileTheReconnectFails) {
  StartServer();
  ConnectOptions options = Counting();
  options.backoff = 10s;
  ASSERT_TRUE(Dial(std::move(options)).ok());
  StopServer();
  CallInfo();
  StartServer();  // found only after the back-off
  EXPECT_EQ(CallInfo(), "rpc error: code = Unavailable desc = " + DialErrorText());
  EXPECT_EQ(dial_errors, 1);
}

TEST_F(ChannelTest, ChannelMayGoWhileACancelledCallIsStillInTheLibrary) {
  StartServer();
  ASSERT_TRUE(Dial(Counting()).ok());
  async::Scope scope(loop);
  struct Caller {
    static async::Task<void> Go(Channel* channel) {
      ::csi::v1::ProbeResponse response;
      (void)co_await channel->Call(kProbe, ::csi::v1::ProbeRequest(), &response);
    }
  };
  for (int i = 0; i < 100; ++i) scope.Spawn(Caller::Go(channel.get()));
  Run(scope.Close());
  channel.reset();
}

TEST(ChannelLifetimeTest, DiscardedLoopLeavesNoCompletionBehind) {
  TempDir dir;
  ScriptedPeer peer(dir.path() + "/s", [](PeerConnection& c) {
    while (c.NextRequest() != 0) {
    }
  });
  struct Owner {
    static async::Task<void> Go(async::RealLoop* loop, std::string address, bool* calling) {
      Result<std::unique_ptr<Channel>> channel = co_await Connect(*loop, address, {});
      ::csi::v1::ProbeResponse response;
      *calling = true;
      (void)co_await (*channel)->Call("/x/y", ::csi::v1::ProbeRequest(), &response);
    }
  };
  bool calling = false;
  async::RealLoop loop;
  async::Scope scope(loop);
  scope.Spawn(Owner::Go(&loop, dir.Address("s"), &calling));
  while (!calling) (void)async::RunTask(loop, async::Sleep(1ms));
  loop.Discard();  // destroys the frame, the channel in it and its thread
  EXPECT_TRUE(scope.empty());
}

// The idle trap: with the library's own pollers the first call after an idle second takes up to
// 100 ms (the shared queue thread sits in Next without a deadline instead).
TEST_F(ChannelTest, CallAfterAnIdleSecondIsFast) {
  StartServer();
  ASSERT_TRUE(Dial().ok());
  auto best = std::chrono::nanoseconds::max();
  for (int i = 0; i < 2; ++i) {
    (void)Run(async::Sleep(1100ms));
    const auto before = std::chrono::steady_clock::now();
    ASSERT_EQ(CallInfo(), "OK");
    best = std::min<std::chrono::nanoseconds>(best, std::chrono::steady_clock::now() - before);
  }
  EXPECT_LT(best, 15ms);
}

}  // namespace
}  // namespace csinative::rpc
