// SPDX-License-Identifier: Apache-2.0
#include "lib/sidecar/graceful.h"

#include <csignal>
#include <memory>
#include <utility>

#include "lib/async/scope.h"

namespace csinative::sidecar {

async::Task<void> RunUntilSignal(RealProcess* process, async::Task<void> work) {
  const async::TaskContext context = co_await async::CurrentContext();
  async::Scope scope(process->loop(), context.cancel);
  // The handler stays until the loop goes, longer than the scope.
  auto running = std::make_shared<async::Scope*>(&scope);
  auto asked = std::make_shared<bool>(false);
  process->real_loop().OnSignal({SIGTERM, SIGINT}, [process, running, asked](int) {
    if (std::exchange(*asked, true)) {
      process->Exit(1);
      return;
    }
    process->log().Info("Received a signal, stopping");
    if (*running != nullptr) (*running)->Cancel();
  });
  scope.Spawn(std::move(work));
  co_await scope.Join();
  *running = nullptr;
}

}  // namespace csinative::sidecar
