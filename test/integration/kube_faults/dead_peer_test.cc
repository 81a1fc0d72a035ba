// SPDX-License-Identifier: Apache-2.0
//
// A server that is gone without a word, and one that is so slow that nothing ever arrives.
#include <gmock/gmock.h>

#include "apis/k8s.h"
#include "lib/base/strings.h"
#include "lib/kube/errors.h"
#include "test/integration/kube_faults/fault_fixture.h"
#include "test/integration/kube_faults/namespaces.h"

namespace csinative::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// lib/http/socket_options.cc: keep-alive after 10 s + 3 * 5 s, the same for unacknowledged bytes.
constexpr Duration kNoticed = seconds(30);

// When a call ended, and how.
struct Outcome {
  std::optional<MonotonicTime> when;
  Status status;
};

async::Task<void> Note(async::EventLoop* loop, async::Task<Status> call, Outcome* out) {
  out->status = co_await std::move(call);
  out->when = loop->Now();
}

async::Task<Status> Patch(Client* client) {
  const auto patched = co_await client->Patch<core::ConfigMap>({"default", "kept"},
                                                               PatchType::kMerge, R"({"data":{}})");
  co_return patched.status();
}

async::Task<Status> Get(Client* client) {
  const auto got = co_await client->Get<core::Namespace>(ObjectName{"", "default"});
  co_return got.status();
}

class DeadPeerTest : public FaultFixture {
 protected:
  static void SetUpTestSuite() {
    auto entered = test::Namespaces::Enter();
    if (!entered.ok()) {
      failure_ = entered.status().message();
    } else {
      namespaces_ = *std::move(entered);
    }
  }
  static void TearDownTestSuite() { namespaces_.reset(); }

  void SetUp() override { ASSERT_NE(namespaces_, nullptr) << failure_; }

  int64_t Print(const char* what, Duration took) {
    const auto ms = std::chrono::duration_cast<milliseconds>(took).count();
    std::printf("fault: %-52s noticed after %5lld ms\n", what, static_cast<long long>(ms));
    return ms;
  }
  bool Logged(const std::string& text) const {
    for (const std::string& record : output_->Records()) {
      if (record.find(text) != std::string::npos) return true;
    }
    return false;
  }

  static inline std::unique_ptr<test::Namespaces> namespaces_;
  static inline std::string failure_;
  async::Scope calls_{loop_};
};

TEST_F(DeadPeerTest, IsNoticedByAnIdleWatchAndByACall) {
  namespaces_->InServer([this] { Listen(Tls::kOn, test::Namespaces::kServerAddress); });
  Follow(ConfigFor(ListenerUrl()));
  ASSERT_TRUE(Run(Get(client_)).ok());
  constexpr char kWatchEnded[] = "Unable to read an event from the watch stream";
  log_.backend()->SetVerbosity(5);

  ASSERT_TRUE(namespaces_->LosePackets().ok());
  const MonotonicTime start = loop_.Now();
  Outcome call;
  calls_.Spawn(Note(&loop_, Patch(client_), &call));
  Change();
  EXPECT_TRUE(WaitUntil([&] { return Logged(kWatchEnded); }, kNoticed));
  Print("dead peer, idle watch", loop_.Now() - start);
  EXPECT_TRUE(WaitUntil([&] { return call.when.has_value(); }, kNoticed));
  Run(calls_.Join());
  Print("dead peer, call under way", *call.when - start);
  EXPECT_LE(*call.when - start, kNoticed);
  ASSERT_NE(call.status.transport_error(), nullptr) << call.status.ToString();

  ASSERT_TRUE(namespaces_->DeliverPackets().ok());
  MarkRepaired();
  ExpectRecovery("dead peer comes back", 5);
}

// Headers at a byte a second never end: the call does.
TEST_F(DeadPeerTest, SlowHeadersEndByTheDeadline) {
  Listen(Tls::kOff);
  StartProxy();
  proxy_->set_pause(seconds(1));
  auto transport = NewHttpTransport(loop_, ConfigFor(ProxyUrl()), "slow", log_, {});
  ASSERT_TRUE(transport.ok());
  auto client = *Client::Create(loop_, *random_, **transport, log_, {.qps = -1});
  const MonotonicTime start = loop_.Now();
  const Status status = Run(Get(client.get()));
  Print("slow loris: headers that never end", loop_.Now() - start);
  EXPECT_TRUE(IsDeadlineExceeded(status)) << status.ToString();
  EXPECT_LE(loop_.Now() - start, seconds(72));
  client.reset();
}

}  // namespace
}  // namespace csinative::kube
