// SPDX-License-Identifier: Apache-2.0
#include "test/support/driver/controller_service.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <utility>

namespace csinative::driver {
namespace {

using namespace ::csi::v1;  // NOLINT: this file is about that package's messages
using RPC = ControllerServiceCapability::RPC;
using Mode = VolumeCapability::AccessMode;
// Hides the message of the same name.
using StoredVolume = csinative::driver::Volume;
using StoredSnapshot = csinative::driver::Snapshot;

constexpr int64_t kDefaultBytes = 1LL << 30;
constexpr char kOtherKind[] = "the source keeps its data in another way";

class ControllerService {
 public:
  explicit ControllerService(DriverContext& context) : c_(context) {}

  async::Task<Status> CreateVolume(CreateVolumeRequest request, CreateVolumeResponse* response);
  async::Task<Status> DeleteVolume(DeleteVolumeRequest request, DeleteVolumeResponse* response);
  async::Task<Status> Publish(ControllerPublishVolumeRequest request,
                              ControllerPublishVolumeResponse* response);
  async::Task<Status> Unpublish(ControllerUnpublishVolumeRequest request,
                                ControllerUnpublishVolumeResponse* response);
  async::Task<Status> Validate(ValidateVolumeCapabilitiesRequest request,
                               ValidateVolumeCapabilitiesResponse* response);
  async::Task<Status> ListVolumes(ListVolumesRequest request, ListVolumesResponse* response);
  async::Task<Status> GetCapacity(GetCapacityRequest request, GetCapacityResponse* response);
  async::Task<Status> Capabilities(ControllerGetCapabilitiesRequest request,
                                   ControllerGetCapabilitiesResponse* response);
  async::Task<Status> CreateSnapshot(CreateSnapshotRequest request,
                                     CreateSnapshotResponse* response);
  async::Task<Status> DeleteSnapshot(DeleteSnapshotRequest request,
                                     DeleteSnapshotResponse* response);
  async::Task<Status> ListSnapshots(ListSnapshotsRequest request, ListSnapshotsResponse* response);
  async::Task<Status> GetSnapshot(GetSnapshotRequest request, GetSnapshotResponse* response);
  async::Task<Status> Expand(ControllerExpandVolumeRequest request,
                             ControllerExpandVolumeResponse* response);
  async::Task<Status> GetVolume(ControllerGetVolumeRequest request,
                                ControllerGetVolumeResponse* response);
  async::Task<Status> Modify(ControllerModifyVolumeRequest request,
                             ControllerModifyVolumeResponse* response);

 private:
  bool KnowsNode(const std::string& node) const {
    const auto& others = c_.options.other_nodes;
    return node == c_.options.node_id ||
           std::find(others.begin(), others.end(), node) != others.end();
  }
  // Refuses keys that volumes do not have.
  Status CheckMutable(const google::protobuf::Map<std::string, std::string>& parameters) const;
  // Size of a new volume, or why the range cannot be met.
  Result<int64_t> SizeFor(const CapacityRange& range, int64_t at_least) const;
  void Fill(const StoredVolume& volume, ::csi::v1::Volume* out) const;
  void Fill(const StoredSnapshot& snapshot, ::csi::v1::Snapshot* out) const;
  // Writes the changed description and then keeps the change.
  async::Task<Status> Save(StoredVolume volume);

