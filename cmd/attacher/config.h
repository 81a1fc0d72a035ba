// SPDX-License-Identifier: Apache-2.0
//
// What the attaching controllers are told. Value.
#pragma once

#include <cstdint>
#include <string>

#include "lib/base/clock.h"

namespace csinative::attacher {

// Whether errors of the driver are saved with their gRPC code: the gate
// MutableCSINodeAllocatableCount.
enum class ErrorCodes { kOmit, kSave };

struct AttachConfig {
  // Of one publish or unpublish, and of one whole comparison with the driver's list.
  Duration call_timeout = std::chrono::seconds(15);
  std::string default_fs_type;  // of volumes that name none
  ErrorCodes error_codes = ErrorCodes::kSave;
  Duration resync = std::chrono::minutes(10);  // of the informers; 0: never
  // Back-off of both queues (attacher 6.5).
  Duration retry_start = std::chrono::seconds(1);
  Duration retry_max = std::chrono::minutes(5);
  int worker_threads = 10;  // for each queue
  // The comparison with what the driver lists (attacher 11a): volumes asked for at once, 0 for the
  // driver's choice; and the pause between two comparisons.
  int32_t max_entries = 0;
  Duration reconcile_sync = std::chrono::minutes(1);
};

}  // namespace csinative::attacher
