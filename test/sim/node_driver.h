// SPDX-License-Identifier: Apache-2.0
//
// The driver's plugin on one machine: its registration socket, and the part of the node calls that
// touches the machine; volumes themselves are Backend's. It is upgraded now and then: the socket
// goes, calls fail for a while, and what comes back may be able to do other things. One thread.
#pragma once

#include <google/protobuf/message.h>

#include <functional>
#include <set>
#include <string>

#include "proto/csi/v1/csi.pb.h"
#include "test/sim/backend.h"
#include "test/sim/node.h"

namespace csinative::sim {

class NodeDriver final : public NodeService {
 public:
  // `id` is how the driver calls the node. Borrowed: all outlive this.
  NodeDriver(Surroundings& world, Checker& checker, Machine& machine, std::string id);

  const std::string& id() const { return id_; }
  const std::string& socket() const { return socket_; }
  // Told after the socket has come or gone.
  void set_on_socket(std::function<void()> on_socket) { on_socket_ = std::move(on_socket); }

  // With whatever it is able to do this time.
  void Start();
  void StartSoon();
  void Stop();
  // With the machine; its socket stays on the disk.
  void Crash();
  // A new version takes the place of this one after a while.
  void Upgrade();

  bool up() const override { return up_; }
  bool Answer(const std::string& name, google::protobuf::Message* response) override;
  Status Perform(const std::string& name, const google::protobuf::Message& request) override;

 private:
  Status Stage(const ::csi::v1::NodeStageVolumeRequest& request);
  Status Publish(const ::csi::v1::NodePublishVolumeRequest& request);
  Status Unpublish(const ::csi::v1::NodeUnpublishVolumeRequest& request);
  Status Unstage(const ::csi::v1::NodeUnstageVolumeRequest& request);
  Status UnmountIfMounted(const std::string& path);

  Surroundings& world_;
  Checker& checker_;
  Machine& machine_;
  const std::string id_;
  const std::string socket_;
  std::function<void()> on_socket_;
  bool up_ = false;
  int starts_ = 0;  // planned; an older plan is void
  std::set<int> capabilities_;
};

}  // namespace csinative::sim
