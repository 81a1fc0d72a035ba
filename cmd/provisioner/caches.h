// SPDX-License-Identifier: Apache-2.0
//
// The informers of the provisioner, each cut down to what is read (provisioner 4.1). Loop only.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apis/core/v1/node.pb.h"
#include "apis/core/v1/secret.pb.h"
#include "apis/core/v1/volume.pb.h"
#include "apis/gateway/v1beta1/gateway.pb.h"
#include "apis/storage/v1/storage.pb.h"
#include "cmd/provisioner/node_topology.h"
#include "cmd/provisioner/reference_grants.h"
#include "lib/async/scope.h"
#include "lib/base/random.h"
#include "lib/kube/informer.h"
#include "lib/log/logger.h"

namespace csinative::provisioner {

class Caches {
 public:
  struct Options {
    std::string driver;
    std::string hold_finalizer;
    bool watch_attachments = false;
    bool watch_nodes = false;
    bool index_clones = false;
    bool index_restores = false;
    bool watch_grants = false;
  };

  // Borrowed: loop, random and client outlive the caches.
  Caches(async::EventLoop& loop, Random& random, kube::Client& client, log::Logger log,
         Options options);

  kube::Informer<core::PersistentVolumeClaim>& claims() { return claims_; }
  kube::Informer<core::PersistentVolume>& volumes() { return volumes_; }
  kube::Informer<storage::StorageClass>& classes() { return classes_; }
  // Null when attachments are not watched.
  kube::Informer<storage::VolumeAttachment>* attachments() { return attachments_.get(); }
  // Null when nodes are not watched.
  const NodeTopology* node_topology() const { return node_topology_.get(); }

  // The claim that waits for a volume, or is held, under this UID, if exactly one does. Other bound
  // claims are not found: nobody asks for them by UID, and an index costs memory for each claim of
  // the cluster.
  std::optional<core::PersistentVolumeClaim> UnboundClaim(const std::string& uid) const;
  // Claims in phase Pending that are to be cloned from this one.
  std::vector<core::PersistentVolumeClaim> PendingClonesOf(std::string_view key) const;

  // Claims in phase Pending, or without a phase, that are to be filled from this snapshot.
  std::vector<core::PersistentVolumeClaim> PendingRestoresOf(std::string_view snapshot_key) const;
  // The ReferenceGrants of a namespace; nothing while they are not known, or not watched.
  std::optional<std::vector<gateway::ReferenceGrant>> GrantsIn(std::string_view ns) const;
  // The node of an attachment that names this volume, whatever its state; nothing when there is
  // none or attachments are not watched.
  std::optional<std::string> AttachedNode(std::string_view volume) const;

  // Starts all informers in the scope.
  void Start(async::Scope* scope);
  // Until all are filled. ReferenceGrants are not waited for: clusters may lack that kind.
  async::Task<Status> WaitForSync();

  // Calls `visit` with each informer there is.
  template <typename Visit>
  void ForEachInformer(Visit visit) const {
    visit(claims_);
    visit(volumes_);
    visit(classes_);
    if (attachments_) visit(*attachments_);
    if (nodes_) visit(*nodes_);
    if (csi_nodes_) visit(*csi_nodes_);
    if (grants_) visit(*grants_);
  }

 private:
  void AddGrants(async::EventLoop& loop, Random& random, kube::Client& client, log::Logger log);

  const Options options_;
  kube::Informer<core::PersistentVolumeClaim> claims_;
  kube::Informer<core::PersistentVolume> volumes_;
  kube::Informer<storage::StorageClass> classes_;
  std::unique_ptr<kube::Informer<storage::VolumeAttachment>> attachments_;
  std::unique_ptr<kube::Informer<core::Node>> nodes_;
  std::unique_ptr<kube::Informer<storage::CSINode>> csi_nodes_;
  std::unique_ptr<kube::Informer<gateway::ReferenceGrant>> grants_;
  std::unique_ptr<NodeTopology> node_topology_;
};

// What the caches keep of an object. Exposed for tests.
void PruneClaim(core::PersistentVolumeClaim* claim);
void PruneVolume(core::PersistentVolume* volume);

}  // namespace csinative::provisioner
