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
#include "lib/mount/tree.h"
#include "lib/mount/volume_data.h"

namespace csinative::volumemanager {
namespace {

// volumemanager 14.4.
constexpr Duration kSlowWalk = std::chrono::seconds(30);

}  // namespace

using ::csi::v1::NodePublishVolumeRequest;
using ::csi::v1::NodeStageVolumeRequest;
using ::csi::v1::NodeUnpublishVolumeRequest;
using ::csi::v1::NodeUnstageVolumeRequest;

async::Task<MonotonicTime> VolumeBackend::CallLimit() {
  const async::TaskContext context = co_await async::CurrentContext();
  co_return context.loop->Now() + deps_.config.call_timeout;
}

template <typename Request>
async::Task<Status> VolumeBackend::Call(std::shared_ptr<rpc::Channel> channel, Request request,
                                        MonotonicTime limit) {
  auto answer =
      co_await async::WithDeadline(limit, csi::Call<Request>(*channel, std::move(request)));
  co_return answer.status();
}
template async::Task<Status> VolumeBackend::Call(std::shared_ptr<rpc::Channel>,
                                                 NodeStageVolumeRequest, MonotonicTime);
template async::Task<Status> VolumeBackend::Call(std::shared_ptr<rpc::Channel>,
                                                 NodePublishVolumeRequest, MonotonicTime);
template async::Task<Status> VolumeBackend::Call(std::shared_ptr<rpc::Channel>,
                                                 NodeUnpublishVolumeRequest, MonotonicTime);
template async::Task<Status> VolumeBackend::Call(std::shared_ptr<rpc::Channel>,
                                                 NodeUnstageVolumeRequest, MonotonicTime);

async::Task<Outcome> VolumeBackend::Open(std::string name, const char* context, MonotonicTime limit,
                                         Driver* driver) {
  auto channel = deps_.drivers->Find(name);
  if (!channel.ok()) co_return Outcome::Transient(channel.status().WithContext(context));
  driver->channel = *std::move(channel);
  auto capabilities =
      co_await async::WithDeadline(limit, csi::GetNodeCapabilities(*driver->channel));
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
                                                          const char* reference,
                                                          MonotonicTime limit) {
  SecretData data;
  if (!name) co_return std::move(data);
  auto secret = co_await async::WithDeadline(limit, deps_.client->Get<core::Secret>(*name));
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

// Differs: upstream takes the driver at its word and forgets the mount. Mounts of attempts whose
// answers were lost can lie on one another, and each call takes one off.
async::Task<Status> VolumeBackend::CheckUnmounted(std::string target) {
  const auto mounted =
      co_await OnDisk([target](mount::FileSystem& fs) { return fs.IsMountPoint(target); });
  if (!mounted.ok() || !*mounted) co_return Status();
  co_return FailedPreconditionError(
      StrCat("the driver says that the volume is unpublished, but [", target, "] is mounted"));
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
  const MonotonicTime limit = co_await CallLimit();
  // The data file is then all that is left of it.
  const bool keep = MaybeStagedBefore(spec);
  Driver driver;
  Outcome opened = co_await Open(
      spec.driver, "kubernetes.io/csi: attacher.MountDevice failed to create newCsiDriverClient",
      limit, &driver);
  if (!opened.ok()) co_return opened;
  // Differs: upstream makes the staging directory here too and never removes it.
  if (!driver.features.stage) co_return Outcome();
  RequestParts parts;
  parts.publish_context = std::move(publish_context);
  parts.mount_group = pod.fs_group;
  auto secrets = co_await ReadSecret(spec.stage_secret, "NodeStageSecretRef", limit);
  if (!secrets.ok()) co_return Outcome::Transient(secrets.status());
  parts.secrets = *std::move(secrets);
  const std::string directory = paths_.Staged(spec.driver, spec.handle);
  const std::string staging = paths_.StagingTarget(spec.driver, spec.handle);
  Status prepared = co_await OnDisk(
      [directory, staging, keep, data = StagedDataOf(spec)](mount::FileSystem& fs) -> Status {
        Status made = fs.MakeDirectories(staging, kDirectoryMode);
        if (!made.ok()) {
          return made.WithContext(StrCat(
              "kubernetes.io/csi: attacher.MountDevice failed to create dir \"", staging, "\""));
        }
        Status saved = mount::SaveVolumeData(fs, directory, data);
        if (saved.ok()) return saved;
        if (!keep) (void)mount::RemoveVolumeDirectory(fs, directory, kStagingLeaf);
        return saved.WithContext("kubernetes.io/csi: failed to save volume info data");
      });
  // There may be a directory to remove.
  if (!prepared.ok()) co_return Outcome::Uncertain(std::move(prepared));
  Outcome staged = OutcomeOfCall(co_await Call<NodeStageVolumeRequest>(
      driver.channel, StageRequest(spec, driver.features, staging, parts), limit));
  if (!staged.ok() && staged.kind == FailureKind::kFinal && !keep) {
    co_return co_await CleanUp(std::move(staged), directory, kStagingLeaf);
  }
  co_return staged;
}

// --- set up --------------------------------------------------------------------------------------

async::Task<Outcome> VolumeBackend::SetUp(VolumeSpec spec, PodFacts pod, StringMap publish_context,
                                          Previous previous) {
  const MonotonicTime limit = co_await CallLimit();
  const auto object = deps_.driver_object(spec.driver);
  const DriverTraits traits = TraitsOf(object);
  Driver driver;
  Outcome opened = co_await Open(
      spec.driver, "kubernetes.io/csi: mounter.SetUpAt failed to get CSI client", limit, &driver);
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
  auto secrets = co_await ReadSecret(spec.publish_secret, "NodePublishSecretRef", limit);
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
      driver.channel, PublishRequest(spec, driver.features, staging, target, context, parts),
      limit));
  if (!published.ok()) {
    if (published.kind == FailureKind::kFinal && previous == Previous::kNew) {
      co_return co_await CleanUp(std::move(published), directory, kMountLeaf);
    }
    co_return published;
  }
  if (driver.features.mount_group || !NeedsOwnership(spec, pod, *traits.fs_group_policy)) {
    co_return Outcome();
  }
  co_return co_await ApplyGroup(spec.handle, target, {*pod.fs_group, pod.change});
}

