// SPDX-License-Identifier: Apache-2.0
//
// What the controllers of the volume manager are told. Value.
#pragma once

#include <string>

#include "lib/base/clock.h"

namespace csinative::volumemanager {

// Whether directories of pods are removed once the pod is gone (volumemanager 19.6).
enum class PodDirectoryPolicy { kLeave, kManage };

struct Config {
  std::string node;                       // name of this Node
  std::string root = "/var/lib/kubelet";  // clean and absolute

  // A pod whose volumes are fine is looked at again after this, and up to half as much more.
  Duration sync_period = std::chrono::minutes(1);
  // Safety net of the loops that events drive.
  Duration status_period = std::chrono::seconds(10);
  // How long a pod that is going away must stand still before no container of it can start any
  // more (volumemanager 19.3, rule 7).
  Duration settle = std::chrono::seconds(10);
  // Added to the grace time of a pod that vanished while its containers may run (rules 10, 11).
  // Zero: unmount at once.
  Duration force_delay = std::chrono::seconds(30);
  // All calls of one operation (volumemanager-csi 1).
  Duration call_timeout = std::chrono::minutes(2);
  PodDirectoryPolicy pod_directories = PodDirectoryPolicy::kManage;
  // Operations at one time; 0: no limit.
  int max_operations = 0;
};

}  // namespace csinative::volumemanager
