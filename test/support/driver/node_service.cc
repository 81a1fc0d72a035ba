// SPDX-License-Identifier: Apache-2.0
#include "test/support/driver/node_service.h"

#include <charconv>
#include <utility>

#include "test/support/driver/node_volume.h"

namespace csinative::driver {
namespace {

using namespace ::csi::v1;  // NOLINT: this file is about that package's messages
using RPC = NodeServiceCapability::RPC;
using Mode = VolumeCapability::AccessMode;

// Set by kubelet for a volume that lives and dies with a pod.
constexpr char kEphemeralKey[] = "csi.storage.k8s.io/ephemeral";
constexpr char kSizeKey[] = "size";  // of an ephemeral volume, in bytes
constexpr int64_t kEphemeralBytes = 1LL << 30;

// What went wrong on this machine is "internal" for the caller, whatever the errno.
Status ForCaller(Status status) {
  if (status.ok() || status.rpc_error() != nullptr) return status;
  return Fail(Code::kInternal, status.message());
}

Status CheckId(const std::string& id) {
  if (id.empty()) return Fail(Code::kInvalidArgument, "no volume id");
  // An id is the name of a folder.
  if (id[0] == '.' || id.find('/') != std::string::npos) {
    return Fail(Code::kNotFound, "no such volume");
  }
  return Status();
}

Status CheckPath(const std::string& path, const char* name) {
  if (path.empty()) return Fail(Code::kInvalidArgument, std::string("no ") + name);
  if (path[0] != '/') return Fail(Code::kInvalidArgument, std::string(name) + " is not absolute");
  return Status();
}

NodeVolume::Access AccessOf(const VolumeCapability& capability) {
  NodeVolume::Access access;
  access.block = capability.has_block();
  access.fs_type = capability.mount().fs_type();
  access.mount_flags.assign(capability.mount().mount_flags().begin(),
                            capability.mount().mount_flags().end());
  access.single_writer = capability.access_mode().mode() == Mode::SINGLE_NODE_SINGLE_WRITER;
  return access;
}

class NodeService {
 public:
  explicit NodeService(DriverContext& context) : c_(context) {}

  async::Task<Status> Stage(NodeStageVolumeRequest request, NodeStageVolumeResponse* response);
  async::Task<Status> Unstage(NodeUnstageVolumeRequest request,
                              NodeUnstageVolumeResponse* response);
  async::Task<Status> Publish(NodePublishVolumeRequest request,
                              NodePublishVolumeResponse* response);
  async::Task<Status> Unpublish(NodeUnpublishVolumeRequest request,
                                NodeUnpublishVolumeResponse* response);
  async::Task<Status> Stats(NodeGetVolumeStatsRequest request,
                            NodeGetVolumeStatsResponse* response);
  async::Task<Status> Expand(NodeExpandVolumeRequest request, NodeExpandVolumeResponse* response);
  async::Task<Status> Capabilities(NodeGetCapabilitiesRequest request,
                                   NodeGetCapabilitiesResponse* response);
  async::Task<Status> Info(NodeGetInfoRequest request, NodeGetInfoResponse* response);

 private:
  bool stages() const { return Announces(c_.options, "NODE", "STAGE_UNSTAGE_VOLUME"); }
  async::Task<Result<KeyLocks::Held>> Lock(std::string id) {
    co_return co_await c_.locks.Lock("node/" + id);
  }
  // The description of an inline volume, or why its attributes make no sense.
  Result<Volume> Ephemeral(const NodePublishVolumeRequest& request) const;

