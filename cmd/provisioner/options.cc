// SPDX-License-Identifier: Apache-2.0
#include "cmd/provisioner/options.h"

#include <algorithm>
#include <limits>

namespace csinative::provisioner {
namespace {

int Limit(uint64_t threads) {
  return static_cast<int>(std::min<uint64_t>(threads, std::numeric_limits<int>::max()));
}

}  // namespace

void Options::Register(cli::FlagSet& flags, const cli::FeatureGates& gates_known,
                       cli::AutoMaxProcs* auto_max_procs) {
  common.Register(flags);
  logging.Register(flags, auto_max_procs);
  gates_known.RegisterFlag(flags, &gates);

  flags.StringFlag("master", &master, "Address of the API server; overrides the kubeconfig's.");
  flags.DurationFlag("timeout", &timeout, "Time limit of each call to the CSI driver.");
  flags.StringFlag("volume-name-prefix", &volume_name_prefix,
                   "What the name of a created volume starts with.");
  flags.IntFlag("volume-name-uuid-length", &volume_name_uuid_length,
                "Number of characters of the claim's UID in the name of a volume, without dashes; "
                "-1 takes all of it, with dashes.");
  flags.DurationFlag("retry-interval-start", &retry_interval_start,
                     "Delay before the first retry of a failed creation or deletion. It doubles "
                     "with each failure up to retry-interval-max.");
  flags.DurationFlag("retry-interval-max", &retry_interval_max,
                     "Longest delay between two retries of a creation or deletion.");
  flags.UintFlag("worker-threads", &worker_threads,
                 "Number of volumes created, and of volumes deleted, at the same time.");
  flags.UintFlag("cloning-protection-threads", &cloning_protection_threads,
                 "Number of clone sources released at the same time.");
  flags.DurationFlag("snapshot-orphan-sweep-interval", &snapshot_orphan_sweep_interval,
                     "Time between two searches for snapshots with a finalizer that no claim needs "
                     "any more; 0 turns them off.");
  flags.StringFlag("default-fstype", &default_fstype,
                   "File system of volumes whose class names none.");
  flags.BoolFlag("extra-create-metadata", &extra_create_metadata,
                 "Tell the driver names of claim and volume as parameters of CreateVolume.");
  flags.BoolFlag("controller-publish-readonly", &controller_publish_readonly,
                 "Mark the volume read-only when the claim's only access mode is ReadOnlyMany.");
  flags.BoolFlag("prevent-volume-mode-conversion", &prevent_volume_mode_conversion,
                 "Refuse to restore a snapshot into a volume of another mode without permission.");
  flags.BoolFlag("hold-claims", &hold_claims,
                 "Keep claims with a finalizer while the driver may be making their volumes, so "
                 "that none is lost when a claim is deleted while this program does not run. Costs "
                 "four requests for each claim.");
  flags.BoolFlag("strict-topology", &strict_topology,
                 "With late binding, offer the driver only the topology of the selected node.");
  flags.BoolFlag("immediate-topology", &immediate_topology,
                 "With immediate binding, offer the driver the topology of the whole cluster.");
  flags.BoolFlag("node-deployment", &node_deployment,
                 "Provision only for the node that this instance runs on (environment variable "
                 "NODE_NAME).");
  flags.BoolFlag("node-deployment-immediate-binding", &node_deployment_immediate_binding,
                 "With node-deployment, also take claims with immediate binding.");
  flags.DurationFlag("node-deployment-base-delay", &node_deployment_base_delay,
                     "With node-deployment, first delay before a claim with immediate binding is "
                     "taken.");
  flags.DurationFlag("node-deployment-max-delay", &node_deployment_max_delay,
                     "With node-deployment, longest delay before such a claim is taken.");
  flags.BoolFlag("enable-capacity", &enable_capacity, "Publish CSIStorageCapacity objects.");
  flags.UintFlag("capacity-threads", &capacity_threads,
                 "Number of capacity objects updated at the same time.");
  flags.DurationFlag("capacity-poll-interval", &capacity_poll_interval,
                     "How long capacity information may stay without being checked.");
  flags.BoolFlag("capacity-for-immediate-binding", &capacity_for_immediate_binding,
                 "Also publish capacity for classes with immediate binding.");
  flags.IntFlag("capacity-ownerref-level", &capacity_ownerref_level,
                "Number of owners between this pod and the owner of capacity objects; negative for "
                "no owner.");
  flags.FloatFlag("kube-api-capacity-qps", &kube_api_capacity_qps,
                  "Requests a second that capacity tracking may send to the API server.");
  flags.IntFlag("kube-api-capacity-burst", &kube_api_capacity_burst,
                "Requests that capacity tracking may send at once.");
  flags.BoolFlag("enable-pprof", &enable_pprof,
                 "Serve profiling paths at the HTTP endpoint, if there is one.");
}

ProvisionConfig Options::ToConfig(const cli::FeatureGates& gates) const {
  ProvisionConfig config;
  config.call_timeout = timeout;
  config.naming = {volume_name_prefix, volume_name_uuid_length};
  config.default_fs_type = default_fstype;
  config.extra_create_metadata = extra_create_metadata;
  config.publish_read_only = controller_publish_readonly;
  config.prevent_mode_conversion = prevent_volume_mode_conversion;
  config.hold_claims = hold_claims;
  config.topology = {strict_topology, immediate_topology};
  config.topology_gate = gates.Enabled(cli::gate::kTopology);
  config.attributes_class_gate = gates.Enabled(cli::gate::kVolumeAttributesClass);
  config.cross_namespace_gate = gates.Enabled(cli::gate::kCrossNamespaceVolumeDataSource);
  config.retry_start = retry_interval_start;
  config.retry_max = retry_interval_max;
  config.worker_threads = Limit(worker_threads);
  config.clone_threads = Limit(cloning_protection_threads);
  config.snapshot_sweep_interval = snapshot_orphan_sweep_interval;
  return config;
}

std::vector<std::string> Options::WithoutEffect() const {
  std::vector<std::string> flags;
  if (enable_capacity) flags.emplace_back("enable-capacity");
  return flags;
}

std::vector<std::string> Options::Unsupported() const {
  std::vector<std::string> flags;
  // Without the ownership protocol every node would provision every claim.
  if (node_deployment) flags.emplace_back("node-deployment");
  return flags;
}

}  // namespace csinative::provisioner
