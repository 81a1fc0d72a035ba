// SPDX-License-Identifier: Apache-2.0
#include "cmd/volumecontroller/volume_binder.h"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <utility>

#include "apis/core/v1/maps.h"
#include "apis/meta/v1/finalizers.h"
#include "cmd/volumecontroller/attach_detach.h"
#include "lib/kube/errors.h"

namespace csinative::volumecontroller {
namespace {

constexpr char kProvisioner[] = "volume.kubernetes.io/storage-provisioner";
constexpr char kBetaProvisioner[] = "volume.beta.kubernetes.io/storage-provisioner";
constexpr char kSelectedNode[] = "volume.kubernetes.io/selected-node";
constexpr char kBindCompleted[] = "pv.kubernetes.io/bind-completed";
constexpr char kBoundByController[] = "pv.kubernetes.io/bound-by-controller";
constexpr char kClaimProtection[] = "kubernetes.io/pvc-protection";
constexpr char kVolumeProtection[] = "kubernetes.io/pv-protection";

kube::WorkQueue::Options QueueOptions() {
  kube::WorkQueue::Options options;
  options.limiter = std::make_shared<kube::ExponentialLimiter>(std::chrono::milliseconds(50),
                                                               std::chrono::seconds(2));
  return options;
}

// A merge patch written by `fill(writer)` inside one object.
template <typename Fill>
std::string Json(Fill fill) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  writer.StartObject();
  fill(writer);
  writer.EndObject();
  return buffer.GetString();
}

template <typename Writer>
void Field(Writer& writer, const char* key, const std::string& value) {
  writer.Key(key);
  writer.String(value.c_str());
}

// The finalizers without one of them, conditional on the version that was seen.
template <typename Object>
std::string WithoutFinalizer(const Object& object, const std::string& finalizer) {
  return Json([&](auto& w) {
    w.Key("metadata");
    w.StartObject();
    Field(w, "resourceVersion", object.metadata().resourceversion());
    w.Key("finalizers");
    w.StartArray();
    for (const std::string& kept : object.metadata().finalizers()) {
      if (kept != finalizer) w.String(kept.c_str());
    }
    w.EndArray();
    w.EndObject();
  });
}

Status IgnoreNotFound(const Status& status) { return kube::IsNotFound(status) ? Status() : status; }

}  // namespace

VolumeBinder::VolumeBinder(async::EventLoop& loop, kube::Client& client, Caches& caches)
    : loop_(loop),
      client_(client),
      caches_(caches),
      claim_queue_(loop, QueueOptions()),
      volume_queue_(loop, QueueOptions()) {
  auto claim_changed = [this](const core::PersistentVolumeClaim& claim) {
    claim_queue_.Add(claim.metadata().namespace_() + "/" + claim.metadata().name());
    if (!claim.spec().volumename().empty()) volume_queue_.Add(claim.spec().volumename());
  };
  caches_.claims.AddHandler(
      {.on_add = [claim_changed](const auto& claim, kube::AddKind) { claim_changed(claim); },
       .on_update = [claim_changed](const auto&, const auto& claim) { claim_changed(claim); },
       .on_delete =
           [this, claim_changed](const core::PersistentVolumeClaim& claim) {
             claim_changed(claim);
             // One that was made for it too late is not named by it.
             caches_.volumes.ForEach([&](const core::PersistentVolume& volume) {
               if (volume.spec().claimref().uid() == claim.metadata().uid()) {
                 volume_queue_.Add(volume.metadata().name());
               }
               return true;
             });
           }});
  auto volume_changed = [this](const core::PersistentVolume& volume) {
    volume_queue_.Add(volume.metadata().name());
    const auto& claim = volume.spec().claimref();
    claim_queue_.Add(claim.namespace_() + "/" + claim.name());
  };
  caches_.volumes.AddHandler(
      {.on_add = [volume_changed](const auto& volume, kube::AddKind) { volume_changed(volume); },
       .on_update = [volume_changed](const auto&, const auto& volume) { volume_changed(volume); },
       .on_delete = volume_changed});
  // A pod that ends may have been the last user of a claim that is to go.
  auto pod_changed = [this](const core::Pod& pod) {
    for (const auto& volume : pod.spec().volumes()) {
      const std::string claim = volume.volumesource().persistentvolumeclaim().claimname();
      if (!claim.empty()) claim_queue_.Add(pod.metadata().namespace_() + "/" + claim);
    }
  };
  caches_.pods.AddHandler(
      {.on_update = [pod_changed](const auto&, const auto& pod) { pod_changed(pod); },
       .on_delete = pod_changed});
}

async::Task<void> VolumeBinder::Run() {
  async::TaskContext context = co_await async::CurrentContext();
  async::Scope scope(loop_, context.cancel);
  scope.Spawn(kube::RunWorkers(&claim_queue_, 4,
                               [this](std::string key) { return SyncClaim(std::move(key)); }));
  scope.Spawn(kube::RunWorkers(&volume_queue_, 4,
                               [this](std::string name) { return SyncVolume(std::move(name)); }));
  co_await scope.Join();
}

bool VolumeBinder::IsUsed(const core::PersistentVolumeClaim& claim) const {
  bool used = false;
  caches_.pods.ForEach([&](const core::Pod& pod) {
    if (pod.metadata().namespace_() != claim.metadata().namespace_() ||
        pod.spec().nodename().empty() || IsTerminated(pod)) {
      return true;
    }
    for (const auto& volume : pod.spec().volumes()) {
      used |= volume.volumesource().persistentvolumeclaim().claimname() == claim.metadata().name();
    }
    return !used;
  });
  return used;
}

