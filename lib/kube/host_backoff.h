// SPDX-License-Identifier: Apache-2.0
//
// Growing pauses before requests to a server that answers with errors (kube-client 10.2). Off
// unless the environment asks for it. Loop only.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "lib/base/clock.h"
#include "lib/kube/environment.h"

namespace csinative::kube {

struct HostBackoffOptions {
  Duration base;
  Duration max;
};

// KUBE_CLIENT_BACKOFF_BASE and KUBE_CLIENT_BACKOFF_DURATION, in seconds; nothing unless both are
// above zero.
std::optional<HostBackoffOptions> HostBackoffFromEnvironment(const GetEnv& getenv);

class HostBackoff {
 public:
  HostBackoff(const Clock& clock, HostBackoffOptions options) : clock_(&clock), options_(options) {}

  // How long the next request to "host:port" has to wait.
  Duration Delay(const std::string& host) const;
  // What became of a request: the code of the answer, 0 without one. 429 and everything above 499
  // doubles the pause, anything else ends it.
  void Update(const std::string& host, int code);

 private:
  struct Entry {
    Duration delay;
    MonotonicTime updated;
  };
  const Clock* clock_;
  HostBackoffOptions options_;
  std::map<std::string, Entry> hosts_;
};

}  // namespace csinative::kube
