// SPDX-License-Identifier: Apache-2.0
#include "cmd/attacher/options.h"

#include <algorithm>
#include <limits>

namespace csinative::attacher {

void Options::Register(cli::FlagSet& flags, const cli::FeatureGates& gates_known,
                       cli::AutoMaxProcs* auto_max_procs) {
  common.Register(flags);
  logging.Register(flags, auto_max_procs);
  gates_known.RegisterFlag(flags, &gates);

  flags.DurationFlag("resync", &resync,
                     "Time after which all attachments are looked at again; 0 turns it off.");
  flags.DurationFlag("timeout", &timeout, "Time limit of each call to the CSI driver.");
  flags.DurationFlag("retry-interval-start", &retry_interval_start,
                     "Delay before the first retry of a failed operation. It doubles with each "
                     "failure up to retry-interval-max.");
  flags.DurationFlag("retry-interval-max", &retry_interval_max,
                     "Longest delay between two retries of an operation.");
  flags.UintFlag("worker-threads", &worker_threads,
                 "Number of attachments processed at the same time.");
  flags.IntFlag("max-entries", &max_entries,
                "Number of volumes asked for at once when published volumes are listed; 0 for no "
                "limit.");
  flags.StringFlag("default-fstype", &default_fstype,
                   "File system of volumes whose source names none.");
  flags.DurationFlag("reconcile-sync", &reconcile_sync,
                     "Pause between two comparisons of attachments with the driver's list of "
                     "published volumes.");
  flags.IntFlag("max-grpc-log-length", &max_grpc_log_length,
                "Longest response of the driver in the log; 0 or less for no limit.");
}

AttachConfig Options::ToConfig(const cli::FeatureGates& known) const {
  AttachConfig config;
  config.call_timeout = timeout;
  config.default_fs_type = default_fstype;
  config.error_codes = known.Enabled(cli::gate::kMutableCsiNodeAllocatableCount)
                           ? ErrorCodes::kSave
                           : ErrorCodes::kOmit;
  config.resync = resync;
  config.retry_start = retry_interval_start;
  config.retry_max = retry_interval_max;
  config.worker_threads =
      static_cast<int>(std::min<uint64_t>(worker_threads, std::numeric_limits<int>::max()));
  config.max_entries = static_cast<int32_t>(max_entries);  // as upstream: cut, not checked
  config.reconcile_sync = reconcile_sync;
  return config;
}

}  // namespace csinative::attacher
