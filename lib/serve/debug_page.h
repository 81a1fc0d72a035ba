// SPDX-License-Identifier: Apache-2.0
//
// The page /debug: what a program is doing now, for the person who looks for a stuck volume. HTML
// for people, the same facts as JSON for programs ("?format=json", or an Accept header that names
// application/json). Needs nothing from outside itself. Values; the handler runs on the loop.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/status.h"
#include "lib/http/server.h"
#include "lib/serve/mux.h"

namespace csinative::serve {

// A state at one moment. Durations are ages, or time still to come where the name says so. Texts
// come from outside (drivers, the API server): rendering escapes them.
struct DebugSnapshot {
  struct Queue {
    std::string name;
    size_t processing = 0;
    size_t waiting = 0;
    size_t delayed = 0;
  };
  struct Work {
    std::string queue;
    std::string object;  // for people: "namespace/name"
    std::string key;     // of the queue, if that is something else
    std::string state;   // "in work", "waiting", "delayed"
    std::optional<Duration> age;
    int failures = 0;  // in a row
    std::string last_error;
    std::optional<Duration> last_error_age;
    std::optional<Duration> next_try_in;
  };
  struct Watch {
    std::string resource;
    std::string state;  // "watching", "listing"
    size_t objects = 0;
    size_t bytes = 0;
    std::optional<Duration> silent_for;  // nothing: never heard from the server
  };
  struct Call {
    std::string method;
    std::string subject;
    Duration age{};
    std::optional<Duration> deadline_in;
  };

  std::string program;
  std::string version;
  Duration uptime{};
  WallTime time{};
  std::vector<std::pair<std::string, std::string>> facts;  // shown as they are, in this order
  std::vector<Queue> queues;
  std::vector<Work> work;
  size_t work_left_off = 0;  // items that are not in `work`
  std::vector<Watch> watches;
  std::vector<Call> calls;
};

// "850ms", "12s", "3m20s", "5h10m", "9d4h": as short as it is still useful.
std::string ShortDuration(Duration duration);

std::string DebugHtml(const DebugSnapshot& snapshot);
std::string DebugJson(const DebugSnapshot& snapshot);

// Serves /debug. `take` is called for each request. kAlreadyExists when --metrics-path is /debug,
// which then wins.
Status HandleDebug(Mux& mux, std::function<DebugSnapshot()> take);

}  // namespace csinative::serve
