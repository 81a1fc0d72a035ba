// SPDX-License-Identifier: Apache-2.0
//
// Verbs for scenarios in which cluster and driver misbehave: what the control plane does with
// volumes that lost their claim, nodes in zones, and what the driver was asked.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "lib/base/json_string.h"
#include "lib/base/strings.h"
#include "test/unit/provisioner/world.h"

namespace csinative::provisioner {

class FieldReport : public ::testing::Test {
 protected:
  std::vector<::csi::v1::CreateVolumeRequest> Creates() {
    return world_.Requests<::csi::v1::CreateVolumeRequest>(kCreateVolume);
  }
  std::vector<::csi::v1::DeleteVolumeRequest> Deletes() {
    return world_.Requests<::csi::v1::DeleteVolumeRequest>(kDeleteVolume);
  }
  bool Exists(const std::string& volume) {
    return world_.Find<core::PersistentVolume>({"", volume}).has_value();
  }
  // What the control plane does to a volume whose claim is gone: released, and no longer protected.
  void LoseClaim(const std::string& volume) {
    world_.Release(volume);
    world_.Settle();
    DropFinalizer(volume, "kubernetes.io/pv-protection");
    world_.Settle();
  }
  void DropFinalizer(const std::string& volume, std::string_view finalizer) {
    const auto found = world_.Find<core::PersistentVolume>({"", volume});
    if (!found) return;
    std::vector<std::string> kept;
    for (const std::string& other : found->metadata().finalizers()) {
      if (other != finalizer) kept.push_back(JsonString(other));
    }
    world_.Merge<core::PersistentVolume>(
        {"", volume}, StrCat(R"({"metadata":{"finalizers":[)", Join(kept, ","), "]}}"));
  }
  void Touch(const std::string& claim = "claim", const std::string& value = "b") {
    world_.Merge<core::PersistentVolumeClaim>(
        {"ns", claim}, StrCat(R"({"metadata":{"labels":{"a":)", JsonString(value), "}}}"));
  }
  void AddZones() {
    world_.features.accessibility_constraints = true;
    for (const char* zone : {"z1", "z2", "z3"}) {
      for (const char* host : {"a", "b"}) AddNode(StrCat(zone, host), zone);
    }
  }
  void AddNode(const std::string& name, const std::string& zone) {
    world_.Add(StrCat(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":")", name,
                      R"(","labels":{"zone":")", zone, R"("}}})"));
    world_.Add(StrCat(R"({"apiVersion":"storage.k8s.io/v1","kind":"CSINode","metadata":{"name":")",
                      name, R"("},"spec":{"drivers":[{"name":"test-driver","nodeID":"x",
                      "topologyKeys":["zone"]}]}})"));
  }
  void RemoveNode(const std::string& name) {
    world_.Remove<storage::CSINode>({"", name});
    world_.Remove<core::Node>({"", name});
  }
  bool HasSelectedNodeNow() {
    const auto claim = world_.Find<core::PersistentVolumeClaim>({"ns", "claim"});
    return claim && HasSelectedNode(*claim);
  }
  static std::vector<std::string> Zones(
      const google::protobuf::RepeatedPtrField<::csi::v1::Topology>& topologies) {
    std::vector<std::string> zones;
    for (const auto& topology : topologies) zones.push_back(topology.segments().at("zone"));
    return zones;
  }

  World world_;
  const ClassSpec late_{.binding_mode = "WaitForFirstConsumer"};
};

}  // namespace csinative::provisioner
