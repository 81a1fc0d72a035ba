// SPDX-License-Identifier: Apache-2.0
//
// The flags of csi-volume-manager (volumemanager 20). Start-up only.
#pragma once

#include <cstdint>
#include <string>

#include "cmd/volumemanager/config.h"
#include "lib/base/clock.h"
#include "lib/base/status.h"
#include "lib/cli/auto_max_procs.h"
#include "lib/cli/common_flags.h"
#include "lib/cli/feature_gates.h"
#include "lib/cli/flag_set.h"

namespace csinative::volumemanager {

// SELinuxMount, CSIVolumeHealth, and the gates that are locked on.
cli::FeatureGates Gates();

struct Options {
  cli::LoggingFlags logging;
  cli::GateMap gates;

  bool version = false;
  std::string kubeconfig;
  std::string hostname_override;
  std::string root_dir = "/var/lib/kubelet";
  bool enable_controller_attach_detach = true;
  Duration sync_frequency = std::chrono::minutes(1);
  Duration node_status_update_frequency = std::chrono::seconds(10);
  int64_t kube_api_qps = 50;
  int64_t kube_api_burst = 100;
  int64_t event_qps = 50;
  int64_t event_burst = 100;
  std::string http_endpoint;
  std::string metrics_path = "/metrics";
  Duration terminating_settle_period = std::chrono::seconds(10);
  Duration force_deleted_pod_unmount_delay = std::chrono::seconds(30);
  bool manage_pod_dirs = true;
  int64_t max_concurrent_operations = 0;

  // Binds all flags to the members. `gates_known` and this outlive the parse.
  void Register(cli::FlagSet& flags, const cli::FeatureGates& gates_known,
                cli::AutoMaxProcs* auto_max_procs);

  // Fails for values that make no sense, naming the flag.
  Status Validate() const;

  // REQUIRES: Validate() is ok. `node` is the name of this Node.
  Config ToConfig(std::string node) const;
};

}  // namespace csinative::volumemanager
