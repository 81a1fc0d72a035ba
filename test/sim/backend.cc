// SPDX-License-Identifier: Apache-2.0
#include "test/sim/backend.h"

#include <iterator>

#include "lib/base/strings.h"
#include "test/sim/conduct.h"

namespace csinative::sim {
namespace {

using ::google::protobuf::Message;

constexpr int kInvalidArgument = 3;
constexpr int kNotFound = 5;
constexpr int kUnimplemented = 12;
constexpr int kUnavailable = 14;
constexpr int kUnauthenticated = 16;

std::string IdOf(const std::string& name) { return StrCat("vol-", name); }

bool IsSingleNode(const ::csi::v1::VolumeCapability& capability) {
  using Mode = ::csi::v1::VolumeCapability::AccessMode;
  switch (capability.access_mode().mode()) {
    case Mode::SINGLE_NODE_WRITER:
    case Mode::SINGLE_NODE_SINGLE_WRITER:
    case Mode::SINGLE_NODE_MULTI_WRITER:
      return true;
    default:
      return false;
  }
}

bool HasSecret(const ::google::protobuf::Map<std::string, std::string>& secrets) {
  const auto found = secrets.find(kSecretKey);
  return found != secrets.end() && found->second == kSecretMarker;
}

// What must be the same when a name is asked for again.
std::string Fixed(::csi::v1::CreateVolumeRequest request) {
  request.clear_accessibility_requirements();
  request.clear_secrets();
  // The access mode says what the driver could when it was asked: an upgrade changes it.
  for (auto& capability : *request.mutable_volume_capabilities()) capability.clear_access_mode();
  return request.ShortDebugString();
}

// What must be the same when a volume is staged again, and when it is published. A driver that was
// upgraded meanwhile may be told the single-node access mode by its other name.
template <typename Request>
std::string Fixed(const Request& request) {
  ::csi::v1::VolumeCapability capability = request.volume_capability();
  if (IsSingleNode(capability)) {
    capability.mutable_access_mode()->set_mode(
        ::csi::v1::VolumeCapability::AccessMode::SINGLE_NODE_WRITER);
  }
  // Of each pod, and only if the driver can do it.
  if (capability.has_mount()) capability.mutable_mount()->clear_volume_mount_group();
  std::string text = capability.ShortDebugString();
  // Maps of messages have no order.
  for (const auto* field : {&request.publish_context(), &request.volume_context()}) {
    const std::map<std::string, std::string> sorted(field->begin(), field->end());
    for (const auto& [key, value] : sorted) text += StrCat(" ", key, "=", value);
    text += ";";
  }
  return text;
}

// Longer than an attach is tried again because an answer was lost, or the note of its success.
constexpr Duration kNoReasonToRepeat = std::chrono::minutes(15);

}  // namespace

std::string Backend::SubjectOf(const Message& request) {
  if (request.GetDescriptor()->full_name() == "csi.v1.CreateVolumeRequest") {
    return IdOf(static_cast<const CreateRequest&>(request).name());
  }
  const auto* field = request.GetDescriptor()->FindFieldByName("volume_id");
  return field == nullptr ? "" : request.GetReflection()->GetString(request, field);
}

Status Backend::Broken(const std::string& what) {
  checker_.Violation(what);
  return RpcStatus(kInvalidArgument, what);
}

bool Backend::HasDevice(const std::string& id, const std::string& node) const {
  const auto volume = volumes_.find(id);
  if (volume == volumes_.end()) return false;
  const auto here = volume->second.on_node.find(node);
  return here != volume->second.on_node.end() && here->second.request.starts_with("block");
}

void Backend::LoseNode(const std::string& node) {
  lost_.insert(node);
  ++boots_[node];
  for (auto& [id, volume] : volumes_) volume.on_node.erase(node);
}

Status Backend::Perform(const std::string& method, const std::string& node_id,
                        const Message& request, Message* response) {
  const std::string name = method.substr(method.rfind('/') + 1);
  NodeService* node = find_node_service_ ? find_node_service_(node_id) : nullptr;
  if (node != nullptr && !node->up()) return RpcStatus(kUnavailable, "connection refused");
  if (node != nullptr && node->Answer(name, response)) return Status();
  Status status;
  if (IsLost(node_id)) {
    status = RpcStatus(kUnavailable, "the node is down");
  } else if (name == "CreateVolume") {
    status = Create(static_cast<const CreateRequest&>(request),
                    static_cast<::csi::v1::CreateVolumeResponse*>(response));
  } else if (name == "DeleteVolume") {
    status = Delete(static_cast<const ::csi::v1::DeleteVolumeRequest&>(request));
  } else if (name == "ControllerPublishVolume") {
    status = Attach(static_cast<const ::csi::v1::ControllerPublishVolumeRequest&>(request),
                    static_cast<::csi::v1::ControllerPublishVolumeResponse*>(response));
  } else if (name == "ControllerUnpublishVolume") {
    status = Detach(static_cast<const ::csi::v1::ControllerUnpublishVolumeRequest&>(request));
  } else if (name == "ListVolumes") {
    status = List(static_cast<const ::csi::v1::ListVolumesRequest&>(request),
                  static_cast<::csi::v1::ListVolumesResponse*>(response));
  } else if (name == "NodeStageVolume") {
    status = Stage(node_id, static_cast<const ::csi::v1::NodeStageVolumeRequest&>(request));
  } else if (name == "NodePublishVolume") {
    status = Publish(node_id, static_cast<const ::csi::v1::NodePublishVolumeRequest&>(request));
  } else if (name == "NodeUnpublishVolume") {
    status = Unpublish(node_id, static_cast<const ::csi::v1::NodeUnpublishVolumeRequest&>(request));
  } else if (name == "NodeUnstageVolume") {
    status = Unstage(node_id, static_cast<const ::csi::v1::NodeUnstageVolumeRequest&>(request));
  } else {
    status = RpcStatus(kUnimplemented, StrCat("unknown method ", method));
  }
  if (status.ok() && node != nullptr) {
    CheckNodeSecrets(name, request);
    status = node->Perform(name, request);
  }
  if (status.ok()) ++operations_;
  trace_.Add("driver", StrCat(name, " ", SubjectOf(request), " ", node_id,
                              status.ok() ? ": ok" : StrCat(": ", status.message())));
  return status;
}

// The stand-in for kubelet sends none.
void Backend::CheckNodeSecrets(const std::string& name, const Message& request) {
  const bool has =
      name == "NodeStageVolume"
          ? HasSecret(static_cast<const ::csi::v1::NodeStageVolumeRequest&>(request).secrets())
      : name == "NodePublishVolume"
          ? HasSecret(static_cast<const ::csi::v1::NodePublishVolumeRequest&>(request).secrets())
          : true;
  if (!has) checker_.Violation(StrCat(name, " without its secret"));
}

Status Backend::Create(const CreateRequest& request, ::csi::v1::CreateVolumeResponse* response) {
  if (request.name().empty()) return Broken("CreateVolume without a name");
  if (request.volume_capabilities().empty()) return Broken("CreateVolume without capabilities");
  if (!HasSecret(request.secrets())) return Broken("CreateVolume without its secret");
  const std::string id = IdOf(request.name());
  const std::string fixed = Fixed(request);
  const auto [it, is_new] = volumes_.try_emplace(id);
  Volume& volume = it->second;
  if (is_new) {
    volume.name = request.name();
    volume.request = fixed;
    volume.bytes = request.capacity_range().required_bytes();
    volume.single_node = IsSingleNode(request.volume_capabilities(0));
  } else if (volume.request != fixed) {
    return Broken(StrCat("CreateVolume of ", request.name(), " repeated with other parameters: ",
                         fixed, " instead of ", volume.request));
  }
  response->mutable_volume()->set_volume_id(id);
  response->mutable_volume()->set_capacity_bytes(volume.bytes);
  return Status();
}

Status Backend::Delete(const ::csi::v1::DeleteVolumeRequest& request) {
  if (request.volume_id().empty()) return Broken("DeleteVolume without an id");
  // csi-provisioner tries without a secret that it cannot read (provisioner 13): drivers refuse.
  if (!HasSecret(request.secrets())) return RpcStatus(kUnauthenticated, "no secret");
  const auto found = volumes_.find(request.volume_id());
  if (found == volumes_.end()) return Status();
  if (!found->second.attached.empty() || !found->second.on_node.empty()) {
    return Broken(StrCat("DeleteVolume of ", request.volume_id(), ", which is in use"));
  }
  if (may_delete_ && !may_delete_(request.volume_id())) {
    return Broken(StrCat("DeleteVolume of ", request.volume_id(), ", which is to be kept"));
  }
  volumes_.erase(found);
  return Status();
}

Status Backend::Attach(const ::csi::v1::ControllerPublishVolumeRequest& request,
                       ::csi::v1::ControllerPublishVolumeResponse* response) {
  if (request.volume_id().empty() || request.node_id().empty() ||
      !request.has_volume_capability()) {
    return Broken("ControllerPublishVolume with a field missing");
  }
  if (!HasSecret(request.secrets())) return Broken("ControllerPublishVolume without its secret");
  const auto found = volumes_.find(request.volume_id());
  if (found == volumes_.end()) return RpcStatus(kNotFound, "no such volume");
  Volume& volume = found->second;
  for (const std::string& node : volume.attached) {
    if (node != request.node_id() && volume.single_node) {
      return Broken(StrCat("ControllerPublishVolume of ", request.volume_id(), " to ",
                           request.node_id(), " while attached to ", node));
    }
  }
  // Repeats are allowed, but only where an answer or a note of it was lost.
  const auto since = volume.attached_since.try_emplace(request.node_id(), clock_.Now()).first;
  if (clock_.Now() - since->second > kNoReasonToRepeat) {
    return Broken(StrCat("ControllerPublishVolume of ", request.volume_id(), " to ",
                         request.node_id(), ", where it has been attached for long"));
  }
  volume.attached.insert(request.node_id());
  volume.taken_away.erase(request.node_id());
  (*response->mutable_publish_context())["device"] =
      StrCat(request.volume_id(), "@", request.node_id());
  return Status();
}

Status Backend::Detach(const ::csi::v1::ControllerUnpublishVolumeRequest& request) {
  if (request.volume_id().empty()) return Broken("ControllerUnpublishVolume without an id");
  if (!HasSecret(request.secrets())) return Broken("ControllerUnpublishVolume without its secret");
  const auto found = volumes_.find(request.volume_id());
  if (found == volumes_.end()) return Status();
  Volume& volume = found->second;
  if (volume.on_node.count(request.node_id()) > 0) {
    return Broken(StrCat("ControllerUnpublishVolume of ", request.volume_id(), " from ",
                         request.node_id(), ", where it is staged"));
  }
  Unattach(request.node_id(), &volume);
  volume.taken_away.erase(request.node_id());
  return Status();
}

void Backend::Unattach(const std::string& node, Volume* volume) {
  volume->attached.erase(node);
  volume->attached_since.erase(node);
}

void Backend::TakeAway(const std::string& id, const std::string& node) {
  Volume& volume = volumes_.at(id);
  Unattach(node, &volume);
  volume.taken_away.insert(node);
}

// The token is the last volume that was listed.
Status Backend::List(const ::csi::v1::ListVolumesRequest& request,
                     ::csi::v1::ListVolumesResponse* response) const {
  auto it = request.starting_token().empty() ? volumes_.begin()
                                             : volumes_.upper_bound(request.starting_token());
  for (; it != volumes_.end(); ++it) {
    auto* entry = response->add_entries();
    entry->mutable_volume()->set_volume_id(it->first);
    entry->mutable_volume()->set_capacity_bytes(it->second.bytes);
    entry->mutable_status();
    for (const std::string& node : it->second.attached) {
      entry->mutable_status()->add_published_node_ids(node);
    }
    if (request.max_entries() > 0 && response->entries_size() >= request.max_entries()) break;
  }
  if (it != volumes_.end() && std::next(it) != volumes_.end()) response->set_next_token(it->first);
  return Status();
}

Status Backend::Stage(const std::string& node, const ::csi::v1::NodeStageVolumeRequest& request) {
  if (request.volume_id().empty() || request.staging_target_path().empty() ||
      !request.has_volume_capability()) {
    return Broken("NodeStageVolume with a field missing");
  }
  const auto found = volumes_.find(request.volume_id());
  if (found == volumes_.end()) return RpcStatus(kNotFound, "no such volume");
  Volume& volume = found->second;
  if (volume.taken_away.count(node) > 0) return RpcStatus(kUnavailable, "there is no such device");
  if (volume.attached.count(node) == 0) {
    return Broken(StrCat("NodeStageVolume of ", request.volume_id(), " on ", node,
                         ", where it is not attached"));
  }
  const auto context = request.publish_context().find("device");
  if (context == request.publish_context().end() ||
      context->second != StrCat(request.volume_id(), "@", node)) {
    return Broken(StrCat("NodeStageVolume of ", request.volume_id(), " on ", node,
                         " without the publish context"));
  }
  OnNode& here = volume.on_node[node];
  if (!here.staging.empty() && here.staging != request.staging_target_path()) {
    return Broken(StrCat("NodeStageVolume of ", request.volume_id(), " at a second path"));
  }
  const std::string fixed = Fixed(request);
  if (!here.staging.empty() && here.request != fixed) {
    return Broken(StrCat("NodeStageVolume of ", request.volume_id(),
                         " repeated with other parameters: ", fixed, " instead of ", here.request));
  }
  here.staging = request.staging_target_path();
  here.request = fixed;
  return Status();
}

Status Backend::Publish(const std::string& node,
                        const ::csi::v1::NodePublishVolumeRequest& request) {
  if (request.volume_id().empty() || request.target_path().empty() ||
      !request.has_volume_capability()) {
    return Broken("NodePublishVolume with a field missing");
  }
  const auto found = volumes_.find(request.volume_id());
  if (found == volumes_.end()) return RpcStatus(kNotFound, "no such volume");
  const auto here = found->second.on_node.find(node);
  if (here == found->second.on_node.end()) {
    return Broken(StrCat("NodePublishVolume of ", request.volume_id(), " on ", node,
                         ", where it is not staged"));
  }
  if (here->second.staging != request.staging_target_path()) {
    return Broken(
        StrCat("NodePublishVolume of ", request.volume_id(), " from another staging path"));
  }
  const std::string fixed = Fixed(request);
  if (here->second.request != fixed) {
    return Broken(StrCat("NodePublishVolume of ", request.volume_id(),
                         " with other parameters: ", fixed, " instead of ", here->second.request));
  }
  here->second.targets.insert(request.target_path());
  return Status();
}

Status Backend::Unpublish(const std::string& node,
                          const ::csi::v1::NodeUnpublishVolumeRequest& request) {
  if (request.volume_id().empty() || request.target_path().empty()) {
    return Broken("NodeUnpublishVolume with a field missing");
  }
  const auto found = volumes_.find(request.volume_id());
  if (found == volumes_.end()) return RpcStatus(kNotFound, "no such volume");
  const auto here = found->second.on_node.find(node);
  if (here != found->second.on_node.end()) here->second.targets.erase(request.target_path());
  return Status();
}

Status Backend::Unstage(const std::string& node,
                        const ::csi::v1::NodeUnstageVolumeRequest& request) {
  if (request.volume_id().empty() || request.staging_target_path().empty()) {
    return Broken("NodeUnstageVolume with a field missing");
  }
  const auto found = volumes_.find(request.volume_id());
  if (found == volumes_.end()) return RpcStatus(kNotFound, "no such volume");
  const auto here = found->second.on_node.find(node);
  if (here == found->second.on_node.end()) return Status();
  if (!here->second.targets.empty()) {
    return Broken(StrCat("NodeUnstageVolume of ", request.volume_id(), " on ", node,
                         ", where it is published"));
  }
  found->second.on_node.erase(here);
  return Status();
}

}  // namespace csinative::sim
