// SPDX-License-Identifier: Apache-2.0
#include "test/unit/volumemanager/world.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "apis/core/v1/event.pb.h"
#include "apis/json/parse.h"
#include "lib/base/json_string.h"
#include "lib/base/strings.h"
#include "lib/mount/tree.h"
#include "proto/pluginregistration/v1/api.pb.h"
#include "test/support/unlimited_client.h"

namespace csinative::volumemanager {
namespace {

std::string Below(const std::string& path) {
  return path.starts_with(kRoot) ? path.substr(sizeof(kRoot)) : path;
}

std::string CallText(const std::string& method, const google::protobuf::Message& message) {
  using namespace ::csi::v1;  // NOLINT: messages of one package
  if (method == kStage) {
    const auto& request = static_cast<const NodeStageVolumeRequest&>(message);
    return StrCat("STAGE ", request.volume_id(), " ", Below(request.staging_target_path()));
  }
  if (method == kUnstage) {
    const auto& request = static_cast<const NodeUnstageVolumeRequest&>(message);
    return StrCat("UNSTAGE ", request.volume_id(), " ", Below(request.staging_target_path()));
  }
  if (method == kPublish) {
    const auto& request = static_cast<const NodePublishVolumeRequest&>(message);
    return StrCat("PUBLISH ", request.volume_id(), " ", Below(request.target_path()));
  }
  if (method == kUnpublish) {
    const auto& request = static_cast<const NodeUnpublishVolumeRequest&>(message);
    return StrCat("UNPUBLISH ", request.volume_id(), " ", Below(request.target_path()));
  }
  return "";
}

Status Failure(const Status& status) {
  return status.ok() ? status : RpcStatus(13, status.message());
}

}  // namespace

// A connection of the running process: the driver itself lives on.
class World::TracedChannel final : public rpc::Channel {
 public:
  TracedChannel(testing::FakeChannel& inner, std::vector<std::string>* trace)
      : inner_(inner), trace_(trace) {}
  async::Task<Status> Call(std::string method, const google::protobuf::Message& request,
                           google::protobuf::Message* response) override {
    std::string text = CallText(method, request);
    if (!text.empty()) trace_->push_back(std::move(text));
    return inner_.Call(std::move(method), request, response);
  }

 private:
  testing::FakeChannel& inner_;
  std::vector<std::string>* const trace_;
};

class World::FakeConnector final : public PluginConnector {
 public:
  explicit FakeConnector(World& world) : world_(world) {}
  async::Task<Result<std::shared_ptr<rpc::Channel>>> ConnectPlugin(std::string) override {
    co_return std::shared_ptr<rpc::Channel>(
        std::make_shared<TracedChannel>(world_.plugin_, &world_.trace_));
  }
  async::Task<Result<std::shared_ptr<rpc::Channel>>> ConnectDriver(std::string,
                                                                   std::string) override {
    co_return std::shared_ptr<rpc::Channel>(
        std::make_shared<TracedChannel>(world_.driver_, &world_.trace_));
  }

 private:
  World& world_;
};

class World::FakeWatch final : public DirectoryWatch {
 public:
  void Watch(const std::vector<std::string>&) override {}
  async::Task<Status> WaitForChange() override {
    CSI_CO_RETURN_IF_ERROR(co_await changed.Wait());
    changed.Reset();
    co_return Status();
  }
  async::Event changed;
};

class World::SlowDisk final : public async::BlockingExecutor {
 public:
  SlowDisk(async::EventLoop& loop, World& world) : loop_(loop), world_(world) {}
  void Submit(UniqueFunction<void()> work) override {
    const Duration delay = std::exchange(world_.disk_delay_, Duration());
    if (delay == Duration()) return loop_.Post(std::move(work));
    late_.emplace_back(loop_, loop_.Now() + delay, std::move(work));
  }

 private:
  async::EventLoop& loop_;
  World& world_;
  std::vector<async::ScopedTimer> late_;
};

// All that dies with the process.
struct World::Process {
  explicit Process(World& world)
      : loop(world.scheduler_),
        blocking(loop, world),
        transport(loop, world.api_, "manager"),
        client(testing::NewUnlimitedClient(loop, *world.random_, transport)),
        connector(world),
        manager({.loop = &loop,
                 .random = world.random_.get(),
                 .client = client.get(),
                 .event_client = client.get(),
                 .fs = &world.fs_,
                 .blocking = &blocking,
                 .watch = &watch,
                 .connector = &connector,
                 .config = world.config,
                 .log = {}}),
        scope(loop) {}

