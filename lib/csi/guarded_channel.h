// SPDX-License-Identifier: Apache-2.0
//
// A channel that asks before each call whether this process may still act, for leaders: one that
// was stopped for a while must not go on where it was (kube::LeaderElector::CheckMayAct). Loop
// only.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "lib/base/clock.h"
#include "lib/rpc/channel.h"

namespace csinative::csi {

class GuardedChannel final : public rpc::Channel {
 public:
  // Borrowed: `inner` outlives this. A failure of `may_act` ends the call before anything is sent.
  // `grace`: how long a call that was sent may take after its caller was cancelled.
  GuardedChannel(rpc::Channel& inner, std::function<Status()> may_act,
                 Duration grace = Duration::zero())
      : inner_(inner), may_act_(std::move(may_act)), grace_(grace) {}

  async::Task<Status> Call(std::string method, const google::protobuf::Message& request,
                           google::protobuf::Message* response) override;

 private:
  rpc::Channel& inner_;
  const std::function<Status()> may_act_;
  const Duration grace_;
};

}  // namespace csinative::csi
