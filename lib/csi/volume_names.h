// SPDX-License-Identifier: Apache-2.0
//
// Names that kubelet, the attach-detach controller and their replacements derive from a volume,
// each on its own, and must agree on (volumecontroller 6.1, volumemanager-csi 2). Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace csinative::csi {

// Lower-case hexadecimal.
std::string Sha256Hex(std::string_view bytes);

// "csi-" and the digest of the three: the name of the VolumeAttachment.
std::string AttachmentName(std::string_view handle, std::string_view driver, std::string_view node);

// "kubernetes.io/csi/<driver>^<handle>", as in a node's status.
std::string UniqueVolumeName(std::string_view driver, std::string_view handle);

}  // namespace csinative::csi
