// SPDX-License-Identifier: Apache-2.0
#include "test/sim/actors.h"

#include <algorithm>
#include <utility>

#include "apis/core/v1/maps.h"
#include "apis/core/v1/well_known.h"
#include "lib/async/sleep.h"
#include "lib/async/timeout.h"
#include "lib/base/json_string.h"
#include "lib/base/strings.h"
#include "lib/csi/volume_names.h"
#include "lib/kube/errors.h"
#include "proto/csi/v1/csi.pb.h"
#include "test/sim/programs.h"
#include "test/support/unlimited_client.h"

namespace csinative::sim {
namespace {

constexpr Duration kLook = std::chrono::seconds(1);
constexpr Duration kStay = std::chrono::minutes(5);
constexpr Duration kBriefly = std::chrono::seconds(3);
constexpr Duration kDriverLimit = std::chrono::minutes(2);

std::string Key(const std::string& name) { return StrCat(kUserNamespace, "/", name); }

std::vector<std::string> ClaimsOf(const core::Pod& pod) {
  std::vector<std::string> claims;
  for (const auto& volume : pod.spec().volumes()) {
    const auto& source = volume.volumesource().persistentvolumeclaim();
    if (!source.claimname().empty()) claims.push_back(source.claimname());
  }
  return claims;
}

}  // namespace

View::View(Surroundings& w, apiserver::ApiHandler& api, IncarnationPtr identity)
    : world(w),
      random(w.plan.NewStream()),
      transport(NewApiLink(w, api, std::move(identity), false)),
      client(testing::NewUnlimitedClient(w.loop, *random, *transport)),
      caches(w.loop, *random, *client, log::Logger()) {
  KeepInfos();
}

void View::KeepInfos() {
  const auto pod = [this](const core::Pod& object) {
    PodInfo info{object.metadata().uid(), object.spec().nodename(),
                 object.metadata().has_deletiontimestamp(), ClaimsOf(object),
                 !object.spec().containers().empty() &&
                     !object.spec().containers(0).volumedevices().empty()};
    pod_infos[Key(object.metadata().name())] = std::move(info);
  };
  pods.AddHandler(
      {.on_add = [pod](const auto& object, kube::AddKind) { pod(object); },
       .on_update = [pod](const auto&, const auto& object) { pod(object); },
       .on_delete =
           [this](const auto& object) { pod_infos.erase(Key(object.metadata().name())); }});
  const auto node = [this](const core::Node& object) {
    std::set<std::string>& volumes = reported[object.metadata().name()];
    volumes.clear();
    for (const auto& volume : object.status().volumesattached()) volumes.insert(volume.name());
  };
  nodes.AddHandler({.on_add = [node](const auto& object, kube::AddKind) { node(object); },
                    .on_update = [node](const auto&, const auto& object) { node(object); },
                    .on_delete = nullptr});
  const auto attachment = [this](const storage::VolumeAttachment& object) {
    if (object.status().attached()) {
      attached.insert(object.metadata().name());
    } else {
      attached.erase(object.metadata().name());
    }
  };
  attachments.AddHandler(
      {.on_add = [attachment](const auto& object, kube::AddKind) { attachment(object); },
       .on_update = [attachment](const auto&, const auto& object) { attachment(object); },
       .on_delete = [this](const auto& object) { attached.erase(object.metadata().name()); }});
}

void View::Run(async::Scope* scope) { caches.Run(scope); }

bool View::synced() const {
  return pods.synced() && claims.synced() && volumes.synced() && classes.synced() &&
         nodes.synced() && attachments.synced();
}

Scheduler::Scheduler(View& view, std::vector<std::string> nodes)
    : view_(view), nodes_(std::move(nodes)) {}

async::Task<void> Scheduler::Run() {
  while ((co_await async::Sleep(kLook)).ok()) {
    std::vector<std::pair<std::string, PodInfo>> waiting;
    for (const auto& [key, pod] : view_.pod_infos) {
      if (pod.node.empty() && !pod.deleting) waiting.emplace_back(key, pod);
    }
    for (auto& [key, pod] : waiting) co_await Place(key, std::move(pod));
  }
}

void Scheduler::set_usable(const std::string& node, bool usable) {
  std::erase(nodes_, node);
  if (usable) nodes_.push_back(node);
}

async::Task<void> Scheduler::Place(std::string key, PodInfo pod) {
  const std::string pod_name = kube::ObjectName::FromKey(key).name;
  std::string node = nodes_[view_.world.plan.Below(nodes_.size())];
  bool ready = true;
  for (const std::string& name : pod.claims) {
    const auto claim = view_.claims.Get(Key(name));
    if (!claim || claim->metadata().has_deletiontimestamp()) co_return;
    // Volumes can be reached from every node, whichever was chosen to make them.
    if (claim->status().phase() == "Bound") continue;
    const auto* chosen = apis::GetEntry(claim->metadata().annotations(), apis::kAnnSelectedNode);
    if (chosen != nullptr) node = *chosen;
    ready = false;
    const auto storage_class = view_.classes.Get(claim->spec().storageclassname());
    if (!storage_class || storage_class->volumebindingmode() != "WaitForFirstConsumer" ||
        chosen != nullptr) {
      continue;
    }
    (void)co_await view_.client->Patch<core::PersistentVolumeClaim>(
        {kUserNamespace, name}, kube::PatchType::kMerge,
        StrCat(R"({"metadata":{"annotations":{")", apis::kAnnSelectedNode, "\":\"", node, "\"}}}"));
  }
  if (!ready) co_return;
  kube::ApiRequest bind;
  bind.method = "POST";
  bind.path = StrCat("/api/v1/namespaces/", kUserNamespace, "/pods/", pod_name, "/binding");
  bind.accept = "application/json";
  bind.content_type = "application/json";
  bind.body = StrCat(R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":")", pod_name,
                     R"("},"target":{"kind":"Node","name":")", node, "\"}}");
  (void)co_await view_.transport->Do(std::move(bind));
}