  async::VirtualLoop loop;
  SlowDisk blocking;
  testing::InProcessApi transport;
  std::unique_ptr<kube::Client> client;
  FakeConnector connector;
  FakeWatch watch;
  VolumeManager manager;
  async::Scope scope;
};

World::World() : admin_(testing::NewUnlimitedClient(loop_, *random_, admin_transport_)) {
  config.node = kNode;
  config.root = kRoot;
  SetUpDriver();
}

World::~World() {
  if (process_) Stop();
  Wait(admin_transport_.Close());
}

void World::Fail(const Status& status) { ADD_FAILURE() << status.message(); }

// --- the driver ----------------------------------------------------------------------------------

Status World::StageVolume(const ::csi::v1::NodeStageVolumeRequest& request) {
  if (request.volume_capability().has_block()) return Status();
  auto mounted = fs_.IsMountPoint(request.staging_target_path());
  if (!mounted.ok()) return mounted.status();
  if (*mounted) return Status();
  return fs_.MountFilesystem("fs-" + request.volume_id(), request.staging_target_path());
}

Status World::PublishVolume(const ::csi::v1::NodePublishVolumeRequest& request) {
  const std::string& target = request.target_path();
  if (request.volume_capability().has_block()) {
    fs_.MakeSpecial(target, mount::FileType::kBlockDevice);
    return Status();
  }
  CSI_RETURN_IF_ERROR(fs_.MakeDirectories(target, 0750));
  CSI_ASSIGN_OR_RETURN(const bool mounted, fs_.IsMountPoint(target));
  if (mounted) return Status();
  if (request.staging_target_path().empty()) {
    return fs_.MountFilesystem("fs-" + request.volume_id(), target);
  }
  return fs_.BindMount(request.staging_target_path(), target);
}

Status World::UnpublishVolume(const ::csi::v1::NodeUnpublishVolumeRequest& request) {
  const auto mounted = fs_.IsMountPoint(request.target_path());
  if (!mounted.ok()) return Status();
  if (*mounted) CSI_RETURN_IF_ERROR(fs_.Unmount(request.target_path()));
  return mount::RemoveIfPresent(fs_, request.target_path());
}

void World::SetUpDriver() {
  using namespace ::csi::v1;  // NOLINT: messages of one package
  NodeGetInfoResponse info;
  info.set_node_id("id-1");
  driver_.Answer("/csi.v1.Node/NodeGetInfo", info);
  driver_.Handle<NodeGetCapabilitiesRequest, NodeGetCapabilitiesResponse>(
      "/csi.v1.Node/NodeGetCapabilities",
      [this](NodeGetCapabilitiesRequest,
             NodeGetCapabilitiesResponse* response) -> async::Task<Status> {
        for (const std::string& name : capabilities) {
          NodeServiceCapability::RPC::Type type;
          EXPECT_TRUE(NodeServiceCapability::RPC::Type_Parse(name, &type)) << name;
          response->add_capabilities()->mutable_rpc()->set_type(type);
        }
        return [](Status done) -> async::Task<Status> { co_return done; }(Status());
      });
  auto answer = [](Status done) -> async::Task<Status> { co_return done; };
  driver_.Handle<NodeStageVolumeRequest, NodeStageVolumeResponse>(
      kStage, [this, answer](NodeStageVolumeRequest request, NodeStageVolumeResponse*) {
        return answer(Failure(StageVolume(request)));
      });
  driver_.Handle<NodeUnstageVolumeRequest, NodeUnstageVolumeResponse>(
      kUnstage, [this, answer](NodeUnstageVolumeRequest request, NodeUnstageVolumeResponse*) {
        const auto mounted = fs_.IsMountPoint(request.staging_target_path());
        if (!mounted.ok() || !*mounted) return answer(Status());
        return answer(Failure(fs_.Unmount(request.staging_target_path())));
      });
  driver_.Handle<NodePublishVolumeRequest, NodePublishVolumeResponse>(
      kPublish, [this, answer](NodePublishVolumeRequest request, NodePublishVolumeResponse*) {
        return answer(Failure(PublishVolume(request)));
      });
  driver_.Handle<NodeUnpublishVolumeRequest, NodeUnpublishVolumeResponse>(
      kUnpublish, [this, answer](NodeUnpublishVolumeRequest request, NodeUnpublishVolumeResponse*) {
        return answer(Failure(UnpublishVolume(request)));
      });
  ::pluginregistration::PluginInfo plugin;
  plugin.set_type("CSIPlugin");
  plugin.set_name(kDriver);
  plugin.set_endpoint(StrCat(kRoot, "/plugins/", kDriver, "/csi.sock"));
  plugin.add_supported_versions("1.0.0");
  plugin_.Answer("/pluginregistration.Registration/GetInfo", plugin);
  plugin_.Answer("/pluginregistration.Registration/NotifyRegistrationStatus",
                 ::pluginregistration::RegistrationStatusResponse());
}

// --- the process ---------------------------------------------------------------------------------

void World::Start() {
  if (!prepared_) {
    prepared_ = true;
    Add(StrCat(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":")", kNode, R"("}})"));
    Add(StrCat(R"({"apiVersion":"storage.k8s.io/v1","kind":"CSIDriver","metadata":{"name":")",
               kDriver, R"("},"spec":)", driver_spec, "}"));
    EXPECT_TRUE(fs_.MakeDirectories(At("plugins_registry"), 0750).ok());
    AddSocket();
  }
  process_ = std::make_unique<Process>(*this);
  auto run = [](VolumeManager* manager) -> async::Task<void> {
    Status done = co_await manager->Run();
    if (!done.ok() && !IsCancelled(done)) Fail(done);
  };
  process_->scope.Spawn(run(&process_->manager));
  Settle();
}

