// SPDX-License-Identifier: Apache-2.0
//
// Settings of the provisioning controllers, from flags and feature gates. Values.
#pragma once

#include <cstdint>
#include <string>

#include "cmd/provisioner/accessibility.h"
#include "cmd/provisioner/create_request.h"
#include "lib/base/clock.h"

namespace csinative::provisioner {

struct ProvisionConfig {
  Duration call_timeout = std::chrono::seconds(10);  // of one CSI call
  VolumeNaming naming;
  std::string default_fs_type;
  bool extra_create_metadata = false;
  bool publish_read_only = false;       // --controller-publish-readonly
  bool prevent_mode_conversion = true;  // --prevent-volume-mode-conversion
  TopologyPolicy topology;
  bool hold_claims = false;  // --hold-claims

  // Feature gates.
  bool topology_gate = true;
  bool attributes_class_gate = true;
  bool cross_namespace_gate = false;

  // Queues (provisioner 4.2).
  Duration retry_start = std::chrono::seconds(1);
  Duration retry_max = std::chrono::minutes(5);
  int worker_threads = 100;
  int clone_threads = 1;
  Duration snapshot_sweep_interval = std::chrono::minutes(5);
};

}  // namespace csinative::provisioner
