// SPDX-License-Identifier: Apache-2.0
//
// A peer that acknowledges but forwards nothing, as a proxy or load balancer whose server is gone.
#include <gmock/gmock.h>

#include "apis/k8s.h"
#include "lib/kube/errors.h"
#include "test/integration/kube_faults/fault_fixture.h"

namespace csinative::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

async::Task<void> GetWithin(Client* client, Duration limit, Duration* took, Status* out) {
  const async::TaskContext context = co_await async::CurrentContext();
  const MonotonicTime start = context.loop->Now();
  const auto got =
      co_await async::WithTimeout(limit, client->Get<core::Namespace>(ObjectName{"", "default"}));
  *out = got.status();
  *took = context.loop->Now() - start;
}

class SilentPeerTest : public FaultFixture {};

TEST_F(SilentPeerTest, CallsEndByTheDeadlineAndTheWatchIsReplaced) {
  Listen(Tls::kOn);
  StartProxy();
  Follow(ConfigFor(ProxyUrl()));
  // Two connections of the pool that will be silent.
  Status own, callers;
  Duration own_took{}, callers_took{};
  async::Scope calls(loop_);
  calls.Spawn(GetWithin(client_, seconds(100), &own_took, &own));
  calls.Spawn(GetWithin(client_, seconds(100), &callers_took, &callers));
  Run(calls.Join());
  ASSERT_TRUE(own.ok() && callers.ok());

  proxy_->set_mode(test::FaultProxy::Mode::kBlackHole);  // what is open now
  proxy_->set_mode(test::FaultProxy::Mode::kForward);    // and nothing new
  BeginCount();
  MarkRepaired();
  Change();
  calls.Spawn(GetWithin(client_, seconds(100), &own_took, &own));
  calls.Spawn(GetWithin(client_, seconds(5), &callers_took, &callers));
  ExpectRecovery("silent peer: the watch is replaced", 4, seconds(92));
  Run(calls.Join());
  const auto ms = [](Duration d) {
    return static_cast<long long>(std::chrono::duration_cast<milliseconds>(d).count());
  };
  std::printf(
      "fault: silent peer: a call ended after %lld ms, one with a limit of 5 s after %lld\n",
      ms(own_took), ms(callers_took));
  EXPECT_TRUE(IsDeadlineExceeded(own)) << own.ToString();
  EXPECT_LE(own_took, seconds(72));
  EXPECT_TRUE(IsDeadlineExceeded(callers)) << callers.ToString();
  EXPECT_LE(callers_took, seconds(6));
}

}  // namespace
}  // namespace csinative::kube