  DriverContext& c_;
};

Status ControllerService::CheckMutable(
    const google::protobuf::Map<std::string, std::string>& parameters) const {
  for (const auto& [key, value] : parameters) {
    if (c_.options.mutable_parameters.contains(key)) continue;
    return Fail(Code::kInvalidArgument, "no mutable parameter has the name " + key);
  }
  return Status();
}

Result<int64_t> ControllerService::SizeFor(const CapacityRange& range, int64_t at_least) const {
  const int64_t required = range.required_bytes();
  const int64_t limit = range.limit_bytes();
  if (required < 0 || limit < 0 || (limit > 0 && required > limit)) {
    return Fail(Code::kInvalidArgument, "the capacity range makes no sense");
  }
  int64_t size =
      required > 0 ? required : (limit > 0 ? std::min(limit, kDefaultBytes) : kDefaultBytes);
  size = std::max(size, at_least);
  if (size > c_.options.max_volume_bytes || (limit > 0 && size > limit)) {
    return Fail(Code::kOutOfRange, "no volume of " + std::to_string(size) + " bytes is possible");
  }
  return size;
}

void ControllerService::Fill(const StoredVolume& volume, ::csi::v1::Volume* out) const {
  out->set_volume_id(volume.id);
  out->set_capacity_bytes(volume.capacity_bytes);
  for (const auto& [key, value] : volume.context) (*out->mutable_volume_context())[key] = value;
  if (!volume.topology.empty()) {
    auto& segments = *out->add_accessible_topology()->mutable_segments();
    for (const auto& [key, value] : volume.topology) segments[key] = value;
  }
  if (!volume.source_snapshot.empty()) {
    out->mutable_content_source()->mutable_snapshot()->set_snapshot_id(volume.source_snapshot);
  } else if (!volume.source_volume.empty()) {
    out->mutable_content_source()->mutable_volume()->set_volume_id(volume.source_volume);
  }
}

void ControllerService::Fill(const StoredSnapshot& snapshot, ::csi::v1::Snapshot* out) const {
  out->set_snapshot_id(snapshot.id);
  out->set_source_volume_id(snapshot.source_volume);
  out->set_size_bytes(snapshot.size_bytes);
  out->mutable_creation_time()->set_seconds(snapshot.creation_seconds);
  out->set_ready_to_use(true);
}

async::Task<Status> ControllerService::Save(StoredVolume volume) {
  const std::string folder = c_.store.VolumeDir(volume.id);
  CSI_CO_RETURN_IF_ERROR(co_await Work(c_, [folder, volume] {
    return VolumeStore::Write(folder, volume, VolumeStore::Data::kKeep);
  }));
  c_.store.Keep(std::move(volume));
  co_return Status();
}

async::Task<Status> ControllerService::CreateVolume(CreateVolumeRequest request,
                                                    CreateVolumeResponse* response) {
  if (request.name().empty()) co_return Fail(Code::kInvalidArgument, "no volume name");
  if (request.volume_capabilities().empty()) {
    co_return Fail(Code::kInvalidArgument, "no volume capabilities");
  }
  bool block = false;
  std::string fs_type;
  for (const VolumeCapability& capability : request.volume_capabilities()) {
    CSI_CO_RETURN_IF_ERROR(CheckCapability(capability));
    block = block || capability.has_block();
    if (capability.has_mount()) fs_type = capability.mount().fs_type();
  }
  CSI_CO_RETURN_IF_ERROR(CheckMutable(std::as_const(request).mutable_parameters()));
  CSI_CO_ASSIGN_OR_RETURN(KeyLocks::Held held, co_await c_.locks.Lock("name/" + request.name()));

  const bool image = block || c_.options.image_backing;
  std::string copy_from;
  int64_t at_least = 0;
  StoredVolume volume;
  const VolumeContentSource& source = request.volume_content_source();
  if (source.has_snapshot()) {
    const StoredSnapshot* snapshot = c_.store.FindSnapshot(source.snapshot().snapshot_id());
    if (snapshot == nullptr) co_return Fail(Code::kNotFound, "no such snapshot");
    if (snapshot->image != image) co_return Fail(Code::kInvalidArgument, kOtherKind);
    volume.source_snapshot = snapshot->id;
    at_least = snapshot->size_bytes;
    copy_from = c_.store.SnapshotDir(snapshot->id);
  } else if (source.has_volume()) {
    const StoredVolume* original = c_.store.FindVolume(source.volume().volume_id());
    if (original == nullptr) co_return Fail(Code::kNotFound, "no such source volume");
    if (original->image != image) co_return Fail(Code::kInvalidArgument, kOtherKind);
    volume.source_volume = original->id;
    at_least = original->capacity_bytes;
    copy_from = c_.store.VolumeDir(original->id);
  }
  CSI_CO_ASSIGN_OR_RETURN(const int64_t size, SizeFor(request.capacity_range(), at_least));

  if (const StoredVolume* known = c_.store.FindVolumeByName(request.name())) {
    const CapacityRange& range = request.capacity_range();
    const bool fits = known->capacity_bytes >= range.required_bytes() &&
                      (range.limit_bytes() == 0 || known->capacity_bytes <= range.limit_bytes());
    const bool same_source = known->source_snapshot == volume.source_snapshot &&
                             known->source_volume == volume.source_volume;
    if (!fits || !same_source || known->block != block) {
      co_return Fail(Code::kAlreadyExists, "a different volume has the name " + request.name());
    }
    Fill(*known, response->mutable_volume());
    co_return Status();
  }
  if (c_.store.used_bytes() + size > c_.options.capacity_bytes) {
    co_return Fail(Code::kResourceExhausted, "the backend is full");
  }

  volume.id = "vol-" + c_.random.Uuid();
  volume.name = request.name();
  volume.capacity_bytes = size;
  volume.block = block;
  volume.image = image;
  volume.fs_type = fs_type;
  volume.context["name"] = request.name();
  // The const getter: the other one changes `parameters`.
  for (const auto& [key, value] : std::as_const(request).mutable_parameters()) {
    volume.mutable_parameters[key] = value;
  }
  if (!c_.options.topology.empty()) {
    const TopologyRequirement& wanted = request.accessibility_requirements();
    const Topology* where = nullptr;
    if (!wanted.preferred().empty()) {
      where = &wanted.preferred(0);
    } else if (!wanted.requisite().empty()) {
      where = &wanted.requisite(0);
    }
    if (where != nullptr) {
      for (const auto& [key, value] : where->segments()) volume.topology[key] = value;
    } else {
      volume.topology = c_.options.topology;
    }
  }
  const std::string folder = c_.store.VolumeDir(volume.id);
  Status written = co_await Work(c_, [folder, volume, copy_from] {
    Status status = VolumeStore::Write(folder, volume, VolumeStore::Data::kCreate, copy_from);
    if (!status.ok()) (void)VolumeStore::Remove(folder);
    return status;
  });
  if (!written.ok()) co_return Fail(Code::kInternal, written.message());
  Fill(volume, response->mutable_volume());
  c_.store.Keep(std::move(volume));
  co_return Status();
}

async::Task<Status> ControllerService::DeleteVolume(DeleteVolumeRequest request,
                                                    DeleteVolumeResponse*) {
  if (request.volume_id().empty()) co_return Fail(Code::kInvalidArgument, "no volume id");
  const StoredVolume* volume = c_.store.FindVolume(request.volume_id());
  if (volume == nullptr) co_return Status();
  const std::string name = "name/" + volume->name;
  CSI_CO_ASSIGN_OR_RETURN(KeyLocks::Held by_name, co_await c_.locks.Lock(name));
  CSI_CO_ASSIGN_OR_RETURN(KeyLocks::Held by_id, co_await c_.locks.Lock(request.volume_id()));
  volume = c_.store.FindVolume(request.volume_id());
  if (volume == nullptr) co_return Status();
  if (!volume->published.empty()) {
    co_return Fail(Code::kFailedPrecondition, "the volume is published at a node");
  }
  const std::string folder = c_.store.VolumeDir(volume->id);
  CSI_CO_RETURN_IF_ERROR(co_await Work(c_, [folder] {
    if (VolumeStore::IsStaged(folder)) {
      return Fail(Code::kFailedPrecondition, "the volume is staged at a node");
    }
    return VolumeStore::Remove(folder);
  }));
  c_.store.ForgetVolume(request.volume_id());
  co_return Status();
}

async::Task<Status> ControllerService::Publish(ControllerPublishVolumeRequest request,
                                               ControllerPublishVolumeResponse* response) {
  if (request.volume_id().empty()) co_return Fail(Code::kInvalidArgument, "no volume id");
  if (request.node_id().empty()) co_return Fail(Code::kInvalidArgument, "no node id");
  if (!request.has_volume_capability()) {
    co_return Fail(Code::kInvalidArgument, "no volume capability");
  }
  CSI_CO_RETURN_IF_ERROR(CheckCapability(request.volume_capability()));
  CSI_CO_ASSIGN_OR_RETURN(KeyLocks::Held held, co_await c_.locks.Lock(request.volume_id()));
  const StoredVolume* found = c_.store.FindVolume(request.volume_id());
  const bool kept = found != nullptr || !c_.options.any_volume;
  if (kept && found == nullptr) co_return Fail(Code::kNotFound, "no such volume");
  if (!KnowsNode(request.node_id())) co_return Fail(Code::kNotFound, "no such node");
  (*response->mutable_publish_context())["device"] = "/dev/sample/" + request.volume_id();
  if (!kept) co_return Status();

  auto published = found->published.find(request.node_id());
  if (published != found->published.end()) {
    if (published->second == request.readonly()) co_return Status();
    co_return Fail(Code::kAlreadyExists, "published at the node with another read-only mode");
  }
  const Mode::Mode mode = request.volume_capability().access_mode().mode();
  const bool multi_node = mode == Mode::MULTI_NODE_MULTI_WRITER ||
                          mode == Mode::MULTI_NODE_READER_ONLY ||
                          mode == Mode::MULTI_NODE_SINGLE_WRITER;
  if (!multi_node && !found->published.empty()) {
    co_return Fail(Code::kFailedPrecondition,
                   "published at node " + found->published.begin()->first);
  }
  if (c_.options.max_volumes_per_node > 0) {
    const auto& all = c_.store.volumes();
    const auto used = std::count_if(all.begin(), all.end(), [&](const auto& entry) {
      return entry.second.published.contains(request.node_id());
    });
    if (used >= c_.options.max_volumes_per_node) {
      co_return Fail(Code::kResourceExhausted, "the node holds its most volumes");
    }
  }
  StoredVolume changed = *found;
  changed.published[request.node_id()] = request.readonly();
  co_return co_await Save(std::move(changed));
}

async::Task<Status> ControllerService::Unpublish(ControllerUnpublishVolumeRequest request,
                                                 ControllerUnpublishVolumeResponse*) {
  if (request.volume_id().empty()) co_return Fail(Code::kInvalidArgument, "no volume id");
  CSI_CO_ASSIGN_OR_RETURN(KeyLocks::Held held, co_await c_.locks.Lock(request.volume_id()));
  const StoredVolume* found = c_.store.FindVolume(request.volume_id());
  if (found == nullptr) co_return Status();
  StoredVolume changed = *found;
  if (request.node_id().empty()) {
    changed.published.clear();
  } else if (changed.published.erase(request.node_id()) == 0) {
    co_return Status();
  }
  co_return co_await Save(std::move(changed));
}

async::Task<Status> ControllerService::Validate(ValidateVolumeCapabilitiesRequest request,
                                                ValidateVolumeCapabilitiesResponse* response) {
  if (request.volume_id().empty()) co_return Fail(Code::kInvalidArgument, "no volume id");
  if (request.volume_capabilities().empty()) {
    co_return Fail(Code::kInvalidArgument, "no volume capabilities");
  }
  const StoredVolume* volume = c_.store.FindVolume(request.volume_id());
  if (volume == nullptr) co_return Fail(Code::kNotFound, "no such volume");
  for (const VolumeCapability& capability : request.volume_capabilities()) {
    CSI_CO_RETURN_IF_ERROR(CheckCapability(capability));
    if (capability.has_block() != volume->block) {
      response->set_message("the volume has the other access type");
      co_return Status();
    }
  }
  auto* confirmed = response->mutable_confirmed();
  *confirmed->mutable_volume_capabilities() = request.volume_capabilities();
  *confirmed->mutable_volume_context() = request.volume_context();
  *confirmed->mutable_parameters() = request.parameters();
  co_return Status();
}

// One page of an ordered map. A token is the number of the first entry to come.
template <typename MapType, typename Visit>
Status Page(const MapType& all, const std::string& token, int32_t max_entries,
            std::string* next_token, Visit visit) {
  if (max_entries < 0) return Fail(Code::kInvalidArgument, "max_entries is negative");
  size_t start = 0;
  if (!token.empty()) {
    auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), start);
    if (error != std::errc() || end != token.data() + token.size() || start > all.size()) {
      return Fail(Code::kAborted, "the starting token is not ours");
    }
  }
  auto it = std::next(all.begin(), static_cast<std::ptrdiff_t>(start));
  int32_t count = 0;
  for (; it != all.end() && (max_entries == 0 || count < max_entries); ++it, ++count) visit(*it);
  if (it != all.end()) *next_token = std::to_string(start + static_cast<size_t>(count));
  return Status();
}

