// SPDX-License-Identifier: Apache-2.0
#include "cmd/volumemanager/outcome.h"

#include "lib/csi/final_answer.h"

namespace csinative::volumemanager {

Outcome OutcomeOfCall(Status status) {
  if (status.ok()) return {};
  const FailureKind kind =
      csi::IsFinalAnswer(status) ? FailureKind::kFinal : FailureKind::kUncertain;
  return {std::move(status), kind};
}

}  // namespace csinative::volumemanager