async::Task<Status> VolumeBinder::SyncClaim(std::string key) {
  std::optional<core::PersistentVolumeClaim> claim = caches_.claims.Get(key);
  if (!claim) co_return Status();
  const kube::ObjectName name = kube::ObjectName::FromKey(key);

  if (claim->metadata().has_deletiontimestamp()) {
    if (!apis::HasFinalizer(claim->metadata(), kClaimProtection) || IsUsed(*claim))
      co_return Status();
    auto patched = co_await client_.Patch<core::PersistentVolumeClaim>(
        name, kube::PatchType::kMerge, WithoutFinalizer(*claim, kClaimProtection));
    co_return IgnoreNotFound(patched.status());
  }
  if (!claim->spec().volumename().empty()) {
    std::optional<core::PersistentVolume> volume = caches_.volumes.Get(claim->spec().volumename());
    if (!volume || claim->status().phase() == "Bound") co_return Status();
    co_return co_await Bind(*claim, *volume);
  }

  std::optional<core::PersistentVolume> mine;
  caches_.volumes.ForEach([&](const core::PersistentVolume& volume) {
    if (volume.spec().claimref().uid() == claim->metadata().uid()) mine = volume;
    return !mine.has_value();
  });
  if (mine) co_return co_await Bind(*claim, *mine);

  std::optional<storage::StorageClass> storage_class =
      caches_.classes.Get(claim->spec().storageclassname());
  if (!storage_class || apis::HasEntry(claim->metadata().annotations(), kProvisioner)) {
    co_return Status();
  }
  // With late binding the volume is asked for once a scheduler has chosen the node.
  if (storage_class->volumebindingmode() == "WaitForFirstConsumer" &&
      !apis::HasEntry(claim->metadata().annotations(), kSelectedNode)) {
    co_return Status();
  }
  auto patched = co_await client_.Patch<core::PersistentVolumeClaim>(
      name, kube::PatchType::kMerge, Json([&](auto& w) {
        w.Key("metadata");
        w.StartObject();
        w.Key("annotations");
        w.StartObject();
        Field(w, kProvisioner, storage_class->provisioner());
        Field(w, kBetaProvisioner, storage_class->provisioner());
        w.EndObject();
        w.EndObject();
      }));
  co_return IgnoreNotFound(patched.status());
}

async::Task<Status> VolumeBinder::Bind(core::PersistentVolumeClaim claim,
                                       core::PersistentVolume volume) {
  const kube::ObjectName name{claim.metadata().namespace_(), claim.metadata().name()};
  const std::string volume_name = volume.metadata().name();
  auto volume_bound = co_await client_.Patch<core::PersistentVolume>(
      kube::ObjectName{"", volume_name}, kube::PatchType::kMerge, R"({"status":{"phase":"Bound"}})",
      "status");
  if (!volume_bound.ok()) co_return volume_bound.status();
  auto claim_named = co_await client_.Patch<core::PersistentVolumeClaim>(
      name, kube::PatchType::kMerge, Json([&](auto& w) {
        w.Key("metadata");
        w.StartObject();
        w.Key("annotations");
        w.StartObject();
        Field(w, kBindCompleted, "yes");
        Field(w, kBoundByController, "yes");
        w.EndObject();
        w.EndObject();
        w.Key("spec");
        w.StartObject();
        Field(w, "volumeName", volume_name);
        w.EndObject();
      }));
  if (!claim_named.ok()) co_return claim_named.status();
  auto claim_bound = co_await client_.Patch<core::PersistentVolumeClaim>(
      name, kube::PatchType::kMerge, Json([&](auto& w) {
        w.Key("status");
        w.StartObject();
        Field(w, "phase", "Bound");
        w.Key("accessModes");
        w.StartArray();
        for (const std::string& mode : volume.spec().accessmodes()) w.String(mode.c_str());
        w.EndArray();
        w.Key("capacity");
        w.StartObject();
        for (const auto& entry : volume.spec().capacity()) {
          Field(w, entry.key().c_str(), entry.value().string());
        }
        w.EndObject();
        w.EndObject();
      }),
      "status");
  co_return claim_bound.status();
}

async::Task<Status> VolumeBinder::SyncVolume(std::string name) {
  std::optional<core::PersistentVolume> volume = caches_.volumes.Get(name);
  if (!volume) co_return Status();
  const auto& ref = volume->spec().claimref();
  std::optional<core::PersistentVolumeClaim> claim =
      caches_.claims.Get(ref.namespace_() + "/" + ref.name());
  const bool claimed = claim && claim->metadata().uid() == ref.uid();

  const std::string& phase = volume->status().phase();
  if (!claimed && !ref.uid().empty() && phase != "Released" && phase != "Failed") {
    // The cache may not have heard of the claim yet.
    auto live = co_await client_.Get<core::PersistentVolumeClaim>({ref.namespace_(), ref.name()});
    if (live.ok() && live->metadata().uid() == ref.uid()) co_return Status();
    if (!live.ok() && !kube::IsNotFound(live.status())) co_return live.status();
    auto released = co_await client_.Patch<core::PersistentVolume>(
        kube::ObjectName{"", name}, kube::PatchType::kMerge, R"({"status":{"phase":"Released"}})",
        "status");
    co_return IgnoreNotFound(released.status());
  }
  if (volume->metadata().has_deletiontimestamp() && volume->status().phase() != "Bound" &&
      apis::HasFinalizer(volume->metadata(), kVolumeProtection)) {
    auto patched = co_await client_.Patch<core::PersistentVolume>(
        kube::ObjectName{"", name}, kube::PatchType::kMerge,
        WithoutFinalizer(*volume, kVolumeProtection));
    co_return IgnoreNotFound(patched.status());
  }
  co_return Status();
}

}  // namespace csinative::volumecontroller
