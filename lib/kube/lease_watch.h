// SPDX-License-Identifier: Apache-2.0
//
// Tells who waits for a Lease that its holder gave it up. Loop only.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "lib/async/event_loop.h"
#include "lib/async/task.h"
#include "lib/base/random.h"
#include "lib/kube/client.h"
#include "lib/kube/watch_stream.h"
#include "lib/log/logger.h"

namespace csinative::kube {

class LeaseWatch {
 public:
  struct Config {
    async::EventLoop* loop = nullptr;
    Random* random = nullptr;
    Client* client = nullptr;
    log::Logger log;
    ObjectName lease;
    // Where a watch begins: the version that the waiting one has read last.
    std::function<std::string()> version;
    // Somebody wrote a Lease without a holder, or deleted it.
    std::function<void()> on_free;
    // Between a watch that ended or could not be opened and the next one.
    Duration pause = std::chrono::seconds(5);
  };

  explicit LeaseWatch(Config config) : config_(std::move(config)) {}

  // Until it is cancelled, or refused for a reason that will not go away: a missing right, a server
  // without watches. Nothing is lost then but time: whoever waits reads the Lease now and then.
  async::Task<void> Run();

 private:
  // Ok: the watch has ended and may be opened again.
  async::Task<Status> Follow();
  Status Look(const WatchEvent& event);

  const Config config_;
};

}  // namespace csinative::kube
