// SPDX-License-Identifier: Apache-2.0
//
// How an operation on a volume ended, and what a failure says about the volume (volumemanager-csi
// 5.4). Values.
#pragma once

#include <utility>

#include "lib/base/status.h"

namespace csinative::volumemanager {

enum class FailureKind {
  kFinal,      // it did not happen
  kTransient,  // nothing was tried: try again
  kUncertain,  // the driver may have done it, or may still be at it
};

struct [[nodiscard]] Outcome {
  Outcome() = default;
  Outcome(Status failure, FailureKind of = FailureKind::kFinal)  // NOLINT: implicit
      : status(std::move(failure)), kind(of) {}

  static Outcome Transient(Status failure) { return {std::move(failure), FailureKind::kTransient}; }
  static Outcome Uncertain(Status failure) { return {std::move(failure), FailureKind::kUncertain}; }

  bool ok() const { return status.ok(); }
  Outcome WithContext(std::string_view context) const {
    return {status.WithContext(context), kind};
  }

  Status status;
  FailureKind kind = FailureKind::kFinal;
};

// Of a call of NodeStageVolume, NodePublishVolume or NodeGetCapabilities.
Outcome OutcomeOfCall(Status status);

}  // namespace csinative::volumemanager
