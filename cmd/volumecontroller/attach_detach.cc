// SPDX-License-Identifier: Apache-2.0
#include "cmd/volumecontroller/attach_detach.h"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "lib/base/strings.h"
#include "lib/csi/volume_names.h"
#include "lib/kube/errors.h"

namespace csinative::volumecontroller {
namespace {

constexpr char kAll[] = "all";
// How often the original looks at everything (volumecontroller 6); here only after changes.
constexpr Duration kLoopPeriod = std::chrono::milliseconds(100);
// How long a volume in use on a node that is not ready stays attached (volumecontroller 6.8).
constexpr Duration kForceAfter = std::chrono::minutes(6);

kube::WorkQueue::Options QueueOptions() {
  kube::WorkQueue::Options options;
  options.limiter = std::make_shared<kube::ExponentialLimiter>(std::chrono::milliseconds(100),
                                                               std::chrono::seconds(10));
  return options;
}

bool IsReady(const core::Node& node) {
  for (const auto& condition : node.status().conditions()) {
    if (condition.type() == "Ready") return condition.status() == "True";
  }
  return false;
}

bool IsInUse(const core::Node& node, const std::string& volume) {
  const auto& in_use = node.status().volumesinuse();
  return std::find(in_use.begin(), in_use.end(), volume) != in_use.end();
}

bool AllowsSeveralNodes(const core::PersistentVolume& volume) {
  const auto& modes = volume.spec().accessmodes();
  return modes.empty() || std::any_of(modes.begin(), modes.end(), [](const std::string& mode) {
           return mode == "ReadWriteMany" || mode == "ReadOnlyMany";
         });
}

bool AnyRuns(const google::protobuf::RepeatedPtrField<core::ContainerStatus>& statuses) {
  return std::any_of(statuses.begin(), statuses.end(), [](const core::ContainerStatus& status) {
    return !status.state().has_terminated() && !status.state().has_waiting();
  });
}

}  // namespace

bool IsTerminated(const core::Pod& pod) {
  const std::string& phase = pod.status().phase();
  if (phase == "Failed" || phase == "Succeeded") return true;
  return pod.metadata().has_deletiontimestamp() && !AnyRuns(pod.status().initcontainerstatuses()) &&
         !AnyRuns(pod.status().containerstatuses()) &&
         !AnyRuns(pod.status().ephemeralcontainerstatuses());
}

AttachDetach::AttachDetach(async::EventLoop& loop, kube::Client& client, Caches& caches,
                           log::Logger log)
    : loop_(loop),
      client_(client),
      caches_(caches),
      log_(std::move(log)),
      queue_(loop, QueueOptions()) {
  // One pass over everything, coalesced: the number of objects is small where this runs.
  const auto watch = [this](auto& informer) {
    const auto soon = [this] { queue_.AddAfter(kAll, kLoopPeriod); };
    informer.AddHandler({.on_add = [soon](const auto&, kube::AddKind) { soon(); },
                         .on_update = [soon](const auto&, const auto&) { soon(); },
                         .on_delete = [soon](const auto&) { soon(); }});
  };
  watch(caches_.claims);
  watch(caches_.volumes);
  watch(caches_.pods);
  watch(caches_.nodes);
  watch(caches_.attachments);
  watch(caches_.drivers);
}

async::Task<void> AttachDetach::Run() {
  co_await kube::RunWorkers(&queue_, 1, [this](std::string) { return Reconcile(); });
}

bool AttachDetach::IsAttachable(const core::PersistentVolume& volume) const {
  if (!volume.spec().persistentvolumesource().has_csi()) return false;
  const auto driver = caches_.drivers.Get(volume.spec().persistentvolumesource().csi().driver());
  return !driver || !driver->spec().has_attachrequired() || driver->spec().attachrequired();
}

std::map<std::string, AttachDetach::Wanted> AttachDetach::WantedAttachments() const {
  std::map<std::string, Wanted> wanted;
  caches_.pods.ForEach([&](const core::Pod& pod) {
    if (pod.spec().nodename().empty() || IsTerminated(pod)) return true;
    for (const auto& volume : pod.spec().volumes()) {
      const auto& source = volume.volumesource();
      std::string claim_name = source.persistentvolumeclaim().claimname();
      if (source.has_ephemeral()) claim_name = StrCat(pod.metadata().name(), "-", volume.name());
      if (claim_name.empty()) continue;
      const auto claim = caches_.claims.Get(StrCat(pod.metadata().namespace_(), "/", claim_name));
      if (!claim || claim->status().phase() != "Bound") continue;
      auto found = caches_.volumes.Get(claim->spec().volumename());
      if (!found || found->spec().claimref().uid() != claim->metadata().uid() ||
          !IsAttachable(*found)) {
        continue;
      }
      const auto& csi = found->spec().persistentvolumesource().csi();
      std::string name =
          csi::AttachmentName(csi.volumehandle(), csi.driver(), pod.spec().nodename());
      wanted.emplace(std::move(name), Wanted{*std::move(found), pod.spec().nodename()});
    }
    return true;
  });
  return wanted;
}

async::Task<Status> AttachDetach::Reconcile() {
  const std::map<std::string, Wanted> wanted = WantedAttachments();
  Status first;
  const auto note = [&first](Status status) {
    if (first.ok() && !status.ok()) first = std::move(status);
  };

  std::vector<storage::VolumeAttachment> unwanted;
  std::map<std::string, std::set<std::string>> nodes_of;  // volume -> nodes
  caches_.attachments.ForEach([&](const storage::VolumeAttachment& attachment) {
    const std::string& name = attachment.metadata().name();
    nodes_of[attachment.spec().source().persistentvolumename()].insert(
        attachment.spec().nodename());
    if (wanted.count(name) == 0) unwanted.push_back(attachment);
    return true;
  });
  std::erase_if(unwanted_since_, [&](const auto& entry) { return wanted.count(entry.first) > 0; });
  // Wanted again before its deletion was asked for.
  std::erase_if(leaving_, [&](const std::string& name) {
    const auto attachment = caches_.attachments.Get(name);
    return !attachment ||
           (wanted.count(name) > 0 && !attachment->metadata().has_deletiontimestamp());
  });
  for (const storage::VolumeAttachment& attachment : unwanted) note(co_await Detach(attachment));

  for (const auto& [name, entry] : wanted) {
    if (caches_.attachments.Contains(name)) continue;
    const std::set<std::string>& others = nodes_of[entry.volume.metadata().name()];
    if (!others.empty() && !AllowsSeveralNodes(entry.volume)) continue;
    note(co_await Attach(name, entry));
    nodes_of[entry.volume.metadata().name()].insert(entry.node);
  }

  std::vector<std::string> nodes;
  caches_.nodes.ForEach([&](const core::Node& node) {
    nodes.push_back(node.metadata().name());
    return true;
  });
  for (const std::string& node : nodes) note(co_await ReportNode(node, Report::kIfDifferent));
  co_return first;
}

async::Task<Status> AttachDetach::Attach(std::string name, Wanted wanted) {
  storage::VolumeAttachment attachment;
  attachment.mutable_metadata()->set_name(name);
  auto* spec = attachment.mutable_spec();
  spec->set_attacher(wanted.volume.spec().persistentvolumesource().csi().driver());
  spec->set_nodename(wanted.node);
  spec->mutable_source()->set_persistentvolumename(wanted.volume.metadata().name());
  auto created = co_await client_.Create(std::move(attachment));
  if (!created.ok() && kube::IsAlreadyExists(created.status())) co_return Status();
  co_return created.status();
}

async::Task<Status> AttachDetach::Detach(storage::VolumeAttachment attachment) {
  const std::string name = attachment.metadata().name();
  const std::string node_name = attachment.spec().nodename();
  if (attachment.metadata().has_deletiontimestamp()) co_return Status();
  const auto volume = caches_.volumes.Get(attachment.spec().source().persistentvolumename());
  // Without its volume nobody can tell whether it is in use; the attachment was ours, so it goes.
  std::string unique;
  if (volume) {
    const auto& csi = volume->spec().persistentvolumesource().csi();
    unique = csi::UniqueVolumeName(csi.driver(), csi.volumehandle());
  }
  const auto since = unwanted_since_.emplace(name, loop_.Now()).first;
  const auto cached = caches_.nodes.Get(node_name);
  const bool overdue = loop_.Now() - since->second >= kForceAfter;
  const bool force = overdue && (!cached || !IsReady(*cached));
  if (cached && !unique.empty() && IsInUse(*cached, unique) && !force) {
    if (!overdue) queue_.AddAfter(kAll, since->second + kForceAfter - loop_.Now());
    co_return Status();
  }
  leaving_.insert(name);
  CSI_CO_RETURN_IF_ERROR(co_await ReportNode(node_name, Report::kAlways));
  if (!force && !unique.empty()) {
    auto fresh = co_await client_.Get<core::Node>({"", node_name});
    if (!fresh.ok() && !kube::IsNotFound(fresh.status())) co_return fresh.status();
    if (fresh.ok() && IsInUse(*fresh, unique)) co_return Status();
  }
  kube::DeleteOptions options;
  options.uid = attachment.metadata().uid();
  Status deleted = co_await client_.Delete<storage::VolumeAttachment>({"", name}, options);
  co_return kube::IsNotFound(deleted) ? Status() : deleted;
}

async::Task<Status> AttachDetach::ReportNode(std::string node_name, Report report) {
  const auto node = caches_.nodes.Get(node_name);
  if (!node) co_return Status();
  std::set<std::string> attached;
  caches_.attachments.ForEach([&](const storage::VolumeAttachment& attachment) {
    if (attachment.spec().nodename() != node_name || !attachment.status().attached() ||
        attachment.metadata().has_deletiontimestamp() ||
        leaving_.count(attachment.metadata().name()) > 0) {
      return true;
    }
    const auto volume = caches_.volumes.Get(attachment.spec().source().persistentvolumename());
    if (volume) {
      const auto& csi = volume->spec().persistentvolumesource().csi();
      attached.insert(csi::UniqueVolumeName(csi.driver(), csi.volumehandle()));
    }
    return true;
  });
  std::set<std::string> reported;
  for (const auto& one : node->status().volumesattached()) reported.insert(one.name());
  if (report == Report::kIfDifferent && attached == reported) co_return Status();

  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  writer.StartObject();
  writer.Key("status");
  writer.StartObject();
  writer.Key("volumesAttached");
  if (attached.empty()) {
    writer.Null();
  } else {
    writer.StartArray();
    for (const std::string& volume : attached) {
      writer.StartObject();
      writer.Key("name");
      writer.String(volume.c_str());
      writer.Key("devicePath");
      writer.String("");
      writer.EndObject();
    }
    writer.EndArray();
  }
  writer.EndObject();
  writer.EndObject();
  auto patched = co_await client_.Patch<core::Node>({"", node_name}, kube::PatchType::kStrategic,
                                                    buffer.GetString(), "status");
  co_return kube::IsNotFound(patched.status()) ? Status() : patched.status();
}

}  // namespace csinative::volumecontroller
