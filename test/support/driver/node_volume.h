// SPDX-License-Identifier: Apache-2.0
//
// What the node service does with one volume: real mounts and loop devices. Every step looks at the
// kernel first, so each can be repeated after any crash. Root only; blocking pool. Failures of
// system calls are kInternal for the caller, CSI's own codes are RpcStatus.
#pragma once

#include <cstdint>
#include <string>

#include "lib/base/result.h"
#include "test/support/driver/volume_store.h"

namespace csinative::driver {

class NodeVolume {
 public:
  // Reads the description; kNotFound if there is no such volume.
  static Result<NodeVolume> Open(std::string folder);

  struct Access {
    bool block = false;
    std::string fs_type;  // "": the volume's, or ext4
    std::vector<std::string> mount_flags;
    bool read_only = false;
    bool single_writer = false;  // at most one target on this node
  };

  // Attaches the device of an image; mounts a volume with a filesystem at `staging`.
  Status Stage(const std::string& node_id, const std::string& staging, const Access& access) const;
  // Shows the volume at `target`: from `staging`, or directly if that is empty.
  Status Publish(const std::string& staging, const std::string& target, const Access& access) const;
  // Without volume: one whose description is gone is cleaned up all the same.
  static Status Unstage(const std::string& folder, const std::string& node_id,
                        const std::string& staging);
  static Status Unpublish(const std::string& folder, const std::string& target);

  struct Usage {
    int64_t total_bytes = 0, used_bytes = 0, available_bytes = 0;
    int64_t total_inodes = 0, used_inodes = 0, available_inodes = 0;
    bool block = false;         // only total_bytes is known
    std::string abnormal = {};  // why the volume is not healthy
  };
  // kNotFound if the volume is not at `path`.
  Result<Usage> Stats(const std::string& path) const;
  // Makes the size of the image visible at `path`; returns the new size.
  Result<int64_t> Expand(const std::string& path, int64_t required_bytes) const;

  const Volume& volume() const { return volume_; }

 private:
  NodeVolume(std::string folder, Volume volume)
      : folder_(std::move(folder)), volume_(std::move(volume)) {}

  std::string data() const { return folder_ + "/data"; }
  std::string image() const { return folder_ + "/image"; }
  // Whether `path` shows this volume.
  Result<bool> IsAt(const std::string& path) const;
  Status MountAt(const std::string& path, const Access& access) const;
  // Other targets than `target` and `staging` that show the volume.
  Result<bool> HasOtherTarget(const std::string& staging, const std::string& target) const;

  std::string folder_;
  Volume volume_;
};

}  // namespace csinative::driver