void World::Stop() {
  async::RunTask(scheduler_, process_->loop, process_->scope.Close());
  async::RunTask(scheduler_, process_->loop, process_->transport.Close());
  process_.reset();
}

void World::Kill() {
  process_->loop.Discard();
  process_.reset();
  Settle();
}

const NodeState& World::state() const { return process_->manager.state(); }

void World::AddSocket(const std::string& name) {
  fs_.MakeSpecial(At("plugins_registry/" + name), mount::FileType::kSocket);
  if (process_) process_->watch.changed.Set();
}

void World::RemoveSocket(const std::string& name) {
  EXPECT_TRUE(fs_.Remove(At("plugins_registry/" + name)).ok());
  if (process_) process_->watch.changed.Set();
}

// --- objects -------------------------------------------------------------------------------------

void World::Add(const std::string& json) {
  auto created = api_.CreateObject(json);
  ASSERT_TRUE(created.ok()) << json;
}

void World::AddVolume(const std::string& name, const VolumeOptions& options) {
  Add(StrCat(R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":")", name,
             R"(","namespace":"default"},"spec":{"volumeName":")", name, R"(","accessModes":[")",
             options.access, R"("],"volumeMode":")", options.mode,
             R"(","resources":{"requests":{"storage":"1Gi"}}}})"));
  auto claim = Find<core::PersistentVolumeClaim>({"default", name});
  ASSERT_TRUE(claim);
  Merge<core::PersistentVolumeClaim>({"default", name}, R"({"status":{"phase":"Bound"}})",
                                     "status");
  Add(StrCat(R"({"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":")", name,
             R"("},"spec":{"capacity":{"storage":"1Gi"},"accessModes":[")", options.access,
             R"("],"volumeMode":")", options.mode,
             R"(","claimRef":{"namespace":"default","name":")", name, R"(","uid":")",
             claim->metadata().uid(), R"("},"csi":{"driver":")", kDriver, R"(","volumeHandle":"h-)",
             name, "\"", options.csi, "}", options.spec, "}}"));
}

void World::AddPod(const std::string& name, const PodOptions& options) {
  std::string volumes = options.volumes, uses = options.mounts;
  for (const std::string& claim : options.claims) {
    volumes += StrCat(R"({"name":"v-)", claim, R"(","persistentVolumeClaim":{"claimName":")", claim,
                      R"("}},)");
    uses +=
        StrCat(R"({"name":"v-)", claim, R"(",)",
               options.block ? R"("devicePath":"/dev/)" : R"("mountPath":"/mnt/)", claim, R"("},)");
  }
  if (!volumes.empty()) volumes.pop_back();
  if (!uses.empty()) uses.pop_back();
  Add(StrCat(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")", name,
             R"(","namespace":"default"},"spec":{"nodeName":")", kNode,
             R"(","serviceAccountName":"sa","containers":[{"name":"c","image":"i",)",
             options.block ? R"("volumeDevices":[)" : R"("volumeMounts":[)", uses,
             R"(]}],"volumes":[)", volumes, "]", options.spec, "}}"));
  uids_[name] = Find<core::Pod>({"default", name})->metadata().uid();
  if (!options.running) return;
  Merge<core::Pod>(
      {"default", name},
      R"({"status":{"phase":"Running","startTime":"2024-01-01T00:00:00Z",)"
      R"("containerStatuses":[{"name":"c","image":"i","imageID":"","ready":true,)"
      R"("restartCount":0,"state":{"running":{"startedAt":"2024-01-01T00:00:00Z"}}}]}})",
      "status");
}

