// SPDX-License-Identifier: Apache-2.0
//
// Rows for what changes in the API.
#include "lib/base/strings.h"
#include "test/support/demo/demo.h"

namespace csinative::demo {
namespace {

std::string Short(const std::string& name, size_t length) {
  return name.size() <= length ? name : name.substr(0, length) + "…";
}

}  // namespace

void Demo::Watch() {
  WatchClaims();
  WatchVolumes();
  WatchAttachments();
  WatchNode();
}

void Demo::WatchClaims() {
  using Claim = core::PersistentVolumeClaim;
  const auto row = [this](const Claim& claim, const std::string& what) {
    narrator_.Row("API", StrCat("PersistentVolumeClaim ", claim.metadata().name()), what);
  };
  caches_->claims.AddHandler(
      {.on_add = [row](const Claim& claim,
                       kube::AddKind) { row(claim, StrCat("is ", claim.status().phase())); },
       .on_update =
           [row](const Claim& before, const Claim& claim) {
             if (claim.metadata().has_deletiontimestamp() &&
                 !before.metadata().has_deletiontimestamp()) {
               row(claim, "is to be deleted");
             } else if (claim.status().phase() != before.status().phase()) {
               row(claim, StrCat("is ", claim.status().phase(), " to ",
                                 Short(claim.spec().volumename(), 20)));
             }
           },
       .on_delete = [row](const Claim& claim) { row(claim, "is gone"); }});
}

void Demo::WatchVolumes() {
  using Volume = core::PersistentVolume;
  const auto row = [this](const Volume& volume, const std::string& what) {
    narrator_.Row("API", StrCat("PersistentVolume ", Short(volume.metadata().name(), 20)), what);
  };
  caches_->volumes.AddHandler(
      {.on_add =
           [row](const Volume& volume, kube::AddKind) {
             row(volume,
                 StrCat("is created, handle ",
                        Short(volume.spec().persistentvolumesource().csi().volumehandle(), 40)));
           },
       .on_update =
           [row](const Volume& before, const Volume& volume) {
             if (volume.status().phase() != before.status().phase()) {
               row(volume, StrCat("is ", volume.status().phase()));
             }
           },
       .on_delete = [row](const Volume& volume) { row(volume, "is gone"); }});
}

void Demo::WatchAttachments() {
  using Attachment = storage::VolumeAttachment;
  const auto row = [this](const Attachment& attachment, const std::string& what) {
    narrator_.Row("API", StrCat("VolumeAttachment ", Short(attachment.metadata().name(), 20)),
                  what);
  };
  caches_->attachments.AddHandler(
      {.on_add =
           [row](const Attachment& attachment, kube::AddKind) {
             row(attachment, StrCat("is created for ",
                                    Short(attachment.spec().source().persistentvolumename(), 20),
                                    " on ", attachment.spec().nodename()));
           },
       .on_update =
           [row](const Attachment& before, const Attachment& attachment) {
             if (attachment.status().attached() && !before.status().attached()) {
               row(attachment, "is attached");
             } else if (attachment.metadata().has_deletiontimestamp() &&
                        !before.metadata().has_deletiontimestamp()) {
               row(attachment, "is to be deleted");
             }
           },
       .on_delete = [row](const Attachment& attachment) { row(attachment, "is gone"); }});
}

void Demo::WatchNode() {
  const auto list = [](const core::Node& node) {
    std::set<std::string> in_use;
    for (const std::string& name : node.status().volumesinuse()) in_use.insert(name);
    return in_use;
  };
  caches_->nodes.AddHandler(
      {.on_update = [this, list](const core::Node& before, const core::Node& node) {
        const size_t used = list(node).size();
        if (list(before).size() != used) {
          narrator_.Row("API", StrCat("Node ", node.metadata().name()),
                        StrCat("has ", used, " volumes in use"));
        }
        if (before.status().volumesattached_size() != node.status().volumesattached_size()) {
          narrator_.Row("API", StrCat("Node ", node.metadata().name()),
                        StrCat("has ", node.status().volumesattached_size(), " volumes attached"));
        }
      }});
  csi_nodes_->AddHandler(
      {.on_add =
           [this](const storage::CSINode& node, kube::AddKind) {
             for (const auto& driver : node.spec().drivers()) {
               narrator_.Row("API", StrCat("CSINode ", node.metadata().name()),
                             StrCat("knows ", driver.name(), " as ", driver.nodeid()));
             }
           },
       .on_update =
           [this](const storage::CSINode& before, const storage::CSINode& node) {
             if (before.spec().drivers_size() == node.spec().drivers_size()) return;
             for (const auto& driver : node.spec().drivers()) {
               narrator_.Row("API", StrCat("CSINode ", node.metadata().name()),
                             StrCat("knows ", driver.name(), " as ", driver.nodeid()));
             }
           }});
}

}  // namespace csinative::demo