Kubelet::Kubelet(View& view, Driver& driver, std::string node)
    : view_(view), node_(std::move(node)), pods_(std::make_unique<async::Scope>(view.world.loop)) {
  auto identity = std::make_shared<Incarnation>(view.world.scheduler, StrCat("kubelet-", node_));
  channel_ = NewDriverLink(view.world, driver, std::move(identity), node_);
}

async::Task<void> Kubelet::Run() {
  while ((co_await async::Sleep(kLook)).ok()) {
    std::vector<std::pair<std::string, std::string>> found;
    if (lost_) continue;
    for (const auto& [key, pod] : view_.pod_infos) {
      if (pod.node == node_) found.emplace_back(key, pod.uid);
    }
    for (auto& [key, uid] : found) {
      if (serving_.insert(uid).second) pods_->Spawn(Serve(key, uid));
    }
  }
  co_await pods_->Close();
}

void Kubelet::Lose() {
  lost_ = true;
  pods_->Cancel();
  ended_.push_back(std::move(pods_));
  pods_ = std::make_unique<async::Scope>(view_.world.loop);
}

void Kubelet::Return() {
  std::erase_if(ended_, [](const auto& scope) { return scope->size() == 0; });
  serving_.clear();
  in_use_.clear();
  lost_ = false;
  pods_->Spawn(ReportInUse());
}

void PodCollector::set_lost(const std::string& node, bool lost) {
  if (lost) {
    lost_.insert(node);
  } else {
    lost_.erase(node);
  }
}

async::Task<void> PodCollector::Run() {
  while ((co_await async::Sleep(std::chrono::seconds(20))).ok()) {
    std::vector<std::string> stranded;
    for (const auto& [key, pod] : view_.pod_infos) {
      if (lost_.count(pod.node) > 0) stranded.push_back(key);
    }
    for (const std::string& key : stranded) {
      kube::DeleteOptions now;
      now.grace_period_seconds = 0;
      (void)co_await view_.client->Delete<core::Pod>(kube::ObjectName::FromKey(key), now);
    }
  }
}

bool Kubelet::IsHere(const std::string& key, const std::string& uid) const {
  const auto pod = view_.pod_infos.find(key);
  return pod != view_.pod_infos.end() && pod->second.uid == uid && !pod->second.deleting;
}

async::Task<void> Kubelet::ReportInUse() {
  if (!(co_await reporting_.Acquire()).ok()) co_return;
  while (true) {
    std::vector<std::string> names;
    for (const auto& [unique, pods] : in_use_) names.push_back(JsonString(unique));
    auto patched = co_await view_.client->Patch<core::Node>(
        {"", node_}, kube::PatchType::kMerge,
        StrCat(R"({"status":{"volumesInUse":[)", Join(names, ","), "]}}"), "status");
    if (patched.ok() || !(co_await async::Sleep(kLook)).ok()) break;
  }
  reporting_.Release();
}

