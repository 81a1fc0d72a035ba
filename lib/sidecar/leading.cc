// SPDX-License-Identifier: Apache-2.0
#include "lib/sidecar/leading.h"

#include <utility>

#include "lib/sidecar/graceful.h"

namespace csinative::sidecar {

async::Task<int> RunAsLeader(RealProcess* process, Election* election, Ending ending,
                             std::function<async::Task<void>()> lead) {
  async::Task<void> work = election == nullptr ? lead() : election->Run(lead);
  if (ending == Ending::kAtSignal) {
    co_await RunUntilSignal(process, std::move(work));
  } else {
    co_await std::move(work);
  }
  co_return election == nullptr ? 0 : 1;
}

Result<MonotonicTime> CheckMayAct(const Election* election) {
  if (election == nullptr) return MonotonicTime::max();
  return election->CheckMayAct();
}

}  // namespace csinative::sidecar