async::Task<Status> ControllerService::ListVolumes(ListVolumesRequest request,
                                                   ListVolumesResponse* response) {
  std::string next;
  CSI_CO_RETURN_IF_ERROR(Page(c_.store.volumes(), request.starting_token(), request.max_entries(),
                              &next, [&](const auto& entry) {
                                auto* out = response->add_entries();
                                Fill(entry.second, out->mutable_volume());
                                for (const auto& [node, read_only] : entry.second.published) {
                                  out->mutable_status()->add_published_node_ids(node);
                                }
                                if (!Announces(c_.options, "CONTROLLER", "VOLUME_CONDITION")) {
                                  return;
                                }
                                auto* condition = out->mutable_status()->mutable_volume_condition();
                                condition->set_message("healthy");
                              }));
  response->set_next_token(next);
  co_return Status();
}

async::Task<Status> ControllerService::GetCapacity(GetCapacityRequest,
                                                   GetCapacityResponse* response) {
  response->set_available_capacity(
      std::max<int64_t>(0, c_.options.capacity_bytes - c_.store.used_bytes()));
  response->mutable_maximum_volume_size()->set_value(c_.options.max_volume_bytes);
  response->mutable_minimum_volume_size()->set_value(1);
  co_return Status();
}

async::Task<Status> ControllerService::Capabilities(ControllerGetCapabilitiesRequest,
                                                    ControllerGetCapabilitiesResponse* response) {
  for (RPC::Type type :
       {RPC::CREATE_DELETE_VOLUME, RPC::PUBLISH_UNPUBLISH_VOLUME, RPC::LIST_VOLUMES,
        RPC::GET_CAPACITY, RPC::CREATE_DELETE_SNAPSHOT, RPC::LIST_SNAPSHOTS, RPC::CLONE_VOLUME,
        RPC::PUBLISH_READONLY, RPC::EXPAND_VOLUME, RPC::LIST_VOLUMES_PUBLISHED_NODES,
        RPC::VOLUME_CONDITION, RPC::GET_VOLUME, RPC::SINGLE_NODE_MULTI_WRITER, RPC::MODIFY_VOLUME,
        RPC::GET_SNAPSHOT}) {
    if (!Announces(c_.options, "CONTROLLER", RPC::Type_Name(type))) continue;
    response->add_capabilities()->mutable_rpc()->set_type(type);
  }
  co_return Status();
}