void World::Attach(const std::string& volume) {
  const std::string name = AttachmentName("h-" + volume, kDriver, kNode);
  Add(StrCat(R"({"apiVersion":"storage.k8s.io/v1","kind":"VolumeAttachment","metadata":{"name":")",
             name, R"("},"spec":{"attacher":")", kDriver, R"(","nodeName":")", kNode,
             R"(","source":{"persistentVolumeName":")", volume, R"("}}})"));
  Merge<storage::VolumeAttachment>(
      {"", name}, R"({"status":{"attached":true,"attachmentMetadata":{"device":"/dev/x"}}})",
      "status");
  attached_.push_back(volume);
  std::vector<std::string> entries;
  for (const std::string& one : attached_) {
    entries.push_back(StrCat(R"({"name":")", Unique(one), R"(","devicePath":""})"));
  }
  Merge<core::Node>({"", kNode},
                    StrCat(R"({"status":{"volumesAttached":[)", Join(entries, ","), "]}}"),
                    "status");
}

void World::Detach(const std::string& volume) {
  std::erase(attached_, volume);
  Status gone = Wait(admin_->Delete<storage::VolumeAttachment>(
      {"", AttachmentName("h-" + volume, kDriver, kNode)}));
  if (!gone.ok()) Fail(gone);
  std::vector<std::string> entries;
  for (const std::string& one : attached_) {
    entries.push_back(StrCat(R"({"name":")", Unique(one), R"(","devicePath":""})"));
  }
  Merge<core::Node>({"", kNode},
                    StrCat(R"({"status":{"volumesAttached":[)", Join(entries, ","), "]}}"),
                    "status");
}

void World::DeletePod(const std::string& name) {
  Status deleted = Wait(admin_->Delete<core::Pod>({"default", name}));
  if (!deleted.ok()) Fail(deleted);
}

void World::TerminateContainers(const std::string& name) {
  Merge<core::Pod>(
      {"default", name},
      R"({"status":{"containerStatuses":[{"name":"c","image":"i","imageID":"","ready":false,)"
      R"("restartCount":0,"state":{"terminated":{"exitCode":0,)"
      R"("startedAt":"2024-01-01T00:00:00Z","finishedAt":"2024-01-01T00:00:00Z"}}}]}})",
      "status");
}

void World::RemovePod(const std::string& name) {
  kube::DeleteOptions options;
  options.grace_period_seconds = 0;
  Status deleted = Wait(admin_->Delete<core::Pod>({"default", name}, std::move(options)));
  if (!deleted.ok()) Fail(deleted);
}

void World::EndPod(const std::string& name) {
  DeletePod(name);
  TerminateContainers(name);
  RemovePod(name);
}

// --- what happened -------------------------------------------------------------------------------

std::vector<std::string> World::Trace() const { return trace_; }

std::vector<std::string> World::Events() {
  std::vector<std::string> out;
  for (const auto& object : api_.ListObjects("", "events")) {
    rapidjson::Document document;
    EXPECT_TRUE(apis::ParseJson(object->json, &document).ok());
    out.push_back(StrCat(std::string(document["reason"].GetString()), ": ",
                         std::string(document["message"].GetString())));
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<std::string> World::InUse() {
  const auto node = Find<core::Node>({"", kNode});
  if (!node) return {};
  const auto& listed = node->status().volumesinuse();
  return {listed.begin(), listed.end()};
}

std::vector<std::string> World::Left() const {
  std::vector<std::string> left = fs_.Entries();
  std::erase_if(left, [](const std::string& entry) {
    return entry == "pods/" || entry == "plugins/" || entry.starts_with("plugins_registry/");
  });
  return left;
}

std::string World::PublishPath(const std::string& pod, const std::string& volume) const {
  return StrCat("pods/", Uid(pod), "/volumes/kubernetes.io~csi/", volume, "/mount");
}

std::string World::DataFile(const std::string& pod, const std::string& volume) const {
  return StrCat("pods/", Uid(pod), "/volumes/kubernetes.io~csi/", volume, "/vol_data.json");
}

std::string World::StagingPath(const std::string& handle) {
  return StrCat("plugins/kubernetes.io/csi/", kDriver, "/", Sha256Hex(handle), "/globalmount");
}

std::string World::Unique(const std::string& volume) {
  return UniqueVolumeName(kDriver, "h-" + volume);
}

}  // namespace csinative::volumemanager