async::Task<bool> Kubelet::MountAll(std::string key, std::string uid, std::vector<Mount>* mounts) {
  if (!IsHere(key, uid)) co_return false;
  const std::vector<std::string> claims = view_.pod_infos[key].claims;
  for (const std::string& claim_name : claims) {
    const auto claim = view_.claims.Get(Key(claim_name));
    if (!claim) co_return false;
    const auto volume = view_.volumes.Get(claim->spec().volumename());
    if (!volume) co_return false;
    const auto& csi = volume->spec().persistentvolumesource().csi();
    Mount mount;
    mount.handle = csi.volumehandle();
    mount.unique = csi::UniqueVolumeName(csi.driver(), csi.volumehandle());
    mount.staging = StrCat("/plugins/", mount.handle, "/globalmount");
    mount.target = StrCat("/pods/", uid, "/volumes/", volume->metadata().name(), "/mount");
    mount.in_use = true;
    ++in_use_[mount.unique];
    co_await ReportInUse();
    mounts->push_back(mount);
    Mount& entry = mounts->back();

    ::csi::v1::VolumeCapability capability;
    capability.mutable_mount()->set_fs_type("ext4");
    capability.mutable_access_mode()->set_mode(
        ::csi::v1::VolumeCapability::AccessMode::SINGLE_NODE_WRITER);
    ::csi::v1::NodeStageVolumeRequest stage;
    stage.set_volume_id(mount.handle);
    stage.set_staging_target_path(mount.staging);
    *stage.mutable_volume_capability() = capability;
    ::csi::v1::NodePublishVolumeRequest publish;
    publish.set_volume_id(mount.handle);
    publish.set_staging_target_path(mount.staging);
    publish.set_target_path(mount.target);
    *publish.mutable_volume_capability() = capability;

    while (!entry.published) {
      if (!IsHere(key, uid)) co_return false;
      const std::string attachment_name = csi::AttachmentName(mount.handle, csi.driver(), node_);
      if (view_.reported[node_].count(mount.unique) > 0 &&
          view_.attached.count(attachment_name) > 0) {
        const auto attachment = view_.attachments.Get(attachment_name);
        auto* context = stage.mutable_publish_context();
        context->clear();
        for (const auto& item : attachment->status().attachmentmetadata()) {
          (*context)[item.key()] = item.value();
        }
        *publish.mutable_publish_context() = stage.publish_context();
        ::csi::v1::NodeStageVolumeResponse staged;
        entry.staged = true;  // whatever the answer: it has to be undone
        Status status = co_await async::WithTimeout(
            kDriverLimit, channel_->Call("/csi.v1.Node/NodeStageVolume", stage, &staged));
        if (status.ok()) {
          ::csi::v1::NodePublishVolumeResponse published;
          status = co_await async::WithTimeout(
              kDriverLimit, channel_->Call("/csi.v1.Node/NodePublishVolume", publish, &published));
          entry.published = status.ok();
        }
      }
      if (!entry.published && !(co_await async::Sleep(kLook)).ok()) co_return false;
    }
  }
  co_return true;
}

async::Task<void> Kubelet::UnmountAll(std::vector<Mount>* mounts) {
  for (Mount& mount : *mounts) {
    while (mount.staged) {
      ::csi::v1::NodeUnpublishVolumeRequest unpublish;
      unpublish.set_volume_id(mount.handle);
      unpublish.set_target_path(mount.target);
      ::csi::v1::NodeUnpublishVolumeResponse unpublished;
      Status status = co_await async::WithTimeout(
          kDriverLimit,
          channel_->Call("/csi.v1.Node/NodeUnpublishVolume", unpublish, &unpublished));
      // Another pod of this node may still use what is staged.
      if (status.ok() && in_use_[mount.unique] == 1) {
        ::csi::v1::NodeUnstageVolumeRequest unstage;
        unstage.set_volume_id(mount.handle);
        unstage.set_staging_target_path(mount.staging);
        ::csi::v1::NodeUnstageVolumeResponse unstaged;
        status = co_await async::WithTimeout(
            kDriverLimit, channel_->Call("/csi.v1.Node/NodeUnstageVolume", unstage, &unstaged));
      }
      if (status.ok()) {
        mount.staged = false;
      } else if (!(co_await async::Sleep(kLook)).ok()) {
        co_return;
      }
    }
    if (mount.in_use && --in_use_[mount.unique] == 0) in_use_.erase(mount.unique);
    mount.in_use = false;
  }
  co_await ReportInUse();
}

