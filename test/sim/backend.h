// SPDX-License-Identifier: Apache-2.0
//
// The storage behind the simulated driver: the truth about volumes, where they are attached, staged
// and published. Answers CSI calls at once, and checks that each request obeys the CSI
// specification and the order of a volume's life. One thread.
//
// Does not model: capacity, topology, snapshots.
#pragma once

#include <google/protobuf/message.h>

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "lib/base/clock.h"
#include "lib/base/status.h"
#include "proto/csi/v1/csi.pb.h"
#include "test/sim/checker.h"

namespace csinative::sim {

// The driver's plugin on one machine, where nodes have a disk.
class NodeService {
 public:
  virtual ~NodeService() = default;
  virtual bool up() const = 0;
  // Answers a call that is not about a volume; false if it is none.
  virtual bool Answer(const std::string& name, google::protobuf::Message* response) = 0;
  // What a call does on the machine. The backend has agreed to it.
  virtual Status Perform(const std::string& name, const google::protobuf::Message& request) = 0;
};

class Backend {
 public:
  struct OnNode {
    std::string staging;            // empty: not staged
    std::string request;            // what NodeStageVolume asked for, to compare repeats
    std::set<std::string> targets;  // published here
  };
  struct Volume {
    std::string name;
    std::string request;  // what CreateVolume asked for, to compare repeats
    int64_t bytes = 0;
    bool single_node = false;
    std::set<std::string> attached;                       // node ids
    std::set<std::string> taken_away;                     // from these, and not attached again
    std::map<std::string, MonotonicTime> attached_since;  // where it is attached
    std::map<std::string, OnNode> on_node;                // node id
  };

  Backend(Checker& checker, Trace& trace, const Clock& clock)
      : checker_(checker), trace_(trace), clock_(clock) {}

  // Whether the volume may be deleted, as the API server's objects say; set by the world.
  void set_may_delete(std::function<bool(const std::string& id)> may_delete) {
    may_delete_ = std::move(may_delete);
  }

  // By node id; null where a node has no disk. Without it no node has one.
  void set_node_service(std::function<NodeService*(const std::string& node_id)> find) {
    find_node_service_ = std::move(find);
  }

  // The volume a request is about, for mutual exclusion: the id, or the id that a name will get.
  static std::string SubjectOf(const google::protobuf::Message& request);
  // Performs the call. An RpcStatus if it fails. `node_id` is where a node call arrives.
  Status Perform(const std::string& method, const std::string& node_id,
                 const google::protobuf::Message& request, google::protobuf::Message* response);

  // Whether the volume is staged there as a device.
  bool HasDevice(const std::string& id, const std::string& node) const;

  // Somebody who knows nothing of Kubernetes takes the volume off the node; until it is attached
  // there again it cannot be staged.
  void TakeAway(const std::string& id, const std::string& node);

  // The node loses power: what was mounted there is gone, and its calls fail until it is back. The
  // storage knows that it is fenced, so volumes may be taken away from it.
  void LoseNode(const std::string& node);
  void ReturnNode(const std::string& node) { lost_.erase(node); }
  bool IsLost(const std::string& node) const { return lost_.count(node) > 0; }
  // Counts the losses of a node.
  uint64_t boot(const std::string& node) const {
    const auto found = boots_.find(node);
    return found == boots_.end() ? 0 : found->second;
  }

  const std::map<std::string, Volume>& volumes() const { return volumes_; }
  // The administrator removes what a Retain policy left.
  void Remove(const std::string& id) { volumes_.erase(id); }
  uint64_t operations() const { return operations_; }

 private:
  using CreateRequest = ::csi::v1::CreateVolumeRequest;
  Status Create(const CreateRequest& request, ::csi::v1::CreateVolumeResponse* response);
  Status Delete(const ::csi::v1::DeleteVolumeRequest& request);
  Status Attach(const ::csi::v1::ControllerPublishVolumeRequest& request,
                ::csi::v1::ControllerPublishVolumeResponse* response);
  Status Detach(const ::csi::v1::ControllerUnpublishVolumeRequest& request);
  Status List(const ::csi::v1::ListVolumesRequest& request,
              ::csi::v1::ListVolumesResponse* response) const;
  Status Stage(const std::string& node, const ::csi::v1::NodeStageVolumeRequest& request);
  Status Publish(const std::string& node, const ::csi::v1::NodePublishVolumeRequest& request);
  Status Unpublish(const std::string& node, const ::csi::v1::NodeUnpublishVolumeRequest& request);
  Status Unstage(const std::string& node, const ::csi::v1::NodeUnstageVolumeRequest& request);
  static void Unattach(const std::string& node, Volume* volume);
  void CheckNodeSecrets(const std::string& name, const google::protobuf::Message& request);
  // Records a request that breaks the contract, and refuses it.
  Status Broken(const std::string& what);

  Checker& checker_;
  Trace& trace_;
  const Clock& clock_;
  std::function<bool(const std::string&)> may_delete_;
  std::function<NodeService*(const std::string&)> find_node_service_;
  std::map<std::string, Volume> volumes_;
  std::set<std::string> lost_;             // nodes
  std::map<std::string, uint64_t> boots_;  // by node
  uint64_t operations_ = 0;
};

}  // namespace csinative::sim
