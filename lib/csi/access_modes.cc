// SPDX-License-Identifier: Apache-2.0
#include "lib/csi/access_modes.h"

#include <algorithm>

#include "lib/base/strings.h"

namespace csinative::csi {

using Mode = ::csi::v1::VolumeCapability::AccessMode;

Result<Mode::Mode> ToCsiAccessMode(std::span<const std::string> modes,
                                   SingleNodeMultiWriter driver) {
  const auto has = [modes](std::string_view mode) {
    return std::find(modes.begin(), modes.end(), mode) != modes.end();
  };
  const bool capable = driver == SingleNodeMultiWriter::kYes;
  if (has("ReadWriteOncePod")) {
    const bool alone = std::all_of(modes.begin(), modes.end(), [](const std::string& mode) {
      return mode == "ReadWriteOncePod";
    });
    if (!alone) {
      return InvalidArgumentError(
          "Kubernetes does not support use of ReadWriteOncePod with other access modes on the "
          "same PersistentVolume");
    }
    return capable ? Mode::SINGLE_NODE_SINGLE_WRITER : Mode::SINGLE_NODE_WRITER;
  }
  if (has("ReadWriteMany")) return Mode::MULTI_NODE_MULTI_WRITER;
  if (has("ReadOnlyMany") && has("ReadWriteOnce")) {
    return InvalidArgumentError(
        "CSI does not support ReadOnlyMany and ReadWriteOnce on the same PersistentVolume");
  }
  if (has("ReadOnlyMany")) return Mode::MULTI_NODE_READER_ONLY;
  if (has("ReadWriteOnce")) {
    return capable ? Mode::SINGLE_NODE_MULTI_WRITER : Mode::SINGLE_NODE_WRITER;
  }
  return InvalidArgumentError("unsupported AccessMode combination: [" + Join(modes, " ") + "]");
}

}  // namespace csinative::csi
