// SPDX-License-Identifier: Apache-2.0
//
// Filesystem volumes, and what both kinds share. Block volumes: block_backend.cc.
#include "cmd/volumemanager/volume_backend.h"

#include <utility>

#include "apis/core/v1/secret.pb.h"
#include "lib/async/timeout.h"
#include "lib/base/strings.h"
#include "lib/csi/calls.h"
#include "lib/csi/identity.h"
#include "lib/mount/ownership.h"
#include "lib/mount/tree.h"
#include "lib/mount/volume_data.h"

namespace csinative::volumemanager {

using ::csi::v1::NodePublishVolumeRequest;
using ::csi::v1::NodeStageVolumeRequest;
using ::csi::v1::NodeUnpublishVolumeRequest;
using ::csi::v1::NodeUnstageVolumeRequest;

template <typename Request>
async::Task<Status> VolumeBackend::Call(std::shared_ptr<rpc::Channel> channel, Request request) {
  auto answer = co_await csi::Call<Request>(*channel, std::move(request));
  co_return answer.status();
}
template async::Task<Status> VolumeBackend::Call(std::shared_ptr<rpc::Channel>,
                                                 NodeStageVolumeRequest);
template async::Task<Status> VolumeBackend::Call(std::shared_ptr<rpc::Channel>,
                                                 NodePublishVolumeRequest);
template async::Task<Status> VolumeBackend::Call(std::shared_ptr<rpc::Channel>,
                                                 NodeUnpublishVolumeRequest);
template async::Task<Status> VolumeBackend::Call(std::shared_ptr<rpc::Channel>,
                                                 NodeUnstageVolumeRequest);

async::Task<Outcome> VolumeBackend::Open(std::string name, const char* context, Driver* driver) {
  auto channel = deps_.drivers->Find(name);
  if (!channel.ok()) co_return Outcome::Transient(channel.status().WithContext(context));
  driver->channel = *std::move(channel);
  auto capabilities = co_await csi::GetNodeCapabilities(*driver->channel);
  if (!capabilities.ok()) {
    Outcome failed = OutcomeOfCall(capabilities.status());
    // Differs: upstream takes it for the end of what an earlier attempt may have done.
    if (failed.kind == FailureKind::kFinal) failed.kind = FailureKind::kTransient;
    co_return failed;
  }
  driver->features = FeaturesOf(*capabilities);
  co_return Outcome();
}

async::Task<Result<SecretData>> VolumeBackend::ReadSecret(std::optional<kube::ObjectName> name,
                                                          const char* reference) {
  SecretData data;
  if (!name) co_return std::move(data);
  auto secret = co_await deps_.client->Get<core::Secret>(*name);
  if (!secret.ok()) {
    co_return secret.status().WithContext(
        StrCat("fetching ", reference, " ", name->ns, "/", name->name,
               " failed: kubernetes.io/csi: failed to find the secret ", name->name,
               " in the namespace ", name->ns, " with error"));
  }
  for (auto& entry : *secret->mutable_data()) {
    data[entry.key()] = Secret(std::move(*entry.mutable_value()));
  }
  co_return std::move(data);
}

async::Task<Status> VolumeBackend::RemoveDirectory(std::string directory, const char* leaf) {
  co_return co_await OnDisk([directory = std::move(directory), leaf](mount::FileSystem& fs) {
    return mount::RemoveVolumeDirectory(fs, directory, leaf);
  });
}

// Differs: upstream takes the driver at its word, and forgets what an earlier attempt has mounted
// whose answer was lost.
async::Task<Outcome> VolumeBackend::CleanUp(Outcome failure, std::string directory,
                                            const char* leaf) {
  const std::string path = StrCat(directory, "/", leaf);
  const auto mounted =
      co_await OnDisk([path](mount::FileSystem& fs) { return fs.IsMountPoint(path); });
  if (mounted.ok() ? *mounted : !mount::IsMissing(mounted.status())) {
    co_return Outcome::Uncertain(failure.status);
  }
  Status removed = co_await RemoveDirectory(directory, leaf);
  if (!removed.ok()) {
    deps_.log.Error(removed, "Failed to remove the directory of a volume", "path", directory);
    co_return Outcome::Uncertain(failure.status);
  }
  co_return failure;
}

// Differs: upstream repeats the call for ever, for a volume that was deleted while its node was
// down.
async::Task<Status> VolumeBackend::ForgiveIfGone(Status failure, std::string path) {
  if (failure.rpc_error() == nullptr ||
      static_cast<Code>(failure.rpc_error()->grpc_code) != Code::kNotFound) {
    co_return failure;
  }
  const auto mounted =
      co_await OnDisk([path](mount::FileSystem& fs) { return fs.IsMountPoint(path); });
  const bool nothing = mounted.ok() ? !*mounted : mount::IsMissing(mounted.status());
  if (!nothing) co_return failure;
  deps_.log.Info("The driver does not know the volume any more, and nothing is mounted", "path",
                 path, "answer", failure.message());
  co_return Status();
}

async::Task<Result<VolumeBackend::Attachment>> VolumeBackend::ReadAttachment(VolumeSpec spec) {
  const std::string name = AttachmentName(spec.handle, spec.driver, deps_.config.node);
  auto attachment = co_await deps_.client->Get<storage::VolumeAttachment>({"", name});
  if (!attachment.ok()) {
    co_return attachment.status().WithContext(
        StrCat("volume ", spec.handle, " has GET error for volume attachment ", name));
  }
  if (attachment->metadata().has_deletiontimestamp()) {
    co_return FailedPreconditionError("volume attachment is being deleted");
  }
  if (!attachment->status().attached()) {
    if (attachment->status().has_attacherror()) {
      co_return FailedPreconditionError(attachment->status().attacherror().message());
    }
    co_return FailedPreconditionError(
        StrCat("volume ", spec.handle, " is not attached for volume attachment ", name));
  }
  Attachment out;
  out.name = name;
  for (const auto& entry : attachment->status().attachmentmetadata()) {
    out.publish_context[entry.key()] = entry.value();
  }
  co_return std::move(out);
}

// --- mount device --------------------------------------------------------------------------------

async::Task<Outcome> VolumeBackend::MountDevice(VolumeSpec spec, PodFacts pod,
                                                StringMap publish_context) {
  co_return co_await async::WithTimeout(
      deps_.config.call_timeout,
      Stage(std::move(spec), std::move(pod), std::move(publish_context)));
}

async::Task<Outcome> VolumeBackend::Stage(VolumeSpec spec, PodFacts pod,
                                          StringMap publish_context) {
  Driver driver;
  Outcome opened = co_await Open(
      spec.driver, "kubernetes.io/csi: attacher.MountDevice failed to create newCsiDriverClient",
      &driver);
  if (!opened.ok()) co_return opened;
  // Differs: upstream makes the staging directory here too and never removes it.
  if (!driver.features.stage) co_return Outcome();
  RequestParts parts;
  parts.publish_context = std::move(publish_context);
  parts.mount_group = pod.fs_group;
  auto secrets = co_await ReadSecret(spec.stage_secret, "NodeStageSecretRef");
  if (!secrets.ok()) co_return Outcome::Transient(secrets.status());
  parts.secrets = *std::move(secrets);
  const std::string directory = paths_.Staged(spec.driver, spec.handle);
  const std::string staging = paths_.StagingTarget(spec.driver, spec.handle);
  Status prepared = co_await OnDisk(
      [directory, staging, data = StagedDataOf(spec)](mount::FileSystem& fs) -> Status {
        Status made = fs.MakeDirectories(staging, kDirectoryMode);
        if (!made.ok()) {
          return made.WithContext(StrCat(
              "kubernetes.io/csi: attacher.MountDevice failed to create dir \"", staging, "\""));
        }
        Status saved = mount::SaveVolumeData(fs, directory, data);
        if (saved.ok()) return saved;
        (void)mount::RemoveVolumeDirectory(fs, directory, kStagingLeaf);
        return saved.WithContext("kubernetes.io/csi: failed to save volume info data");
      });
  // There may be a directory to remove.
  if (!prepared.ok()) co_return Outcome::Uncertain(std::move(prepared));
  Outcome staged = OutcomeOfCall(co_await Call<NodeStageVolumeRequest>(
      driver.channel, StageRequest(spec, driver.features, staging, parts)));
  if (!staged.ok() && staged.kind == FailureKind::kFinal) {
    co_return co_await CleanUp(std::move(staged), directory, kStagingLeaf);
  }
  co_return staged;
}

// --- set up --------------------------------------------------------------------------------------

async::Task<Outcome> VolumeBackend::SetUp(VolumeSpec spec, PodFacts pod, StringMap publish_context,
                                          Previous previous) {
  co_return co_await async::WithTimeout(
      deps_.config.call_timeout,
      Publish(std::move(spec), std::move(pod), std::move(publish_context), previous));
}

async::Task<Outcome> VolumeBackend::Publish(VolumeSpec spec, PodFacts pod,
                                            StringMap publish_context, Previous previous) {
  const auto object = deps_.driver_object(spec.driver);
  const DriverTraits traits = TraitsOf(object);
  Driver driver;
  Outcome opened = co_await Open(
      spec.driver, "kubernetes.io/csi: mounter.SetUpAt failed to get CSI client", &driver);
  if (!opened.ok()) co_return opened;
  Status lifecycle = CheckLifecycle(spec, traits, object);
  if (!lifecycle.ok()) {
    co_return Outcome::Transient(
        lifecycle.WithMessage("kubernetes.io/csi: " + lifecycle.message()));
  }
  if (!traits.fs_group_policy) {
    co_return Outcome::Transient(FailedPreconditionError(StrCat(
        "kubernetes.io/csi: mounter.SetUpAt failed to check fsGroup policy: the CSIDriver object ",
        spec.driver, " has none")));
  }
  if (traits.wants_tokens) {
    co_return Outcome::Transient(UnimplementedError(
        StrCat("kubernetes.io/csi: the driver ", spec.driver,
               " asks for service account tokens, which this build does not provide yet")));
  }
  RequestParts parts;
  parts.publish_context = std::move(publish_context);
  parts.mount_group = pod.fs_group;
  auto secrets = co_await ReadSecret(spec.publish_secret, "NodePublishSecretRef");
  if (!secrets.ok()) co_return Outcome::Transient(secrets.status());
  parts.secrets = *std::move(secrets);
  const std::string directory = paths_.PodVolume(pod.uid, spec.name);
  const std::string target = paths_.PublishTarget(pod.uid, spec.name);
  Status prepared = co_await OnDisk([directory, data = DataOf(spec, deps_.config.node)](
                                        mount::FileSystem& fs) -> Status {
    Status made = fs.MakeDirectories(directory, kDirectoryMode);
    if (!made.ok()) {
      return made.WithContext(
          StrCat("kubernetes.io/csi: mounter.SetUpAt failed to create dir \"", directory, "\""));
    }
    Status saved = mount::SaveVolumeData(fs, directory, data);
    return saved.WithContext("kubernetes.io/csi: mounter.SetUpAt failed to save volume info data");
  });
  // Differs: a failed write during a remount leaves the directory of the running pod alone.
  if (!prepared.ok()) {
    if (previous == Previous::kNew) (void)co_await RemoveDirectory(directory, kMountLeaf);
    co_return Outcome::Transient(std::move(prepared));
  }
  const bool staged = driver.features.stage && spec.device_mountable();
  const std::string staging = staged ? paths_.StagingTarget(spec.driver, spec.handle) : "";
  const StringMap context = traits.pod_info ? PodInfo(pod, spec) : StringMap();
  Outcome published = OutcomeOfCall(co_await Call<NodePublishVolumeRequest>(
      driver.channel, PublishRequest(spec, driver.features, staging, target, context, parts)));
  if (!published.ok()) {
    if (published.kind == FailureKind::kFinal && previous == Previous::kNew) {
      co_return co_await CleanUp(std::move(published), directory, kMountLeaf);
    }
    co_return published;
  }
  if (driver.features.mount_group || !NeedsOwnership(spec, pod, *traits.fs_group_policy)) {
    co_return Outcome();
  }
  Status owned = co_await OnDisk(
      [target, options = mount::OwnershipOptions{*pod.fs_group, pod.change}](
          mount::FileSystem& fs) { return mount::SetVolumeOwnership(fs, target, options); });
  if (owned.ok()) co_return Outcome();
  co_return Outcome::Uncertain(
      owned.WithContext(StrCat("kubernetes.io/csi: applyFSGroup failed for vol ", spec.handle)));
}

// --- tear down -----------------------------------------------------------------------------------

async::Task<Outcome> VolumeBackend::TearDown(VolumeSpec spec, std::string pod_uid) {
  co_return co_await async::WithTimeout(deps_.config.call_timeout,
                                        Unpublish(std::move(spec), std::move(pod_uid)));
}

// Differs: driver and handle are remembered, and not read from vol_data.json again. With upstream a
// file that was lost meanwhile keeps the volume mounted and its pod terminating.
async::Task<Outcome> VolumeBackend::Unpublish(VolumeSpec spec, std::string pod_uid) {
  const std::string directory = paths_.PodVolume(pod_uid, spec.name);
  const std::string target = paths_.PublishTarget(pod_uid, spec.name);
  Status cleaned = co_await OnDisk(
      [subpaths = paths_.PodSubpaths(pod_uid, spec.name)](mount::FileSystem& fs) -> Status {
        const auto there = fs.Stat(subpaths);
        if (!there.ok() && mount::IsMissing(there.status())) return Status();
        CSI_RETURN_IF_ERROR(mount::UnmountAll(fs, subpaths));
        CSI_RETURN_IF_ERROR(mount::RemoveTree(fs, subpaths));
        (void)mount::RemoveEmptyDirectories(fs, mount::ParentOf(subpaths));
        return Status();
      });
  // Nothing was done to the volume itself.
  if (!cleaned.ok()) {
    co_return Outcome::Transient(cleaned.WithContext("error cleaning subPath mounts"));
  }
  auto channel = deps_.drivers->Find(spec.driver);
  if (!channel.ok()) {
    co_return Outcome::Transient(channel.status().WithContext(
        "kubernetes.io/csi: Unmounter.TearDownAt failed to get CSI client"));
  }
  NodeUnpublishVolumeRequest request;
  request.set_volume_id(spec.handle);
  request.set_target_path(target);
  Status unpublished = co_await Call<NodeUnpublishVolumeRequest>(*channel, std::move(request));
  if (!unpublished.ok()) unpublished = co_await ForgiveIfGone(std::move(unpublished), target);
  if (!unpublished.ok()) {
    co_return unpublished.WithContext("kubernetes.io/csi: Unmounter.TearDownAt failed");
  }
  Status removed = co_await RemoveDirectory(directory, kMountLeaf);
  co_return removed.WithContext(
      StrCat("kubernetes.io/csi: Unmounter.TearDownAt failed to clean mount dir [", target, "]"));
}

// --- unmount device ------------------------------------------------------------------------------

async::Task<Outcome> VolumeBackend::UnmountDevice(VolumeSpec spec) {
  co_return co_await async::WithTimeout(deps_.config.call_timeout, Unstage(std::move(spec)));
}

async::Task<Outcome> VolumeBackend::Unstage(VolumeSpec spec) {
  const std::string directory = paths_.Staged(spec.driver, spec.handle);
  const std::string staging = paths_.StagingTarget(spec.driver, spec.handle);
  // Whether something may be staged: a driver that does not stage has no data file.
  auto staged = co_await OnDisk([directory, staging](mount::FileSystem& fs) -> Result<bool> {
    const auto mounted = fs.IsMountPoint(staging);
    if (mounted.ok()) {
      CSI_ASSIGN_OR_RETURN(const mount::MountTable table, fs.ReadMountTable());
      const auto references = mount::MountReferences(table, staging);
      if (mount::HasForeignReference(staging, references)) {
        return FailedPreconditionError(
            StrCat("GetDeviceMountRefs check failed: the device mount path \"", staging,
                   "\" is still mounted by other references [", Join(references, " "), "]"));
      }
      if (*mounted) return true;
    }
    const auto data = fs.Stat(StrCat(directory, "/", mount::kVolumeDataFile));
    if (!data.ok() && !mount::IsMissing(data.status())) return data.status();
    return data.ok();
  });
  if (!staged.ok()) co_return staged.status();
  if (*staged) {
    Driver driver;
    Outcome opened = co_await Open(
        spec.driver,
        "kubernetes.io/csi: attacher.UnmountDevice failed to create newCsiDriverClient", &driver);
    if (!opened.ok()) co_return opened;
    if (driver.features.stage) {
      NodeUnstageVolumeRequest request;
      request.set_volume_id(spec.handle);
      request.set_staging_target_path(staging);
      Status unstaged = co_await Call<NodeUnstageVolumeRequest>(driver.channel, std::move(request));
      if (!unstaged.ok()) unstaged = co_await ForgiveIfGone(std::move(unstaged), staging);
      if (!unstaged.ok()) {
        co_return unstaged.WithContext("kubernetes.io/csi: attacher.UnmountDevice failed");
      }
    }
  }
  // Also what an attempt to do this has left.
  Status removed = co_await RemoveDirectory(directory, kStagingLeaf);
  co_return removed.WithContext(
      StrCat("kubernetes.io/csi: failed to clean up global mount ", staging));
}

}  // namespace csinative::volumemanager
