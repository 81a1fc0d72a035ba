// SPDX-License-Identifier: Apache-2.0
//
// The flag sets that several executables share: the common set of the sidecars (common 3.1) and
// the logging flags of all programs (common 3.2). Register binds the members, so the object must
// outlive FlagSet::Parse. Start-up only.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/status.h"
#include "lib/cli/auto_max_procs.h"
#include "lib/cli/flag_set.h"
#include "lib/log/backend.h"
#include "lib/log/logger.h"

namespace csinative::cli {

using LabelMap = std::map<std::string, std::string>;

struct CommonFlags {
  bool version = false;
  std::string kubeconfig;                       // empty: in-cluster
  std::string csi_address = "/run/csi/socket";  // common 7.1
  bool leader_election = false;
  std::string leader_election_namespace;  // empty: common 11.2
  Duration leader_election_lease_duration = std::chrono::seconds(15);
  Duration leader_election_renew_deadline = std::chrono::seconds(10);
  Duration leader_election_retry_period = std::chrono::seconds(5);
  LabelMap leader_election_labels;
  // Not in upstream: a leader that loses the Lease starts anew in its process instead of ending it.
  bool leader_election_restart_in_place = false;
  double kube_api_qps = 5;  // narrowed to float by the client
  int64_t kube_api_burst = 10;
  std::string http_endpoint;    // empty: no listener
  std::string metrics_address;  // deprecated alias of the listener
  std::string metrics_path = "/metrics";

  // Which members a program offers; the snapshot-controller has fewer.
  struct Choice {
    bool csi_address = true;
    bool leader_election_labels = true;
    bool metrics_address = true;
  };
  void Register(FlagSet& flags) { Register(flags, Choice{}); }
  void Register(FlagSet& flags, Choice choice);

  // Fails when both listener flags are set (common 3.6).
  Status CheckListener() const;
  // The address to listen on, or "".
  const std::string& listen_address() const {
    return http_endpoint.empty() ? metrics_address : http_endpoint;
  }
};

struct LoggingFlags {
  std::string format = "text";
  Duration flush_frequency = std::chrono::seconds(5);  // no effect: output is unbuffered
  int verbosity = 0;
  std::vector<log::VmoduleRule> vmodule;
  bool text_split_stream = false;
  bool json_split_stream = false;
  bool text_info_buffer_size_set = false;  // a quantity other than zero was given
  bool json_info_buffer_size_set = false;

  // Also registers --automaxprocs when auto_max_procs is given (borrowed until Parse returns).
  void Register(FlagSet& flags, AutoMaxProcs* auto_max_procs);

  // The text after err= of an invalid configuration; several are joined as "[a, b]" (common 5.1).
  Status Validate() const;
  // Configures the backend. REQUIRES: Validate() is ok.
  void Apply(log::Backend& backend) const;
  // Validates and applies. On failure writes the one error record, still as text; the caller exits
  // with code 1.
  Status ValidateAndApply(const log::Logger& log) const;
};

// --leader-election-labels: merges "key:value,…" into labels. Fails on any malformed element.
Status MergeLabels(std::string_view text, LabelMap& labels);

// A Kubernetes quantity given to a flag that only distinguishes zero: whether it is not zero, or
// the reason why it is malformed (kube-client 19).
Result<bool> ParseNonZeroQuantity(std::string_view text);

}  // namespace csinative::cli
