// SPDX-License-Identifier: Apache-2.0
//
// What a driver announces it can do, as sets that are read once at start (common 8.3). Values.
#pragma once

#include <set>

#include "proto/csi/v1/csi.pb.h"

namespace csinative::csi {

// A set of enum values. UNKNOWN and numbers of newer specifications are kept as they came.
template <typename Enum>
class CapabilitySet {
 public:
  void Add(Enum value) { values_.insert(static_cast<int>(value)); }
  bool Has(Enum value) const { return values_.contains(static_cast<int>(value)); }
  bool empty() const { return values_.empty(); }

 private:
  std::set<int> values_;
};

using PluginCapabilities = CapabilitySet<::csi::v1::PluginCapability::Service::Type>;
using ControllerCapabilities = CapabilitySet<::csi::v1::ControllerServiceCapability::RPC::Type>;
using NodeCapabilities = CapabilitySet<::csi::v1::NodeServiceCapability::RPC::Type>;
using GroupControllerCapabilities =
    CapabilitySet<::csi::v1::GroupControllerServiceCapability::RPC::Type>;

}  // namespace csinative::csi