async::Task<void> Kubelet::Serve(std::string key, std::string uid) {
  std::vector<Mount> mounts;
  mounts.reserve(8);  // references to entries are held while mounting
  const kube::ObjectName name = kube::ObjectName::FromKey(key);
  const bool mounted = co_await MountAll(key, uid, &mounts);
  if (mounted) {
    (void)co_await view_.client->Patch<core::Pod>(
        kube::ObjectName(name), kube::PatchType::kMerge,
        R"({"status":{"phase":"Running","containerStatuses":[{"name":"c","image":"i","imageID":"",)"
        R"("ready":true,"restartCount":0,"state":{"running":{}}}]}})",
        "status");
  }
  while (IsHere(key, uid)) {
    if (!(co_await async::Sleep(kLook)).ok()) co_return;
  }
  if (!(co_await async::CancellationStatus()).ok()) co_return;
  (void)co_await view_.client->Patch<core::Pod>(
      kube::ObjectName(name), kube::PatchType::kMerge,
      R"({"status":{"containerStatuses":[{"name":"c","image":"i","imageID":"","ready":false,)"
      R"("restartCount":0,"state":{"terminated":{"exitCode":0}}}]}})",
      "status");
  co_await UnmountAll(&mounts);
  if (!(co_await async::CancellationStatus()).ok()) co_return;
  kube::DeleteOptions now;
  now.uid = uid;
  now.grace_period_seconds = 0;
  (void)co_await view_.client->Delete<core::Pod>(kube::ObjectName(name), now);
}

async::Task<bool> Users::CreatePod(std::string name, std::string claim, Mode mode) {
  core::Pod pod;
  pod.mutable_metadata()->set_name(name);
  pod.mutable_metadata()->set_namespace_(kUserNamespace);
  auto* container = pod.mutable_spec()->add_containers();
  container->set_name("c");
  container->set_image("i");
  if (mode == Mode::kBlock) {
    auto* device = container->add_volumedevices();
    device->set_name("v");
    device->set_devicepath("/dev/data");
  } else {
    auto* mount = container->add_volumemounts();
    mount->set_name("v");
    mount->set_mountpath("/data");
  }
  if (view_.world.plan.Unit() < habits_.group) {
    const uint64_t group = 1000 + view_.world.plan.Below(2);
    pod.mutable_spec()->mutable_securitycontext()->set_fsgroup(static_cast<int64_t>(group));
  }
  auto* volume = pod.mutable_spec()->add_volumes();
  volume->set_name("v");
  volume->mutable_volumesource()->mutable_persistentvolumeclaim()->set_claimname(claim);
  auto created = co_await view_.client->Create(std::move(pod));
  co_return created.ok();
}

async::Task<void> Users::DeletePod(std::string name) {
  kube::DeleteOptions options;
  if (view_.world.plan.Unit() < habits_.force_delete) options.grace_period_seconds = 0;
  (void)co_await view_.client->Delete<core::Pod>({kUserNamespace, name}, std::move(options));
}

async::Task<void> Users::SecondPod(std::string name, std::string claim, Mode mode) {
  FaultPlan& plan = view_.world.plan;
  (void)co_await async::Sleep(plan.Between(Duration::zero(), std::chrono::minutes(1)));
  if (!(co_await CreatePod(name, claim, mode))) co_return;
  (void)co_await async::Sleep(
      plan.Between(std::chrono::milliseconds(100), std::chrono::minutes(3)));
  co_await DeletePod(name);
  co_await WaitGone(&view_.pods, name);
}

template <typename T>
async::Task<void> Users::WaitGone(const kube::Informer<T>* informer, std::string name) {
  while (informer->Contains(Key(name))) {
    if (!(co_await async::Sleep(kLook)).ok()) co_return;
  }
}

namespace {

core::PersistentVolumeClaim NewClaim(const std::string& name, const std::string& class_name,
                                     const std::string& access_mode) {
  core::PersistentVolumeClaim claim;
  claim.mutable_metadata()->set_name(name);
  claim.mutable_metadata()->set_namespace_(kUserNamespace);
  claim.mutable_spec()->set_storageclassname(class_name);
  claim.mutable_spec()->add_accessmodes(access_mode);
  apis::MutableEntry(claim.mutable_spec()->mutable_resources()->mutable_requests(), "storage")
      ->set_string("1Gi");
  return claim;
}

constexpr int kInHaste = 6;

}  // namespace

