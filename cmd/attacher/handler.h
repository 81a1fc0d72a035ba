// SPDX-License-Identifier: Apache-2.0
//
// What is done about an attachment or a volume; which of the two kinds serves a driver is decided
// once, at start (attacher 3, step 17). Loop only.
#pragma once

#include <string>

#include "apis/core/v1/volume.pb.h"
#include "apis/namespaces.h"
#include "apis/storage/v1/storage.pb.h"
#include "lib/async/task.h"
#include "lib/base/result.h"

namespace csinative::attacher {

class Handler {
 public:
  virtual ~Handler() = default;
  // Ok: nothing more to do until the object changes. A failure: again after a back-off.
  // The attachment is one of this driver.
  virtual async::Task<Status> SyncAttachment(storage::VolumeAttachment attachment) = 0;
  virtual async::Task<Status> SyncVolume(core::PersistentVolume volume) = 0;

  // The next sync of this attachment does its work even where the status says that it is done: the
  // driver said otherwise (attacher 11a).
  virtual void Force(const std::string& attachment) = 0;
  // The attachment is no longer there.
  virtual void Gone(const storage::VolumeAttachment& attachment) = 0;
};

}  // namespace csinative::attacher
