// SPDX-License-Identifier: Apache-2.0
//
// The requests of the node service, field by field (volumemanager-csi 5.2, 6, 7.2). Pure functions;
// any thread.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "cmd/volumemanager/volume_spec.h"
#include "lib/base/secret.h"
#include "lib/csi/capabilities.h"
#include "proto/csi/v1/csi.pb.h"

namespace csinative::volumemanager {

// What a driver's node service announces, as far as it matters here.
struct NodeFeatures {
  bool stage = false;
  bool mount_group = false;
  bool single_node_multi_writer = false;
};
NodeFeatures FeaturesOf(const csi::NodeCapabilities& capabilities);

// The first access mode decides; ReadWriteOnce where none is known.
::csi::v1::VolumeCapability::AccessMode::Mode AccessModeOf(const VolumeSpec& spec,
                                                           const NodeFeatures& features);

using StringMap = std::map<std::string, std::string>;
using SecretData = std::map<std::string, Secret>;

struct RequestParts {
  StringMap publish_context;
  SecretData secrets;
  std::optional<uint32_t> mount_group;  // for a driver that applies the pod's group itself
};

::csi::v1::NodeStageVolumeRequest StageRequest(const VolumeSpec& spec, const NodeFeatures& features,
                                               const std::string& staging_path,
                                               const RequestParts& parts);

// `context` is added to the volume's attributes. An empty staging path is left out.
::csi::v1::NodePublishVolumeRequest PublishRequest(
    const VolumeSpec& spec, const NodeFeatures& features, const std::string& staging_path,
    const std::string& target_path, const StringMap& context, const RequestParts& parts);

// csi.storage.k8s.io/pod.name and the like.
StringMap PodInfo(const PodFacts& pod, const VolumeSpec& spec);

}  // namespace csinative::volumemanager
