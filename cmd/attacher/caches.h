// SPDX-License-Identifier: Apache-2.0
//
// The informers of the attacher, each cut down to what is read (attacher 4.1). Loop only.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apis/core/v1/volume.pb.h"
#include "apis/namespaces.h"
#include "apis/storage/v1/storage.pb.h"
#include "cmd/attacher/recent_objects.h"
#include "lib/async/scope.h"
#include "lib/base/random.h"
#include "lib/kube/informer.h"
#include "lib/log/logger.h"

namespace csinative::attacher {

class Caches {
 public:
  struct Options {
    std::string driver;
    Duration resync{};
    // Differs: without calls to the driver volumes matter to nobody, so they are not watched.
    bool watch_volumes = true;
    // Whether Ours() will be asked for.
    bool list_ours = false;
  };

  // Borrowed: loop, random and client outlive the caches.
  Caches(async::EventLoop& loop, Random& random, kube::Client& client, log::Logger log,
         Options options);

  // For handlers. The last two are null when volumes are not watched.
  kube::Informer<storage::VolumeAttachment>& attachments() { return attachments_; }
  kube::Informer<core::PersistentVolume>* volumes() { return volumes_.get(); }
  kube::Informer<storage::CSINode>* csi_nodes() { return csi_nodes_.get(); }

  // The newest known copy. Attachments of other drivers have only names and resource version.
  std::optional<storage::VolumeAttachment> Attachment(const std::string& name) const {
    return recent_attachments_.Get(name);
  }
  // REQUIRES for this and CsiNode: volumes are watched.
  std::optional<core::PersistentVolume> Volume(const std::string& name) const {
    return recent_volumes_->Get(name);
  }
  // Only with the entry of this driver, if there is one.
  std::optional<storage::CSINode> CsiNode(const std::string& name) const {
    return csi_nodes_->Get(name);
  }
  // Whether a CSINode that is not in the cache is not there either.
  bool csi_nodes_known() const { return csi_nodes_ == nullptr || csi_nodes_->synced(); }
  // The names of the attachments of this driver. REQUIRES: options said so.
  std::vector<std::string> Ours() const;
  // Whether an attachment of any driver, in any state, names this volume.
  bool HasAttachmentOf(std::string_view volume) const;

  // What the API server answered to a patch of ours.
  void Remember(storage::VolumeAttachment written) {
    recent_attachments_.Remember(std::move(written));
  }
  void Remember(core::PersistentVolume written) { recent_volumes_->Remember(std::move(written)); }
  size_t remembered() const;

  // Starts all informers in the scope.
  void Start(async::Scope* scope);
  // Until all are filled; CSINodes only for a while longer than the others, for a detach that knows
  // its node id needs none. Differs: upstream does not wait for them and fails the first attach.
  async::Task<Status> WaitForSync();

  // For /debug: calls `visit` with each informer there is.
  template <typename Visit>
  void ForEachInformer(Visit visit) const {
    visit(attachments_);
    if (volumes_) visit(*volumes_);
    if (csi_nodes_) visit(*csi_nodes_);
  }

 private:
  const Options options_;
  kube::Informer<storage::VolumeAttachment> attachments_;
  RecentObjects<storage::VolumeAttachment> recent_attachments_;
  std::unique_ptr<kube::Informer<core::PersistentVolume>> volumes_;
  std::unique_ptr<RecentObjects<core::PersistentVolume>> recent_volumes_;
  std::unique_ptr<kube::Informer<storage::CSINode>> csi_nodes_;
};

}  // namespace csinative::attacher