async::Task<Status> ControllerService::CreateSnapshot(CreateSnapshotRequest request,
                                                      CreateSnapshotResponse* response) {
  if (request.name().empty()) co_return Fail(Code::kInvalidArgument, "no snapshot name");
  if (request.source_volume_id().empty()) {
    co_return Fail(Code::kInvalidArgument, "no source volume id");
  }
  CSI_CO_ASSIGN_OR_RETURN(KeyLocks::Held held,
                          co_await c_.locks.Lock("snapshot/" + request.name()));
  if (const StoredSnapshot* known = c_.store.FindSnapshotByName(request.name())) {
    if (known->source_volume != request.source_volume_id()) {
      co_return Fail(Code::kAlreadyExists, "a snapshot of another volume has the name");
    }
    Fill(*known, response->mutable_snapshot());
    co_return Status();
  }
  const StoredVolume* source = c_.store.FindVolume(request.source_volume_id());
  if (source == nullptr) co_return Fail(Code::kNotFound, "no such source volume");
  StoredSnapshot snapshot;
  snapshot.id = "snap-" + c_.random.Uuid();
  snapshot.name = request.name();
  snapshot.source_volume = source->id;
  snapshot.size_bytes = source->capacity_bytes;
  snapshot.block = source->block;
  snapshot.image = source->image;
  snapshot.creation_seconds =
      std::chrono::duration_cast<std::chrono::seconds>(c_.loop.WallNow().time_since_epoch())
          .count();
  const std::string folder = c_.store.SnapshotDir(snapshot.id);
  const std::string from = c_.store.VolumeDir(source->id);
  CSI_CO_RETURN_IF_ERROR(co_await Work(c_, [folder, snapshot, from] {
    Status status = VolumeStore::Write(folder, snapshot, from);
    if (!status.ok()) (void)VolumeStore::Remove(folder);
    return status;
  }));
  Fill(snapshot, response->mutable_snapshot());
  c_.store.Keep(std::move(snapshot));
  co_return Status();
}

