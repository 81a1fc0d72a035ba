// SPDX-License-Identifier: Apache-2.0
//
// The exact patches of the attacher (attacher 9 and 10). Each is the difference between a known
// copy of the object and what is wanted; without one it is "{}". Pure functions; any thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "apis/core/v1/volume.pb.h"
#include "apis/namespaces.h"
#include "apis/storage/v1/storage.pb.h"
#include "lib/base/clock.h"
#include "lib/base/result.h"

namespace csinative::attacher {

// "external-attacher/" and the driver's name, sanitised: on attachments and volumes.
std::string FinalizerOf(std::string_view driver);

// JSON patches of a volume. REQUIRES for the first: the finalizer is absent. The second fails when
// it is.
std::string AddVolumeFinalizer(const meta::ObjectMeta& volume, std::string_view finalizer);
Result<std::string> RemoveVolumeFinalizer(const meta::ObjectMeta& volume,
                                          std::string_view finalizer);

// Merge patches of an attachment. The first puts finalizer and node id, as far as they are missing;
// nothing when both are there.
// Differs: a patch of finalizers names the resource version that it is made from. It replaces the
// whole list, so upstream's, made from an old copy, brings back what others have removed and takes
// away what they have added; here the API server answers with a conflict.
std::optional<std::string> PrepareAttachment(const meta::ObjectMeta& attachment,
                                             std::string_view finalizer, std::string_view node_id);
std::string RemoveAttachmentFinalizer(const meta::ObjectMeta& attachment,
                                      std::string_view finalizer);

// Merge patches of an attachment's status.
using PublishContext = std::map<std::string, std::string>;
std::string MarkAttached(const storage::VolumeAttachmentStatus& status,
                         const PublishContext& publish_context);
std::string MarkDetached(const storage::VolumeAttachmentStatus& status);

struct OperationError {
  enum class Kind { kAttach, kDetach } kind = Kind::kAttach;
  std::string message;
  WallTime time;
  std::optional<int> code;  // gRPC
  // The attachment counts as detached, too.
  bool no_longer_attached = false;
};
// Differs: the message is cut to what the API server takes; upstream's write fails and the user
// sees nothing.
std::string SaveError(const storage::VolumeAttachmentStatus& status, const OperationError& error);

}  // namespace csinative::attacher
