// SPDX-License-Identifier: Apache-2.0
//
// Keeps one connection to a peer: the state machine of common 7.2 and 7.3.
//
//   connecting --up--> ready --found broken at a call--> idle --the same call--> connecting
//   connecting --attempt failed--> failing --after the back-off--> (attempt) --up--> ready
//
// A call waits while connecting, fails at once while failing (Go's fail-fast), and starts the dial
// when idle. In the first phase `failing` is not reported: Connect() waits for ready. Private to
// lib/rpc. Loop only.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "lib/async/blocking.h"
#include "lib/async/waiter.h"
#include "lib/rpc/address.h"
#include "lib/rpc/channel.h"
#include "lib/rpc/completion_thread.h"
#include "lib/rpc/connection.h"

namespace csinative::rpc {

class Dialer : public std::enable_shared_from_this<Dialer> {
 public:
  Dialer(async::EventLoop& loop, Target target, ConnectOptions options);
  ~Dialer();

  void Start();
  // Waits for the first connection, or for the reason of a cancellation.
  async::Task<Status> WaitUntilReady();
  // The connection for one call. Fails with the RpcStatus the call has to return.
  async::Task<Result<std::shared_ptr<Connection>>> Pick();
  // The peer refuses new calls on this connection.
  void Abandon(const std::shared_ptr<Connection>& connection);

  const std::shared_ptr<CallSet>& calls() const { return calls_; }

 private:
  enum class State { kIdle, kConnecting, kReady, kFailing };

  void Dial();
  void OnSocket(uint64_t attempt, Result<UniqueFd> fd);
  void OnPing(uint64_t attempt, bool ok);
  void OnFailure(Status why);
  // Runs `step` with this dialer on the loop; nothing happens once the dialer is gone.
  UniqueFunction<void(UniqueFunction<void(Dialer&)>)> Poster();
  Duration NextBackoff();

  // Constant.
  async::EventLoop& loop_;
  const Target target_;
  const ConnectOptions options_;
  Random* random_;  // options_.random or own_random_

  // Owned.
  std::unique_ptr<Random> own_random_;
  std::shared_ptr<CallSet> calls_ = std::make_shared<CallSet>();
  CompletionThread queue_;
  std::unique_ptr<async::ThreadPool> resolver_;  // TCP only, from the first dial on
  State state_ = State::kIdle;
  std::shared_ptr<Connection> connection_;  // ready, or waiting for its ping
  bool was_ready_ = false;
  // A socket was connected and the dial after it has not come yet: that dial is a loss, also when
  // the peer never spoke.
  bool had_socket_ = false;
  bool disabled_ = false;    // on_connection_lost said no
  uint64_t attempt_ = 0;     // tells late completions of a given up attempt
  bool attempting_ = false;  // between Dial() and its outcome
  int failures_in_a_row_ = 0;
  Duration backoff_{};
  Status last_error_;
  async::ScopedTimer attempt_limit_;
  async::ScopedTimer retry_;
  async::WaiterList changed_;
};

}  // namespace csinative::rpc