async::Task<Status> ControllerService::DeleteSnapshot(DeleteSnapshotRequest request,
                                                      DeleteSnapshotResponse*) {
  if (request.snapshot_id().empty()) co_return Fail(Code::kInvalidArgument, "no snapshot id");
  if (c_.store.FindSnapshot(request.snapshot_id()) == nullptr) co_return Status();
  const std::string folder = c_.store.SnapshotDir(request.snapshot_id());
  CSI_CO_RETURN_IF_ERROR(co_await Work(c_, [folder] { return VolumeStore::Remove(folder); }));
  c_.store.ForgetSnapshot(request.snapshot_id());
  co_return Status();
}

async::Task<Status> ControllerService::ListSnapshots(ListSnapshotsRequest request,
                                                     ListSnapshotsResponse* response) {
  std::map<std::string, const StoredSnapshot*> chosen;
  for (const auto& [id, snapshot] : c_.store.snapshots()) {
    if (!request.snapshot_id().empty() && id != request.snapshot_id()) continue;
    if (!request.source_volume_id().empty() &&
        snapshot.source_volume != request.source_volume_id()) {
      continue;
    }
    chosen[id] = &snapshot;
  }
  std::string next;
  CSI_CO_RETURN_IF_ERROR(
      Page(chosen, request.starting_token(), request.max_entries(), &next, [&](const auto& entry) {
        Fill(*entry.second, response->add_entries()->mutable_snapshot());
      }));
  response->set_next_token(next);
  co_return Status();
}

