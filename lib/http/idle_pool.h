// SPDX-License-Identifier: Apache-2.0
//
// Connections that wait for their next request. Internal to lib/http. Loop only.
#pragma once

#include <utility>
#include <vector>

#include "lib/async/event_loop.h"

namespace csinative::http {

// ConnectionPtr owns a connection; destroying it closes the connection.
template <typename ConnectionPtr>
class IdlePool {
 public:
  // Closes what has not been used for `timeout`.
  IdlePool(async::EventLoop& loop, Duration timeout) : loop_(loop), timeout_(timeout) {}

  // The connection used last, or null: so that few stay busy and the others age.
  ConnectionPtr Take() {
    if (idle_.empty()) return nullptr;
    ConnectionPtr connection = std::move(idle_.back().connection);
    idle_.pop_back();
    return connection;
  }

  void Put(ConnectionPtr connection) {
    idle_.push_back({std::move(connection), loop_.Now()});
    if (!armed_) Arm();
  }

 private:
  struct Idle {
    ConnectionPtr connection;
    MonotonicTime since;
  };

  void Arm() {
    armed_ = true;
    sweep_ = async::ScopedTimer(loop_, idle_.front().since + timeout_, [this] { Sweep(); });
  }

  void Sweep() {
    armed_ = false;
    const MonotonicTime limit = loop_.Now() - timeout_;
    std::erase_if(idle_, [&](const Idle& idle) { return idle.since <= limit; });
    if (!idle_.empty()) Arm();
  }

  async::EventLoop& loop_;
  const Duration timeout_;
  std::vector<Idle> idle_;  // in order of `since`: taken from and put to its end
  bool armed_ = false;
  async::ScopedTimer sweep_;
};

}  // namespace csinative::http