async::Task<Outcome> VolumeBackend::ApplyGroup(std::string handle, std::string target,
                                               mount::OwnershipOptions options) {
  Status turn = co_await walks_.Acquire();
  if (!turn.ok()) co_return Outcome::Uncertain(std::move(turn));
  const async::Permit permit(walks_);
  const async::TaskContext context = co_await async::CurrentContext();
  const async::ScopedTimer slow(*context.loop, context.loop->Now() + kSlowWalk, [this, &target] {
    deps_.log.Info("Giving a volume to its pod's group takes long, and the pod waits for it",
                   "path", target);
  });
  auto refused = co_await OnDisk([target, options](mount::FileSystem& fs) {
    return mount::SetVolumeOwnership(fs, target, options);
  });
  if (!refused.ok()) {
    co_return Outcome::Uncertain(refused.status().WithContext(
        StrCat("kubernetes.io/csi: applyFSGroup failed for vol ", handle)));
  }
  if (refused->entries != 0) {
    deps_.log.Error(refused->first, "Not all of the volume could be given to the pod's group",
                    "path", target, "fsGroup", options.gid, "entries", refused->entries);
  }
  co_return Outcome();
}

// --- tear down -----------------------------------------------------------------------------------

// Differs: driver and handle are remembered, and not read from vol_data.json again. With upstream a
// file that was lost meanwhile keeps the volume mounted and its pod terminating.
async::Task<Outcome> VolumeBackend::TearDown(VolumeSpec spec, std::string pod_uid) {
  const std::string directory = paths_.PodVolume(pod_uid, spec.name);
  const std::string target = paths_.PublishTarget(pod_uid, spec.name);
  Status cleaned = co_await OnDisk(
      [subpaths = paths_.PodSubpaths(pod_uid, spec.name)](mount::FileSystem& fs) -> Status {
        const auto there = fs.Stat(subpaths);
        if (!there.ok() && mount::IsMissing(there.status())) return Status();
        CSI_RETURN_IF_ERROR(mount::RemoveSubpaths(fs, subpaths));
        (void)mount::RemoveEmptyDirectories(fs, mount::ParentOf(subpaths));
        return Status();
      });
  // Nothing was done to the volume itself.
  if (!cleaned.ok()) {
    co_return Outcome::Transient(cleaned.WithContext("error cleaning subPath mounts"));
  }
  const MonotonicTime limit = co_await CallLimit();
  auto channel = deps_.drivers->Find(spec.driver);
  if (!channel.ok()) {
    co_return Outcome::Transient(channel.status().WithContext(
        "kubernetes.io/csi: Unmounter.TearDownAt failed to get CSI client"));
  }
  NodeUnpublishVolumeRequest request;
  request.set_volume_id(spec.handle);
  request.set_target_path(target);
  Status unpublished =
      co_await Call<NodeUnpublishVolumeRequest>(*channel, std::move(request), limit);
  if (unpublished.ok()) {
    unpublished = co_await CheckUnmounted(target);
  } else {
    unpublished = co_await ForgiveIfGone(std::move(unpublished), target);
  }
  if (!unpublished.ok()) {
    co_return unpublished.WithContext("kubernetes.io/csi: Unmounter.TearDownAt failed");
  }
  Status removed = co_await RemoveDirectory(directory, kMountLeaf);
  co_return removed.WithContext(
      StrCat("kubernetes.io/csi: Unmounter.TearDownAt failed to clean mount dir [", target, "]"));
}

// --- unmount device ------------------------------------------------------------------------------

async::Task<Outcome> VolumeBackend::UnmountDevice(VolumeSpec spec) {
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
  const MonotonicTime limit = co_await CallLimit();
  if (*staged) {
    Driver driver;
    Outcome opened = co_await Open(
        spec.driver,
        "kubernetes.io/csi: attacher.UnmountDevice failed to create newCsiDriverClient", limit,
        &driver);
    if (!opened.ok()) co_return opened;
    if (driver.features.stage) {
      NodeUnstageVolumeRequest request;
      request.set_volume_id(spec.handle);
      request.set_staging_target_path(staging);
      Status unstaged =
          co_await Call<NodeUnstageVolumeRequest>(driver.channel, std::move(request), limit);
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