async::Task<void> Users::OneInHaste(std::string name) {
  FaultPlan& plan = view_.world.plan;
  core::PersistentVolumeClaim claim =
      NewClaim(name, plan.Below(2) == 0 ? "immediate-delete" : "late-delete", "ReadWriteOnce");
  if (!(co_await view_.client->Create(std::move(claim))).ok()) co_return;
  if (co_await CreatePod(name, name, Mode::kFilesystem)) {
    (void)co_await async::Sleep(plan.Between(Duration::zero(), std::chrono::seconds(10)));
    co_await DeletePod(name);
  }
  (void)co_await async::Sleep(plan.Between(Duration::zero(), std::chrono::seconds(2)));
  (void)co_await view_.client->Delete<core::PersistentVolumeClaim>({kUserNamespace, name});
}

async::Task<void> Users::Haste(MonotonicTime when) {
  if (!(co_await async::Sleep(when - view_.world.loop.Now())).ok()) co_return;
  for (int i = 0; i < kInHaste; ++i) sets_.Spawn(OneInHaste(StrCat("haste-", next_++)));
}

async::Task<void> Users::OneSet(int number, MonotonicTime until) {
  FaultPlan& plan = view_.world.plan;
  const std::string name = StrCat("set-", number);
  const std::string class_name =
      StrCat(plan.Below(2) == 0 ? "immediate" : "late", plan.Below(8) == 0 ? "-retain" : "-delete");
  core::PersistentVolumeClaim claim =
      NewClaim(name, class_name, plan.Below(4) == 0 ? "ReadWriteMany" : "ReadWriteOnce");
  const Mode mode = plan.Unit() < habits_.block ? Mode::kBlock : Mode::kFilesystem;
  if (mode == Mode::kBlock) claim.mutable_spec()->set_volumemode("Block");
  if (!(co_await view_.client->Create(std::move(claim))).ok()) co_return;
  // A user who changes their mind while the volume is being made.
  if (plan.Unit() < habits_.fickle) {
    (void)co_await async::Sleep(plan.Between(Duration::zero(), std::chrono::seconds(2)));
    if (on_change_of_mind_) on_change_of_mind_();
    (void)co_await view_.client->Delete<core::PersistentVolumeClaim>({kUserNamespace, name});
    co_await WaitGone(&view_.claims, name);
    co_return;
  }
  if (plan.Unit() < habits_.second_pod) sets_.Spawn(SecondPod(StrCat(name, "-b"), name, mode));
  // The claim is used by one pod after another, as in a StatefulSet.
  const uint64_t pods = 1 + plan.Below(3);
  for (uint64_t i = 0; i < pods; ++i) {
    const bool created = co_await CreatePod(name, name, mode);
    if (created) {
      // One that fails at once goes while its volume is still being attached.
      const Duration longest = plan.Below(8) == 0 ? kBriefly : kStay;
      Duration stay = plan.Between(std::chrono::milliseconds(100), longest);
      if (habits_.long_stay > 0 && plan.Unit() < habits_.long_stay) {
        stay = std::min(plan.Between(std::chrono::minutes(20), std::chrono::minutes(40)),
                        until - view_.world.loop.Now());
      }
      (void)co_await async::Sleep(stay);
    }
    co_await DeletePod(name);
    // An administrator who deletes the volume that is in use.
    if (i + 1 == pods && plan.Below(8) == 0) {
      const auto bound = view_.claims.Get(Key(name));
      const auto volume = view_.volumes.Get(bound ? bound->spec().volumename() : "");
      if (volume && volume->spec().persistentvolumereclaimpolicy() == "Delete") {
        (void)co_await view_.client->Delete<core::PersistentVolume>(
            {"", volume->metadata().name()});
      }
    }
    if (i + 1 == pods && plan.Below(2) == 0) {
      // The claim goes while the pod still does.
      (void)co_await view_.client->Delete<core::PersistentVolumeClaim>({kUserNamespace, name});
    }
    co_await WaitGone(&view_.pods, name);
    if (view_.world.loop.Now() >= until) break;
  }
  (void)co_await view_.client->Delete<core::PersistentVolumeClaim>({kUserNamespace, name});
  co_await WaitGone(&view_.claims, name);
}

async::Task<void> Users::Run(int count, MonotonicTime until) {
  FaultPlan& plan = view_.world.plan;
  while (view_.world.loop.Now() < until) {
    if (sets_.size() < static_cast<size_t>(count)) sets_.Spawn(OneSet(next_++, until));
    if (!(co_await async::Sleep(plan.Between(std::chrono::seconds(15), std::chrono::seconds(130))))
             .ok()) {
      break;
    }
  }
  co_await sets_.Join();
}

}  // namespace csinative::sim