async::Task<Status> ControllerService::GetSnapshot(GetSnapshotRequest request,
                                                   GetSnapshotResponse* response) {
  if (request.snapshot_id().empty()) co_return Fail(Code::kInvalidArgument, "no snapshot id");
  const StoredSnapshot* snapshot = c_.store.FindSnapshot(request.snapshot_id());
  if (snapshot == nullptr) co_return Fail(Code::kNotFound, "no such snapshot");
  Fill(*snapshot, response->mutable_snapshot());
  co_return Status();
}

async::Task<Status> ControllerService::Expand(ControllerExpandVolumeRequest request,
                                              ControllerExpandVolumeResponse* response) {
  if (request.volume_id().empty()) co_return Fail(Code::kInvalidArgument, "no volume id");
  if (!request.has_capacity_range()) co_return Fail(Code::kInvalidArgument, "no capacity range");
  CSI_CO_ASSIGN_OR_RETURN(KeyLocks::Held held, co_await c_.locks.Lock(request.volume_id()));
  const StoredVolume* found = c_.store.FindVolume(request.volume_id());
  if (found == nullptr) co_return Fail(Code::kNotFound, "no such volume");
  CSI_CO_ASSIGN_OR_RETURN(const int64_t size,
                          SizeFor(request.capacity_range(), found->capacity_bytes));
  response->set_capacity_bytes(size);
  // The node grows block devices and the filesystems on images.
  response->set_node_expansion_required(found->image);
  StoredVolume changed = *found;
  changed.capacity_bytes = size;
  const std::string folder = c_.store.VolumeDir(changed.id);
  CSI_CO_RETURN_IF_ERROR(
      co_await Work(c_, [folder, changed] { return VolumeStore::Grow(folder, changed); }));
  c_.store.Keep(std::move(changed));
  co_return Status();
}

