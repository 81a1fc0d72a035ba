// SPDX-License-Identifier: Apache-2.0
#include "cmd/volumecontroller/caches.h"

namespace csinative::volumecontroller {

Caches::Caches(async::EventLoop& loop, Random& random, kube::Client& client, log::Logger log)
    : claims(loop, random, client, log),
      volumes(loop, random, client, log),
      classes(loop, random, client, log),
      pods(loop, random, client, log),
      nodes(loop, random, client, log),
      attachments(loop, random, client, log),
      drivers(loop, random, client, log) {}

void Caches::Run(async::Scope* scope) {
  scope->Spawn(claims.Run());
  scope->Spawn(volumes.Run());
  scope->Spawn(classes.Run());
  scope->Spawn(pods.Run());
  scope->Spawn(nodes.Run());
  scope->Spawn(attachments.Run());
  scope->Spawn(drivers.Run());
}

async::Task<Status> Caches::WaitForSync() {
  CSI_CO_RETURN_IF_ERROR(co_await claims.WaitForSync());
  CSI_CO_RETURN_IF_ERROR(co_await volumes.WaitForSync());
  CSI_CO_RETURN_IF_ERROR(co_await classes.WaitForSync());
  CSI_CO_RETURN_IF_ERROR(co_await pods.WaitForSync());
  CSI_CO_RETURN_IF_ERROR(co_await nodes.WaitForSync());
  CSI_CO_RETURN_IF_ERROR(co_await attachments.WaitForSync());
  co_return co_await drivers.WaitForSync();
}

}  // namespace csinative::volumecontroller