  DriverContext& c_;
};

async::Task<Status> NodeService::Stage(NodeStageVolumeRequest request, NodeStageVolumeResponse*) {
  CSI_CO_RETURN_IF_ERROR(CheckId(request.volume_id()));
  CSI_CO_RETURN_IF_ERROR(CheckPath(request.staging_target_path(), "staging target path"));
  if (!request.has_volume_capability()) {
    co_return Fail(Code::kInvalidArgument, "no volume capability");
  }
  CSI_CO_RETURN_IF_ERROR(CheckCapability(request.volume_capability()));
  CSI_CO_ASSIGN_OR_RETURN(KeyLocks::Held held, co_await Lock(request.volume_id()));
  const std::string folder = c_.store.VolumeDir(request.volume_id());
  const std::string staging = request.staging_target_path();
  const std::string node = c_.options.node_id;
  NodeVolume::Access access = AccessOf(request.volume_capability());
  co_return ForCaller(co_await Work(c_, [folder, staging, node, access]() -> Status {
    CSI_ASSIGN_OR_RETURN(NodeVolume volume, NodeVolume::Open(folder));
    return volume.Stage(node, staging, access);
  }));
}

async::Task<Status> NodeService::Unstage(NodeUnstageVolumeRequest request,
                                         NodeUnstageVolumeResponse*) {
  CSI_CO_RETURN_IF_ERROR(CheckId(request.volume_id()));
  CSI_CO_RETURN_IF_ERROR(CheckPath(request.staging_target_path(), "staging target path"));
  CSI_CO_ASSIGN_OR_RETURN(KeyLocks::Held held, co_await Lock(request.volume_id()));
  const std::string folder = c_.store.VolumeDir(request.volume_id());
  const std::string staging = request.staging_target_path();
  const std::string node = c_.options.node_id;
  co_return ForCaller(co_await Work(
      c_, [folder, staging, node] { return NodeVolume::Unstage(folder, node, staging); }));
}

Result<Volume> NodeService::Ephemeral(const NodePublishVolumeRequest& request) const {
  Volume volume;
  volume.id = request.volume_id();
  volume.name = request.volume_id();
  volume.ephemeral = true;
  volume.image = c_.options.image_backing;
  volume.fs_type = request.volume_capability().mount().fs_type();
  volume.capacity_bytes = kEphemeralBytes;
  if (request.volume_capability().has_block()) {
    return Fail(Code::kInvalidArgument, "an inline volume has a filesystem");
  }
  const auto size = request.volume_context().find(kSizeKey);
  if (size == request.volume_context().end()) return volume;
  const std::string& text = size->second;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), volume.capacity_bytes);
  if (error != std::errc() || end != text.data() + text.size() || volume.capacity_bytes <= 0) {
    return Fail(Code::kInvalidArgument, "not a size in bytes: " + text);
  }
  return volume;
}

async::Task<Status> NodeService::Publish(NodePublishVolumeRequest request,
                                         NodePublishVolumeResponse*) {
  CSI_CO_RETURN_IF_ERROR(CheckId(request.volume_id()));
  CSI_CO_RETURN_IF_ERROR(CheckPath(request.target_path(), "target path"));
  if (!request.has_volume_capability()) {
    co_return Fail(Code::kInvalidArgument, "no volume capability");
  }
  CSI_CO_RETURN_IF_ERROR(CheckCapability(request.volume_capability()));
  const auto flag = request.volume_context().find(kEphemeralKey);
  std::optional<Volume> inline_volume;
  if (flag != request.volume_context().end() && flag->second == "true") {
    CSI_CO_ASSIGN_OR_RETURN(inline_volume, Ephemeral(request));
  }
  std::string staging;
  if (stages() && !inline_volume) {
    CSI_CO_RETURN_IF_ERROR(CheckPath(request.staging_target_path(), "staging target path"));
    staging = request.staging_target_path();
  }
  CSI_CO_ASSIGN_OR_RETURN(KeyLocks::Held held, co_await Lock(request.volume_id()));
  const std::string folder = c_.store.VolumeDir(request.volume_id());
  const std::string target = request.target_path();
  NodeVolume::Access access = AccessOf(request.volume_capability());
  access.read_only = request.readonly();
  co_return ForCaller(
      co_await Work(c_, [folder, staging, target, access, inline_volume]() -> Status {
        if (inline_volume && !VolumeStore::Read(folder).ok()) {
          CSI_RETURN_IF_ERROR(VolumeStore::Remove(folder));  // half made before a crash
          CSI_RETURN_IF_ERROR(
              VolumeStore::Write(folder, *inline_volume, VolumeStore::Data::kCreate));
        }
        CSI_ASSIGN_OR_RETURN(NodeVolume volume, NodeVolume::Open(folder));
        return volume.Publish(staging, target, access);
      }));
}

async::Task<Status> NodeService::Unpublish(NodeUnpublishVolumeRequest request,
                                           NodeUnpublishVolumeResponse*) {
  CSI_CO_RETURN_IF_ERROR(CheckId(request.volume_id()));
  CSI_CO_RETURN_IF_ERROR(CheckPath(request.target_path(), "target path"));
  CSI_CO_ASSIGN_OR_RETURN(KeyLocks::Held held, co_await Lock(request.volume_id()));
  const std::string folder = c_.store.VolumeDir(request.volume_id());
  const std::string target = request.target_path();
  co_return ForCaller(
      co_await Work(c_, [folder, target] { return NodeVolume::Unpublish(folder, target); }));
}

