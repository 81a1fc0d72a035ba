// SPDX-License-Identifier: Apache-2.0
//
// What the sample driver is told at start. Values.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "lib/base/clock.h"

namespace csinative::driver {

struct DriverOptions {
  std::string name = "sample.csi-native.io";
  std::string version = "0.1.0";
  std::string endpoint;   // "unix:///abs/path"
  std::string state_dir;  // volumes/<id>/, snapshots/<id>/
  std::string node_id = "node-1";
  // Nodes that ControllerPublishVolume accepts besides node_id.
  std::vector<std::string> other_nodes;
  bool ready = true;           // what Probe answers
  int64_t unready_probes = 0;  // so many probes are answered otherwise, before the first ready one
  bool controller = true;
  bool node = true;
  // Names of plugin, controller and node capabilities that are not announced.
  std::set<std::string> without;
  // Segments of this node and of the volumes it makes, e.g.
  // topology.sample.csi-native.io/node=node-1. Empty: no topology.
  std::map<std::string, std::string> topology;
  // Keys of a VolumeAttributesClass that volumes have; others are refused.
  std::set<std::string> mutable_parameters = {"iops", "throughput", "tier"};
  bool any_volume = false;  // ControllerPublishVolume succeeds for volumes that are not there
  int64_t max_volumes_per_node = 0;      // 0: no limit
  int64_t max_volume_bytes = 1LL << 40;  // larger requests are out of range
  int64_t capacity_bytes = 100LL << 40;  // of the backend, for GetCapacity
  bool image_backing = false;  // filesystem volumes are formatted images instead of folders
  std::string log_file;        // one JSON line for each RPC; empty: none
};

}  // namespace csinative::driver
