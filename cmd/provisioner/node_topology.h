// SPDX-License-Identifier: Apache-2.0
//
// What the cluster says about nodes and this driver: the informers of Nodes and CSINodes centrally,
// two fixed objects in node deployment (topology 3.1, 9.1). Loop only.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace csinative::provisioner {

using NodeLabels = std::map<std::string, std::string, std::less<>>;
using TopologyKeys = std::vector<std::string>;

class NodeTopology {
 public:
  virtual ~NodeTopology() = default;
  // Keys that the driver reported on a node, perhaps none; nothing when there is no CSINode.
  virtual std::optional<TopologyKeys> KeysOf(std::string_view node) const = 0;
  // The same for every CSINode on which the driver reported any, in the order of node names.
  virtual std::vector<TopologyKeys> AllKeys() const = 0;
  // Nothing when there is no Node.
  virtual std::optional<NodeLabels> LabelsOf(std::string_view node) const = 0;
  // Labels of the Nodes that carry all keys, in the order of node names.
  virtual std::vector<NodeLabels> LabelsWith(const TopologyKeys& keys) const = 0;
};

}  // namespace csinative::provisioner