async::Task<Status> NodeService::Stats(NodeGetVolumeStatsRequest request,
                                       NodeGetVolumeStatsResponse* response) {
  CSI_CO_RETURN_IF_ERROR(CheckId(request.volume_id()));
  if (request.volume_path().empty()) co_return Fail(Code::kInvalidArgument, "no volume path");
  const std::string folder = c_.store.VolumeDir(request.volume_id());
  const std::string path = request.volume_path();
  Result<NodeVolume::Usage> usage =
      co_await Work(c_, [folder, path]() -> Result<NodeVolume::Usage> {
        CSI_ASSIGN_OR_RETURN(NodeVolume volume, NodeVolume::Open(folder));
        return volume.Stats(path);
      });
  if (!usage.ok()) co_return ForCaller(usage.status());
  VolumeUsage* bytes = response->add_usage();
  bytes->set_unit(VolumeUsage::BYTES);
  bytes->set_total(usage->total_bytes);
  if (!usage->block) {
    bytes->set_used(usage->used_bytes);
    bytes->set_available(usage->available_bytes);
    VolumeUsage* inodes = response->add_usage();
    inodes->set_unit(VolumeUsage::INODES);
    inodes->set_total(usage->total_inodes);
    inodes->set_used(usage->used_inodes);
    inodes->set_available(usage->available_inodes);
  }
  if (Announces(c_.options, "NODE", "VOLUME_CONDITION")) {
    VolumeCondition* condition = response->mutable_volume_condition();
    condition->set_abnormal(!usage->abnormal.empty());
    condition->set_message(usage->abnormal.empty() ? "healthy" : usage->abnormal);
  }
  co_return Status();
}

async::Task<Status> NodeService::Expand(NodeExpandVolumeRequest request,
                                        NodeExpandVolumeResponse* response) {
  CSI_CO_RETURN_IF_ERROR(CheckId(request.volume_id()));
  if (request.volume_path().empty()) co_return Fail(Code::kInvalidArgument, "no volume path");
  const int64_t required = request.capacity_range().required_bytes();
  const int64_t limit = request.capacity_range().limit_bytes();
  if (required < 0 || limit < 0 || (limit > 0 && required > limit)) {
    co_return Fail(Code::kInvalidArgument, "the capacity range makes no sense");
  }
  if (required > c_.options.max_volume_bytes) {
    co_return Fail(Code::kOutOfRange, "no volume of that size is possible");
  }
  CSI_CO_ASSIGN_OR_RETURN(KeyLocks::Held held, co_await Lock(request.volume_id()));
  const std::string folder = c_.store.VolumeDir(request.volume_id());
  // A block volume that is only staged is named by its staging path.
  const std::string path = request.volume_path();
  Result<int64_t> size = co_await Work(c_, [folder, path, required]() -> Result<int64_t> {
    CSI_ASSIGN_OR_RETURN(NodeVolume volume, NodeVolume::Open(folder));
    return volume.Expand(path, required);
  });
  if (!size.ok()) co_return ForCaller(size.status());
  response->set_capacity_bytes(*size);
  co_return Status();
}

async::Task<Status> NodeService::Capabilities(NodeGetCapabilitiesRequest,
                                              NodeGetCapabilitiesResponse* response) {
  for (RPC::Type type : {RPC::STAGE_UNSTAGE_VOLUME, RPC::GET_VOLUME_STATS, RPC::EXPAND_VOLUME,
                         RPC::VOLUME_CONDITION, RPC::SINGLE_NODE_MULTI_WRITER}) {
    if (!Announces(c_.options, "NODE", RPC::Type_Name(type))) continue;
    response->add_capabilities()->mutable_rpc()->set_type(type);
  }
  co_return Status();
}

async::Task<Status> NodeService::Info(NodeGetInfoRequest, NodeGetInfoResponse* response) {
  response->set_node_id(c_.options.node_id);
  response->set_max_volumes_per_node(c_.options.max_volumes_per_node);
  if (!c_.options.topology.empty()) {
    auto& segments = *response->mutable_accessible_topology()->mutable_segments();
    for (const auto& [key, value] : c_.options.topology) segments[key] = value;
  }
  co_return Status();
}

}  // namespace

void RegisterNodeService(rpc::Server& server, DriverContext& context) {
  auto service = std::make_shared<NodeService>(context);
  auto add = [&]<typename Req, typename Resp>(
                 const char* method, async::Task<Status> (NodeService::*member)(Req, Resp*)) {
    Serve<Req, Resp>(server, context, "csi.v1.Node", method,
                     [service, member](Req request, Resp* response) {
                       return ((*service).*member)(std::move(request), response);
                     });
  };
  add("NodeStageVolume", &NodeService::Stage);
  add("NodeUnstageVolume", &NodeService::Unstage);
  add("NodePublishVolume", &NodeService::Publish);
  add("NodeUnpublishVolume", &NodeService::Unpublish);
  add("NodeGetVolumeStats", &NodeService::Stats);
  add("NodeExpandVolume", &NodeService::Expand);
  add("NodeGetCapabilities", &NodeService::Capabilities);
  add("NodeGetInfo", &NodeService::Info);
}

}  // namespace csinative::driver
