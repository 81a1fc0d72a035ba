// SPDX-License-Identifier: Apache-2.0
//
// Counters and durations of provisioning and deletion (provisioner 18). Loop only.
#pragma once

#include "apis/core/v1/volume.pb.h"
#include "apis/namespaces.h"
#include "lib/base/clock.h"
#include "lib/metrics/registry.h"

namespace csinative::provisioner {

class ProvisionMetrics {
 public:
  // registry outlives this. Families appear with their first sample.
  explicit ProvisionMetrics(metrics::Registry& registry);

  void Provisioned(const core::PersistentVolumeClaim& claim, Duration took);
  void ProvisionFailed(const core::PersistentVolumeClaim& claim);
  void Deleted(const core::PersistentVolume& volume, Duration took);
  void DeleteFailed(const core::PersistentVolume& volume);

 private:
  metrics::CounterFamily& provisioned_;
  metrics::CounterFamily& provision_failed_;
  metrics::HistogramFamily& provision_seconds_;
  metrics::CounterFamily& deleted_;
  metrics::CounterFamily& delete_failed_;
  metrics::HistogramFamily& delete_seconds_;
};

}  // namespace csinative::provisioner
