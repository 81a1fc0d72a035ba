// SPDX-License-Identifier: Apache-2.0
//
// What the driver can do, as far as provisioning asks (provisioner 3, step 15). Read once at start.
// Values.
#pragma once

#include <string>

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

}  // namespace csinative::provisioner
