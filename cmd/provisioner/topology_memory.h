// SPDX-License-Identifier: Apache-2.0
//
// The topology that one claim's CreateVolume calls were made with, so that a retry asks for the
// same even when Nodes have changed (topology 5). In memory only. Loop only.
#pragma once

#include <string>
#include <unordered_map>

#include "cmd/provisioner/node_topology.h"
#include "cmd/provisioner/topology_term.h"

namespace csinative::provisioner {

struct RememberedTopology {
  // Empty parts are not known.
  NodeLabels node_labels;
  TopologyKeys keys;
  TopologyTerms requisite;
};

class TopologyMemory {
 public:
  // The entry of a claim's UID, empty when there was none. The reference is valid until the next
  // call.
  RememberedTopology& Of(const std::string& uid) { return entries_[uid]; }
  void Forget(const std::string& uid) { entries_.erase(uid); }
  bool Has(const std::string& uid) const { return entries_.contains(uid); }
  size_t size() const { return entries_.size(); }

 private:
  std::unordered_map<std::string, RememberedTopology> entries_;
};

}  // namespace csinative::provisioner
