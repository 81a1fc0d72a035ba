// SPDX-License-Identifier: Apache-2.0
//
// Kubernetes access modes to the one CSI access mode of a volume capability (common 13). Pure.
#pragma once

#include <span>
#include <string>

#include "lib/base/result.h"
#include "proto/csi/v1/csi.pb.h"

namespace csinative::csi {

enum class SingleNodeMultiWriter { kNo, kYes };

// Order and duplicates do not matter; the error's text reaches claims and attachments.
Result<::csi::v1::VolumeCapability::AccessMode::Mode> ToCsiAccessMode(
    std::span<const std::string> modes, SingleNodeMultiWriter driver);

}  // namespace csinative::csi
