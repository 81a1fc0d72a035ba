// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/lease_watch.h"

#include <optional>
#include <utility>

#include "apis/coordination/v1/coordination.pb.h"
#include "lib/async/sleep.h"
#include "lib/kube/codec.h"
#include "lib/kube/errors.h"
#include "lib/kube/request.h"

namespace csinative::kube {
namespace {

bool WillNotGoAway(const Status& failure) {
  return IsForbidden(failure) || IsNotFound(failure) || failure.code() == Code::kUnimplemented;
}

}  // namespace

async::Task<void> LeaseWatch::Run() {
  while (true) {
    const Status followed = co_await Follow();
    if (!(co_await async::CancellationStatus()).ok()) co_return;
    if (!followed.ok()) {
      config_.log.V(4).Info("Watch of the lease failed", "err", followed);
      if (WillNotGoAway(followed)) co_return;
    }
    if (!(co_await async::Sleep(config_.pause)).ok()) co_return;
  }
}

async::Task<Status> LeaseWatch::Follow() {
  QueryParameters query = {
      {"fieldSelector", "metadata.name=" + config_.lease.name},
      {"allowWatchBookmarks", "true"},
      {"resourceVersion", config_.version()},
  };
  AddWatch(query, *config_.random);
  CSI_CO_ASSIGN_OR_RETURN(std::unique_ptr<ApiStream> bytes,
                          co_await config_.client->OpenStream(&ResourceOf<coordination::Lease>(),
                                                              config_.lease.ns, std::move(query)));
  CSI_CO_ASSIGN_OR_RETURN(const std::unique_ptr<WatchStream> stream,
                          WatchStream::Create(*config_.loop, config_.log, std::move(bytes)));
  while (true) {
    CSI_CO_ASSIGN_OR_RETURN(const std::optional<WatchEvent> event, stream->Next());
    if (event) {
      CSI_CO_RETURN_IF_ERROR(Look(*event));
      continue;
    }
    CSI_CO_ASSIGN_OR_RETURN(const bool more, co_await stream->Fill());
    if (!more) co_return Status();
  }
}

Status LeaseWatch::Look(const WatchEvent& event) {
  if (event.type == WatchEventType::kBookmark) return Status();
  coordination::Lease lease;
  CSI_RETURN_IF_ERROR(DecodeObject(event.object, UnknownFields::kDrop, &lease));
  // A server that does not know the selector sends the others, too.
  if (lease.metadata().name() != config_.lease.name) return Status();
  if (event.type == WatchEventType::kDeleted || lease.spec().holderidentity().empty()) {
    config_.on_free();
  }
  return Status();
}

}  // namespace csinative::kube
