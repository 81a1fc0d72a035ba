// SPDX-License-Identifier: Apache-2.0
//
// The HTTP endpoints that all sidecars share (common 9.8 and 10): metrics and the health of the
// leader election. What they show comes in as functions, called on the loop for each request.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "lib/base/result.h"
#include "lib/http/server.h"
#include "lib/serve/mux.h"

namespace csinative::serve {

// What one collection of all metrics gave.
struct GatheredMetrics {
  std::string text;  // exposition format; also what could be gathered besides an error
  Status error;
};

struct MetricsOptions {
  std::function<GatheredMetrics()> gather;
  // kContinue: shows what there is, and fails only if there is nothing. kFail: any error is a 500.
  enum class OnError { kContinue, kFail };
  OnError on_error = OnError::kContinue;
  // Sent as Process-Start-Time-Unix, if set.
  std::optional<int64_t> process_start_time_unix;
};

// Text exposition to any method: repeats the client's escaping, compresses on its wish, filters by
// name[].
http::Handler MetricsHandler(MetricsOptions options);

// 200 "ok", or 500 with the message of the status.
http::Handler HealthHandler(std::function<Status()> check);

// Registers HealthHandler under /healthz/leader-election. `check` fails with "failed election to
// renew leadership on lease " and the lease's name, which upstream leaves empty.
Status HandleLeaderElectionHealth(Mux& mux, std::function<Status()> check);

// The families of an exposition whose names are listed; all for an empty list.
std::string FilterFamilies(std::string_view exposition, const std::vector<std::string>& names);

}  // namespace csinative::serve
