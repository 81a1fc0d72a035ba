// SPDX-License-Identifier: Apache-2.0
//
// The flags of csi-provisioner (provisioner 2). Start-up only.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cmd/provisioner/config.h"
#include "lib/base/clock.h"
#include "lib/cli/auto_max_procs.h"
#include "lib/cli/common_flags.h"
#include "lib/cli/feature_gates.h"
#include "lib/cli/flag_set.h"

namespace csinative::provisioner {

struct Options {
  cli::CommonFlags common;
  cli::LoggingFlags logging;
  cli::GateMap gates;

  std::string master;
  Duration timeout = std::chrono::seconds(10);
  std::string volume_name_prefix = "pvc";
  int64_t volume_name_uuid_length = -1;
  Duration retry_interval_start = std::chrono::seconds(1);
  Duration retry_interval_max = std::chrono::minutes(5);
  uint64_t worker_threads = 100;
  uint64_t cloning_protection_threads = 1;
  Duration snapshot_orphan_sweep_interval = std::chrono::minutes(5);
  std::string default_fstype;
  bool extra_create_metadata = false;
  bool controller_publish_readonly = false;
  bool prevent_volume_mode_conversion = true;
  bool hold_claims = false;
  bool strict_topology = false;
  bool immediate_topology = true;
  bool node_deployment = false;
  bool node_deployment_immediate_binding = true;
  Duration node_deployment_base_delay = std::chrono::seconds(20);
  Duration node_deployment_max_delay = std::chrono::seconds(60);
  bool enable_capacity = false;
  uint64_t capacity_threads = 1;
  Duration capacity_poll_interval = std::chrono::minutes(1);
  bool capacity_for_immediate_binding = false;
  int64_t capacity_ownerref_level = 1;
  float kube_api_capacity_qps = 1;
  int64_t kube_api_capacity_burst = 5;
  bool enable_pprof = false;

  // Binds all flags to the members. `gates_known` and this outlive the parse.
  void Register(cli::FlagSet& flags, const cli::FeatureGates& gates_known,
                cli::AutoMaxProcs* auto_max_procs);

  // What the controllers are told. Gates have been applied.
  ProvisionConfig ToConfig(const cli::FeatureGates& gates) const;

  // Flags that were given but have no effect in this build, for a warning at start.
  std::vector<std::string> WithoutEffect() const;
  // Flags whose purpose would silently be missed: the process must not run with them.
  std::vector<std::string> Unsupported() const;
};

}  // namespace csinative::provisioner
