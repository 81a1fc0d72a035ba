// SPDX-License-Identifier: Apache-2.0
//
// From a claim and its class to a created volume and the object that describes it: every step up
// to, not including, saving that object (provisioner 7). Loop only.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "apis/core/v1/volume.pb.h"
#include "apis/namespaces.h"
#include "apis/storage/v1/storage.pb.h"
#include "cmd/provisioner/caches.h"
#include "cmd/provisioner/claim_filter.h"
#include "cmd/provisioner/claim_hold.h"
#include "cmd/provisioner/config.h"
#include "cmd/provisioner/data_source.h"
#include "cmd/provisioner/driver_calls.h"
#include "cmd/provisioner/driver_features.h"
#include "cmd/provisioner/outcome.h"
#include "cmd/provisioner/persistent_volume.h"
#include "cmd/provisioner/secrets.h"
#include "cmd/provisioner/snapshot_restore.h"
#include "cmd/provisioner/topology_memory.h"
#include "lib/async/task.h"
#include "lib/base/random.h"
#include "lib/kube/client.h"
#include "lib/kube/event_recorder.h"
#include "lib/log/logger.h"

namespace csinative::provisioner {

// What the steps of an attempt hand to each other, and all that it takes to ask the driver once
// more: the request with its secrets, the class as it was. Has no formatter: it must not be logged.
struct Preparation;

// How an attempt ended.
struct ProvisionResult {
  enum class Kind {
    kVolume,   // the volume exists, *volume describes it
    kIgnored,  // not our business after all: no retry
    kFailed,
  };
  Kind kind = Kind::kFailed;
  ProvisionState state = ProvisionState::kFinished;
  Status status;  // why it was ignored or failed
  // Whether CreateVolume was called: if not, nothing new is known about the volume, whatever
  // `state` says.
  bool driver_asked = false;
  std::optional<core::PersistentVolume> volume;
  // The claim with the finalizer that this attempt has put on, if it has.
  std::optional<core::PersistentVolumeClaim> held_claim;
  // For Ask(), when the driver may still create the volume.
  std::shared_ptr<const Preparation> preparation;

  static ProvisionResult Failed(ProvisionState state, Status status) {
    ProvisionResult result;
    result.state = state;
    result.status = std::move(status);
    return result;
  }
  static ProvisionResult Ignored(Status status) {
    ProvisionResult result = Failed(ProvisionState::kFinished, std::move(status));
    result.kind = Kind::kIgnored;
    return result;
  }
};

class Provisioner {
 public:
  // Borrowed parts outlive the provisioner.
  struct Deps {
    Random* random;
    kube::Client* client;
    Caches* caches;
    DriverCalls* driver;
    kube::EventRecorder events;  // source "external-provisioner"
    log::Logger log;
    DriverNames names;
    DriverFeatures features;
    ProvisionConfig config;
    std::string identity;  // for the volume attributes
    ClaimHold* hold;
    // Whether a claim other than the one with this UID is, or may be, filled from the snapshot.
    std::function<bool(const std::string& snapshot_key, const std::string& claim_uid)>
        needed_by_others;
  };
  explicit Provisioner(Deps deps)
      : deps_(std::move(deps)),
        snapshots_(deps_.client, deps_.log,
                   deps_.config.prevent_mode_conversion ? ModeConversion::kNeedsPermission
                                                        : ModeConversion::kFree) {}

  // One attempt. `selected_node` is empty when there is none.
  async::Task<ProvisionResult> Provision(core::PersistentVolumeClaim claim,
                                         storage::StorageClass klass, std::string selected_node);
  // Asks the driver, after Provision() once more and byte for byte the same. Reads nothing of the
  // cluster, so that it works when claim, class, secret and source are gone.
  async::Task<ProvisionResult> Ask(std::shared_ptr<const Preparation> attempt);
  // The claim is gone, and nothing is in progress for it.
  void Forget(const std::string& claim_uid) { memory_.Forget(claim_uid); }

  bool topology_supported() const {
    return deps_.features.accessibility_constraints && deps_.config.topology_gate;
  }
  const TopologyMemory& topology_memory() const { return memory_; }

 private:
  using Attempt = Preparation;

  // Steps 1, 3 to 13: everything that claim and class decide alone.
  std::optional<ProvisionResult> Plan(Attempt* attempt);
  Status PlanSource(Attempt* attempt) const;
  Status PlanClass(Attempt* attempt) const;
  Status PlanRequest(Attempt* attempt) const;
  Status CheckCapabilities(const Attempt& attempt) const;
  // Steps 14 to 22, which read the cluster.
  async::Task<std::optional<ProvisionResult>> Prepare(Attempt* attempt);
  async::Task<Status> PrepareClone(Attempt* attempt);
  async::Task<Status> PrepareSnapshot(Attempt* attempt);
  std::optional<ProvisionResult> PrepareTopology(Attempt* attempt);
  async::Task<std::optional<ProvisionResult>> PrepareSecrets(Attempt* attempt);
  async::Task<std::optional<ProvisionResult>> PrepareAttributes(Attempt* attempt);
  // Steps 23 and 24.
  async::Task<ProvisionResult> Create(const Attempt* attempt);
  bool IsReadOnly(const Attempt& attempt) const;
  // What is wrong with the driver's answer (provisioner 10.1).
  Status CheckVolume(const Attempt& attempt, const ::csi::v1::Volume& volume) const;
  core::PersistentVolume Describe(const Attempt& attempt, const ::csi::v1::Volume& volume) const;
  static ::csi::v1::DeleteVolumeRequest DeletionOf(const Attempt& attempt, std::string volume_id);
  // The volume cannot be described as one of the in-tree plugin: deletes it.
  async::Task<ProvisionResult> RejectTranslation(const Attempt* attempt, std::string volume_id,
                                                 Status why);
  // Deletes a volume that does not do; the claim is tried again.
  async::Task<ProvisionResult> RejectVolume(const Attempt* attempt, std::string volume_id,
                                            Status why);

  Deps deps_;
  SnapshotRestore snapshots_;
  TopologyMemory memory_;
};

}  // namespace csinative::provisioner
