// SPDX-License-Identifier: Apache-2.0
//
// <subsystem>_operations_seconds: one observation for each CSI call (common 9.1 to 9.3). A manager
// is a cheap copyable handle; children share the driver name with their parent. Loop only.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/metrics/registry.h"

namespace csinative::metrics {

class CsiOperations {
 public:
  struct Options {
    std::string subsystem = "csi_sidecar";         // drivers: "csi_plugin"; kubelet: "csi"
    std::string stability = "ALPHA";               // prefix of the help text
    std::vector<std::string> varying_labels = {};  // "migrated" for migrated drivers
    Labels fixed_labels = {};
  };

  // registry outlives the manager and all its copies. A manager with other labels (after migration
  // was detected) first needs Registry::RemoveFamily: what was recorded until then is lost, as it
  // is upstream.
  explicit CsiOperations(Registry& registry) : CsiOperations(registry, Options{}) {}
  CsiOperations(Registry& registry, Options options);

  // Applies to later records of this manager, its parents and children. "" restores
  // "unknown-driver".
  void SetDriverName(std::string_view name);
  const std::string& driver_name() const;

  // A manager with values for some of the varying labels; fails for a label that was not declared
  // or that has a value already. This manager does not change.
  Result<CsiOperations> WithLabelValues(const std::map<std::string, std::string>& values) const;

  // One finished call. method is the full path. migrated fills the label of that name where it is
  // declared and has no value yet.
  void Record(std::string_view method, const Status& status, Duration duration,
              bool migrated = false) const;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
  std::map<std::string, std::string> values_;
};

// The value of grpc_status_code for the outcome of a call.
std::string GrpcStatusCodeLabel(const Status& status);

}  // namespace csinative::metrics
