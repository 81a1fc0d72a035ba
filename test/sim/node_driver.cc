// SPDX-License-Identifier: Apache-2.0
#include "test/sim/node_driver.h"

#include <utility>

#include "lib/base/strings.h"
#include "lib/mount/tree.h"
#include "proto/pluginregistration/v1/api.pb.h"
#include "test/sim/programs.h"

namespace csinative::sim {
namespace {

using ::google::protobuf::Message;
using Rpc = ::csi::v1::NodeServiceCapability::RPC;

constexpr int kInternal = 13;

}  // namespace

NodeDriver::NodeDriver(Surroundings& world, Checker& checker, Machine& machine, std::string id)
    : world_(world),
      checker_(checker),
      machine_(machine),
      id_(std::move(id)),
      socket_(StrCat(machine.paths().Registry(), "/", kDriverName, "-reg.sock")) {}

void NodeDriver::Start() {
  capabilities_ = {Rpc::STAGE_UNSTAGE_VOLUME};
  for (const int optional :
       {Rpc::SINGLE_NODE_MULTI_WRITER, Rpc::VOLUME_CONDITION, Rpc::VOLUME_MOUNT_GROUP}) {
    if (world_.plan.Below(2) == 0) capabilities_.insert(optional);
  }
  std::string text;
  for (const int capability : capabilities_) text += StrCat(" ", capability);
  world_.trace.Add(machine_.node(), StrCat("driver starts, able to do", text));
  up_ = true;
  mount::FileSystem& fs = machine_.fs();
  (void)fs.MakeDirectories(machine_.paths().Registry(), 0750);
  // One that was left by a crash is removed by the program that listens.
  (void)mount::RemoveIfPresent(fs, socket_);
  machine_.fs().MakeSpecial(socket_, mount::FileType::kSocket);
  if (on_socket_) on_socket_();
}

void NodeDriver::Stop() {
  if (!std::exchange(up_, false)) return;
  world_.trace.Add(machine_.node(), "driver stops");
  // A crash leaves the socket.
  if (world_.plan.Below(3) == 0) return;
  (void)mount::RemoveIfPresent(machine_.fs(), socket_);
  if (on_socket_) on_socket_();
}

void NodeDriver::StartSoon() {
  const int number = ++starts_;
  world_.loop.PostAt(
      world_.loop.Now() + world_.plan.Between(Duration::zero(), std::chrono::seconds(90)),
      [this, number] {
        if (starts_ == number && machine_.up()) Start();
      });
}

void NodeDriver::Crash() {
  up_ = false;
  ++starts_;
}

void NodeDriver::Upgrade() {
  if (!up_) return;
  Stop();
  StartSoon();
}

bool NodeDriver::Answer(const std::string& name, Message* response) {
  if (name == "NodeGetCapabilities") {
    auto* answer = static_cast<::csi::v1::NodeGetCapabilitiesResponse*>(response);
    for (const int capability : capabilities_) {
      answer->add_capabilities()->mutable_rpc()->set_type(static_cast<Rpc::Type>(capability));
    }
  } else if (name == "NodeGetInfo") {
    static_cast<::csi::v1::NodeGetInfoResponse*>(response)->set_node_id(id_);
  } else if (name == "GetInfo") {
    auto* answer = static_cast<::pluginregistration::PluginInfo*>(response);
    answer->set_type("CSIPlugin");
    answer->set_name(kDriverName);
    answer->set_endpoint(StrCat(machine_.paths().Plugins(), "/", kDriverName, "/csi.sock"));
    answer->add_supported_versions("1.0.0");
  } else if (name != "NotifyRegistrationStatus") {
    return false;
  }
  return true;
}

Status NodeDriver::Perform(const std::string& name, const Message& request) {
  Status status;
  if (name == "NodeStageVolume") {
    status = Stage(static_cast<const ::csi::v1::NodeStageVolumeRequest&>(request));
  } else if (name == "NodePublishVolume") {
    status = Publish(static_cast<const ::csi::v1::NodePublishVolumeRequest&>(request));
  } else if (name == "NodeUnpublishVolume") {
    status = Unpublish(static_cast<const ::csi::v1::NodeUnpublishVolumeRequest&>(request));
  } else if (name == "NodeUnstageVolume") {
    status = Unstage(static_cast<const ::csi::v1::NodeUnstageVolumeRequest&>(request));
  }
  if (status.ok()) return status;
  checker_.Violation(StrCat(machine_.node(), ": ", name, " ", request.ShortDebugString(),
                            " could not be done: ", status.message()));
  return RpcStatus(kInternal, status.message());
}

Status NodeDriver::Stage(const ::csi::v1::NodeStageVolumeRequest& request) {
  testing::FakeFileSystem& fs = machine_.fs();
  const std::string& path = request.staging_target_path();
  // It is not the driver who makes the directory.
  CSI_ASSIGN_OR_RETURN(const bool mounted, fs.IsMountPoint(path));
  if (mounted || request.volume_capability().has_block()) return Status();
  return fs.MountFilesystem("fs-" + request.volume_id(), path);
}

Status NodeDriver::Publish(const ::csi::v1::NodePublishVolumeRequest& request) {
  testing::FakeFileSystem& fs = machine_.fs();
  const std::string& target = request.target_path();
  // The last directory is made by the driver, its parent is not.
  CSI_RETURN_IF_ERROR(fs.Stat(mount::ParentOf(target)).status());
  if (request.volume_capability().has_block()) {
    if (!fs.Stat(target).ok()) fs.MakeSpecial(target, mount::FileType::kBlockDevice);
    return Status();
  }
  CSI_ASSIGN_OR_RETURN(const bool staged, fs.IsMountPoint(request.staging_target_path()));
  if (!staged) return FailedPreconditionError("nothing is mounted at the staging path");
  CSI_RETURN_IF_ERROR(fs.MakeDirectories(target, 0750));
  CSI_ASSIGN_OR_RETURN(const bool mounted, fs.IsMountPoint(target));
  if (mounted) return Status();
  return fs.BindMount(request.staging_target_path(), target);
}

Status NodeDriver::UnmountIfMounted(const std::string& path) {
  const auto mounted = machine_.fs().IsMountPoint(path);
  if (!mounted.ok()) return mount::IsMissing(mounted.status()) ? Status() : mounted.status();
  return *mounted ? machine_.fs().Unmount(path) : Status();
}

Status NodeDriver::Unpublish(const ::csi::v1::NodeUnpublishVolumeRequest& request) {
  CSI_RETURN_IF_ERROR(UnmountIfMounted(request.target_path()));
  return mount::RemoveIfPresent(machine_.fs(), request.target_path());
}

Status NodeDriver::Unstage(const ::csi::v1::NodeUnstageVolumeRequest& request) {
  return UnmountIfMounted(request.staging_target_path());
}

}  // namespace csinative::sim