async::Task<Status> ControllerService::GetVolume(ControllerGetVolumeRequest request,
                                                 ControllerGetVolumeResponse* response) {
  if (request.volume_id().empty()) co_return Fail(Code::kInvalidArgument, "no volume id");
  const StoredVolume* volume = c_.store.FindVolume(request.volume_id());
  if (volume == nullptr) co_return Fail(Code::kNotFound, "no such volume");
  Fill(*volume, response->mutable_volume());
  for (const auto& [node, read_only] : volume->published) {
    response->mutable_status()->add_published_node_ids(node);
  }
  response->mutable_status()->mutable_volume_condition()->set_message("healthy");
  co_return Status();
}

async::Task<Status> ControllerService::Modify(ControllerModifyVolumeRequest request,
                                              ControllerModifyVolumeResponse*) {
  if (request.volume_id().empty()) co_return Fail(Code::kInvalidArgument, "no volume id");
  CSI_CO_ASSIGN_OR_RETURN(KeyLocks::Held held, co_await c_.locks.Lock(request.volume_id()));
  const StoredVolume* found = c_.store.FindVolume(request.volume_id());
  if (found == nullptr) co_return Fail(Code::kNotFound, "no such volume");
  CSI_CO_RETURN_IF_ERROR(CheckMutable(std::as_const(request).mutable_parameters()));
  StoredVolume changed = *found;
  // The const getter: the other one changes `parameters`.
  for (const auto& [key, value] : std::as_const(request).mutable_parameters()) {
    changed.mutable_parameters[key] = value;
  }
  co_return co_await Save(std::move(changed));
}

}  // namespace

void RegisterControllerService(rpc::Server& server, DriverContext& context) {
  auto service = std::make_shared<ControllerService>(context);
  auto add = [&]<typename Req, typename Resp>(
                 const char* method, async::Task<Status> (ControllerService::*member)(Req, Resp*)) {
    Serve<Req, Resp>(server, context, "csi.v1.Controller", method,
                     [service, member](Req request, Resp* response) {
                       return ((*service).*member)(std::move(request), response);
                     });
  };
  add("CreateVolume", &ControllerService::CreateVolume);
  add("DeleteVolume", &ControllerService::DeleteVolume);
  add("ControllerPublishVolume", &ControllerService::Publish);
  add("ControllerUnpublishVolume", &ControllerService::Unpublish);
  add("ValidateVolumeCapabilities", &ControllerService::Validate);
  add("ListVolumes", &ControllerService::ListVolumes);
  add("GetCapacity", &ControllerService::GetCapacity);
  add("ControllerGetCapabilities", &ControllerService::Capabilities);
  add("CreateSnapshot", &ControllerService::CreateSnapshot);
  add("DeleteSnapshot", &ControllerService::DeleteSnapshot);
  add("ListSnapshots", &ControllerService::ListSnapshots);
  add("GetSnapshot", &ControllerService::GetSnapshot);
  add("ControllerExpandVolume", &ControllerService::Expand);
  add("ControllerGetVolume", &ControllerService::GetVolume);
  add("ControllerModifyVolume", &ControllerService::Modify);
}

}  // namespace csinative::driver
