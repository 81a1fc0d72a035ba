// SPDX-License-Identifier: Apache-2.0
#include "cmd/provisioner/metrics.h"

namespace csinative::provisioner {
namespace {

// prometheus/client_golang, DefBuckets.
constexpr double kBuckets[] = {.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10};

}  // namespace

ProvisionMetrics::ProvisionMetrics(metrics::Registry& registry)
    : provisioned_(registry.AddCounter(
          {.name = "controller_persistentvolumeclaim_provision_total",
           .help = "Number of volumes provisioned, by class of the claim and kind of its data "
                   "source.",
           .labels = {"class", "source"}})),
      provision_failed_(registry.AddCounter(
          {.name = "controller_persistentvolumeclaim_provision_failed_total",
           .help = "Number of attempts to provision a volume that failed or were given up, by "
                   "class of the claim and kind of its data source.",
           .labels = {"class", "source"}})),
      provision_seconds_(registry.AddHistogram(
          {.name = "controller_persistentvolumeclaim_provision_duration_seconds",
           .help = "Seconds that a successful attempt to provision a volume took, by class of the "
                   "claim and kind of its data source.",
           .labels = {"class", "source"}},
          kBuckets)),
      deleted_(registry.AddCounter({.name = "controller_persistentvolume_delete_total",
                                    .help = "Number of volumes deleted, by their class.",
                                    .labels = {"class"}})),
      delete_failed_(registry.AddCounter(
          {.name = "controller_persistentvolume_delete_failed_total",
           .help = "Number of failed attempts to delete a volume, by its class.",
           .labels = {"class"}})),
      delete_seconds_(registry.AddHistogram(
          {.name = "controller_persistentvolume_delete_duration_seconds",
           .help = "Seconds that a successful deletion of a volume took, by its class.",
           .labels = {"class"}},
          kBuckets)) {}

void ProvisionMetrics::Provisioned(const core::PersistentVolumeClaim& claim, Duration took) {
  const auto& spec = claim.spec();
  provisioned_.With({spec.storageclassname(), spec.datasource().kind()}).Add();
  provision_seconds_.With({spec.storageclassname(), spec.datasource().kind()}).Observe(took);
}

void ProvisionMetrics::ProvisionFailed(const core::PersistentVolumeClaim& claim) {
  const auto& spec = claim.spec();
  provision_failed_.With({spec.storageclassname(), spec.datasource().kind()}).Add();
}

void ProvisionMetrics::Deleted(const core::PersistentVolume& volume, Duration took) {
  deleted_.With({volume.spec().storageclassname()}).Add();
  delete_seconds_.With({volume.spec().storageclassname()}).Observe(took);
}

void ProvisionMetrics::DeleteFailed(const core::PersistentVolume& volume) {
  delete_failed_.With({volume.spec().storageclassname()}).Add();
}

}  // namespace csinative::provisioner
