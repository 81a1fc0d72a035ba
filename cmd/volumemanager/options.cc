// SPDX-License-Identifier: Apache-2.0
#include "cmd/volumemanager/options.h"

#include <limits>
#include <utility>

#include "lib/base/strings.h"
#include "lib/mount/file_system.h"

namespace csinative::volumemanager {
namespace {

using cli::Stage;

constexpr cli::Gate kGates[] = {
    {"CSIVolumeHealth", false, Stage::kAlpha},
    {"CSIServiceAccountTokenSecrets", true, Stage::kGa, true},
    {"MutableCSINodeAllocatableCount", true, Stage::kGa, true},
    {"RecoverVolumeExpansionFailure", true, Stage::kGa, true},
    {"SELinuxChangePolicy", true, Stage::kGa, true},
    {"SELinuxMount", false, Stage::kBeta},
    {"SELinuxMountReadWriteOncePod", true, Stage::kGa, true},
};

Status Bad(const char* flag, std::string_view why) {
  return InvalidArgumentError(StrCat("--", flag, " ", why));
}

Status CheckNotNegative(const char* flag, int64_t value) {
  return value < 0 ? Bad(flag, "must not be negative") : Status();
}

Status CheckPositive(const char* flag, Duration value) {
  return value <= Duration::zero() ? Bad(flag, "must be greater than zero") : Status();
}

}  // namespace

cli::FeatureGates Gates() { return cli::FeatureGates(kGates); }

void Options::Register(cli::FlagSet& flags, const cli::FeatureGates& gates_known,
                       cli::AutoMaxProcs* auto_max_procs) {
  logging.Register(flags, auto_max_procs);
  gates_known.RegisterFlag(flags, &gates);
  flags.BoolFlag("version", &version, "Print the version and exit.");
  flags.StringFlag("kubeconfig", &kubeconfig,
                   "File with address and credentials of the API server; empty: as a pod.");
  flags.StringFlag("hostname-override", &hostname_override,
                   "Name of this Node; empty: $NODE_NAME, or the host name in lower case.");
  flags.StringFlag("root-dir", &root_dir, "Folder for volumes and plugins.");
  flags.BoolFlag("enable-controller-attach-detach", &enable_controller_attach_detach,
                 "Volumes are attached by the control plane. CSI knows no other way, so only true "
                 "is accepted.");
  flags.DurationFlag("sync-frequency", &sync_frequency,
                     "Time after which a pod whose volumes are mounted is looked at again.");
  flags.DurationFlag("node-status-update-frequency", &node_status_update_frequency,
                     "Time after which the volumes in use are compared with the Node although "
                     "nothing has happened.");
  flags.IntFlag("kube-api-qps", &kube_api_qps, "Requests a second to the API server; 0: 5.");
  flags.IntFlag("kube-api-burst", &kube_api_burst, "Requests at once to the API server.");
  flags.IntFlag("event-qps", &event_qps, "Events a second; 0: 5.");
  flags.IntFlag("event-burst", &event_burst, "Events at once.");
  flags.StringFlag("http-endpoint", &http_endpoint,
                   "Address for metrics, like :8080; empty: no server.");
  flags.StringFlag("metrics-path", &metrics_path, "Path of the metrics.");
  flags.DurationFlag("terminating-settle-period", &terminating_settle_period,
                     "How long the status of a pod that is being deleted must not change before no "
                     "container of it can start any more. Only where the status does not say that "
                     "all have terminated.");
  flags.DurationFlag("force-deleted-pod-unmount-delay", &force_deleted_pod_unmount_delay,
                     "Added to the grace period of a pod that vanished while its containers might "
                     "run, before its volumes are unmounted. 0: unmount at once.");
  flags.BoolFlag("manage-pod-dirs", &manage_pod_dirs,
                 "Remove the empty directory of a pod that is gone, not only its volumes.");
  flags.IntFlag("max-concurrent-operations", &max_concurrent_operations,
                "Operations on volumes at one time; 0: no limit.");
}

Status Options::Validate() const {
  Status root = mount::CheckPath("/", root_dir);
  if (!root.ok() || root_dir == "/") {
    return Bad("root-dir", StrCat("must be a clean absolute path: \"", root_dir, "\""));
  }
  if (!enable_controller_attach_detach) {
    return Bad("enable-controller-attach-detach",
               "must be true: CSI volumes cannot be attached from the node");
  }
  CSI_RETURN_IF_ERROR(CheckPositive("sync-frequency", sync_frequency));
  CSI_RETURN_IF_ERROR(CheckPositive("node-status-update-frequency", node_status_update_frequency));
  CSI_RETURN_IF_ERROR(CheckNotNegative("kube-api-qps", kube_api_qps));
  CSI_RETURN_IF_ERROR(CheckNotNegative("kube-api-burst", kube_api_burst));
  CSI_RETURN_IF_ERROR(CheckNotNegative("event-qps", event_qps));
  CSI_RETURN_IF_ERROR(CheckNotNegative("event-burst", event_burst));
  CSI_RETURN_IF_ERROR(CheckNotNegative("max-concurrent-operations", max_concurrent_operations));
  CSI_RETURN_IF_ERROR(
      CheckNotNegative("terminating-settle-period", terminating_settle_period.count()));
  return CheckNotNegative("force-deleted-pod-unmount-delay",
                          force_deleted_pod_unmount_delay.count());
}

Config Options::ToConfig(std::string node) const {
  Config config;
  config.node = std::move(node);
  config.root = root_dir;
  config.sync_period = sync_frequency;
  config.status_period = node_status_update_frequency;
  config.settle = terminating_settle_period;
  config.force_delay = force_deleted_pod_unmount_delay;
  config.pod_directories =
      manage_pod_dirs ? PodDirectoryPolicy::kManage : PodDirectoryPolicy::kLeave;
  config.max_operations = static_cast<int>(
      std::min<int64_t>(max_concurrent_operations, std::numeric_limits<int>::max()));
  return config;
}

}  // namespace csinative::volumemanager
