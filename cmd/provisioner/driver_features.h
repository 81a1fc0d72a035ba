// SPDX-License-Identifier: Apache-2.0
//
// What the driver can do, as far as provisioning asks (provisioner 3, step 15). Read once at start.
// Values.
#pragma once

#include <string>

#include "lib/base/result.h"

namespace csinative::provisioner {

struct DriverFeatures {
  std::string name;
  // Plugin capabilities.
  bool controller_service = false;
  bool accessibility_constraints = false;
  // Controller capabilities.
  bool create_delete_volume = false;
  bool create_delete_snapshot = false;
  bool clone_volume = false;
  bool modify_volume = false;
  bool publish_unpublish_volume = false;
  bool single_node_multi_writer = false;
};

// What making and deleting volumes needs; the failure names the first capability that is missing.
inline Status CheckVolumeCapabilities(const DriverFeatures& features) {
  constexpr char kUnsupported[] = "CSI driver does not support dynamic provisioning: ";
  if (!features.controller_service) {
    return FailedPreconditionError(std::string(kUnsupported) +
                                   "plugin CONTROLLER_SERVICE capability is not reported");
  }
  if (!features.create_delete_volume) {
    return FailedPreconditionError(std::string(kUnsupported) +
                                   "controller CREATE_DELETE_VOLUME capability is not reported");
  }
  return Status();
}

}  // namespace csinative::provisioner
