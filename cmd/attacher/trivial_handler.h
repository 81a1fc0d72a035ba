// SPDX-License-Identifier: Apache-2.0
//
// For drivers that need no attach: every attachment is just marked attached (attacher 7.1). Loop
// only.
#pragma once

#include <string>
#include <utility>

#include "cmd/attacher/caches.h"
#include "cmd/attacher/handler.h"
#include "lib/kube/client.h"
#include "lib/log/logger.h"

namespace csinative::attacher {

class TrivialHandler final : public Handler {
 public:
  // Borrowed parts outlive the handler.
  TrivialHandler(kube::Client& client, Caches& caches, log::Logger log)
      : client_(client), caches_(caches), log_(std::move(log)) {}

  async::Task<Status> SyncAttachment(storage::VolumeAttachment attachment) override;
  async::Task<Status> SyncVolume(core::PersistentVolume) override { co_return Status(); }
  void Force(const std::string&) override {}
  void Gone(const storage::VolumeAttachment&) override {}

 private:
  kube::Client& client_;
  Caches& caches_;
  const log::Logger log_;
};

}  // namespace csinative::attacher
