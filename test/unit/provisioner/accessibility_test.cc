// SPDX-License-Identifier: Apache-2.0
#include "cmd/provisioner/accessibility.h"

#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "lib/base/strings.h"
#include "lib/kube/errors.h"

namespace csinative::provisioner {
namespace {

const std::string kZoneKey = "com.example.csi/zone";
const std::string kRackKey = "com.example.csi/rack";
const std::string kDiskKey = "com.example.csi/disk";

std::string Key(std::string_view shorthand) {
  if (shorthand == "zone") return kZoneKey;
  if (shorthand == "rack") return kRackKey;
  if (shorthand == "disk") return kDiskKey;
  return std::string(shorthand);
}

// "zone=z1,rack=rA" as labels.
NodeLabels Labels(std::string_view text) {
  NodeLabels labels;
  if (text.empty()) return labels;
  for (std::string_view part : Split(text, ',')) {
    const auto fields = Split(part, '=');
    labels[Key(fields[0])] = std::string(fields[1]);
  }
  return labels;
}

// "zone,rack" as keys; "-" is an empty list.
TopologyKeys Keys(std::string_view text) {
  TopologyKeys keys;
  if (text == "-") return keys;
  for (std::string_view part : Split(text, ',')) keys.push_back(Key(part));
  return keys;
}

class FakeNodes : public NodeTopology {
 public:
  std::map<std::string, NodeLabels, std::less<>> nodes;
  std::map<std::string, TopologyKeys, std::less<>> csi_nodes;

  FakeNodes(const std::vector<std::string>& labels, const std::vector<std::string>& keys) {
    for (size_t i = 0; i < labels.size(); ++i) {
      nodes[StrCat("node-", i)] = Labels(labels[i]);
      nodes[StrCat("node-", i)]["net.example.storage/rack"] = "rack1";
    }
    for (size_t i = 0; i < keys.size(); ++i) csi_nodes[StrCat("node-", i)] = Keys(keys[i]);
  }
  std::optional<TopologyKeys> KeysOf(std::string_view node) const override {
    auto it = csi_nodes.find(node);
    if (it == csi_nodes.end()) return std::nullopt;
    return it->second;
  }
  std::vector<TopologyKeys> AllKeys() const override {
    std::vector<TopologyKeys> all;
    for (const auto& [name, keys] : csi_nodes) {
      if (!keys.empty()) all.push_back(keys);
    }
    return all;
  }
  std::optional<NodeLabels> LabelsOf(std::string_view node) const override {
    auto it = nodes.find(node);
    if (it == nodes.end()) return std::nullopt;
    return it->second;
  }
  std::vector<NodeLabels> LabelsWith(const TopologyKeys& keys) const override {
    std::vector<NodeLabels> found;
    for (const auto& [name, labels] : nodes) {
      bool all = true;
      for (const std::string& key : keys) all = all && labels.contains(key);
      if (all) found.push_back(labels);
    }
    return found;
  }
};

// "zone=z1 rack=rA|rB; zone=z2": terms of allowedTopologies.
storage::StorageClass Class(std::string_view allowed) {
  storage::StorageClass klass;
  if (allowed.empty()) return klass;
  for (std::string_view term_text : Split(allowed, ';')) {
    auto* term = klass.add_allowedtopologies();
    for (std::string_view part : Split(TrimSpace(term_text), ' ')) {
      const auto fields = Split(part, '=');
      auto* expression = term->add_matchlabelexpressions();
      expression->set_key(Key(fields[0]));
      for (std::string_view value : Split(fields[1], '|')) {
        expression->add_values(std::string(value));
      }
    }
  }
  return klass;
}

// "{rack=rA,zone=z1} {...}".
std::string Text(const google::protobuf::RepeatedPtrField<::csi::v1::Topology>& topologies) {
  std::string out;
  for (const auto& topology : topologies) {
    if (!out.empty()) out += " ";
    const std::map<std::string, std::string> sorted(topology.segments().begin(),
                                                    topology.segments().end());
    std::vector<std::string> parts;
    for (const auto& [key, value] : sorted) {
      const std::string_view shorthand = std::string_view(key).substr(key.find('/') + 1);
      parts.push_back(StrCat(shorthand, "=", value));
    }
    out += StrCat("{", Join(parts, ","), "}");
  }
  return out;
}

struct Case {
  std::string name;  // situation, with the row of topology 18
  std::vector<std::string> labels = {};
  std::vector<std::string> keys = {};
  std::string allowed = "";
  std::string selected = "";
  std::string claim = "testpvc";
  // "error", "none", or the list. strict_* default to the plain ones.
  std::string requisite;
  std::optional<std::string> strict_requisite = std::nullopt;
  std::optional<std::string> preferred = std::nullopt;
  std::optional<std::string> strict_preferred = std::nullopt;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class AccessibilityTest : public ::testing::TestWithParam<Case> {};

TEST_P(AccessibilityTest, FollowsTheOracleForEveryPolicy) {
  const Case& c = GetParam();
  for (const bool strict : {false, true}) {
    for (const bool immediate : {false, true}) {
      SCOPED_TRACE(StrCat("strict=", strict ? 1 : 0, " immediate=", immediate ? 1 : 0));
      const FakeNodes nodes(c.labels, c.keys);
      const storage::StorageClass klass = Class(c.allowed);
      auto random = NewSeededRandom(7);
      RememberedTopology memory;
      const AccessibilityInputs inputs{"driver", c.claim, c.selected, &klass, {strict, immediate}};
      auto got = AccessibilityRequirements(inputs, nodes, *random, &memory);
      const bool suppressed = c.selected.empty() && c.allowed.empty() && !immediate;
      const std::string want_requisite =
          suppressed ? "none" : (strict && c.strict_requisite ? *c.strict_requisite : c.requisite);
      if (want_requisite == "error") {
        EXPECT_FALSE(got.ok());
        continue;
      }
      ASSERT_TRUE(got.ok()) << got.status().message();
      ASSERT_EQ(got->has_value(), want_requisite != "none");
      if (want_requisite == "none") continue;
      if (!want_requisite.empty()) EXPECT_EQ(Text((*got)->requisite()), want_requisite);
      const auto want_preferred = strict && c.strict_preferred ? c.strict_preferred : c.preferred;
      if (want_preferred) EXPECT_EQ(Text((*got)->preferred()), *want_preferred);
      // The same memory gives the same answer after all nodes are gone.
      auto again = AccessibilityRequirements(inputs, FakeNodes({}, {}), *random, &memory);
      ASSERT_TRUE(again.ok()) << again.status().message();
      EXPECT_EQ(Text((*again)->requisite()), Text((*got)->requisite()));
      EXPECT_EQ(Text((*again)->preferred()), Text((*got)->preferred()));
    }
  }
}

const std::vector<std::string> kFour{"zone=z1,rack=rA", "zone=z2,rack=rB", "zone=z3,rack=rC",
                                     "zone=z4,rack=rD"};
const std::vector<std::string> kFourKeys(4, "zone,rack");
const std::string k1A = "{rack=rA,zone=z1}";
const std::string k2B = "{rack=rB,zone=z2}";
const std::string k3C = "{rack=rC,zone=z3}";
const std::string k4D = "{rack=rD,zone=z4}";
const std::string kAllFour = k1A + " " + k2B + " " + k3C + " " + k4D;

INSTANTIATE_TEST_SUITE_P(
    StatefulSets, AccessibilityTest,
    ::testing::Values(Case{.name = "18.2/1",
                           .labels = kFour,
                           .keys = kFourKeys,
                           .claim = "testpvcA-testset-1",
                           .requisite = kAllFour,
                           .preferred = kAllFour},
                      Case{.name = "18.2/2",
                           .labels = kFour,
                           .keys = kFourKeys,
                           .claim = "testpvcB-testset-1",
                           .requisite = kAllFour,
                           .preferred = kAllFour},
                      Case{.name = "18.2/3",
                           .labels = kFour,
                           .keys = kFourKeys,
                           .allowed = "zone=z1 rack=rA",
                           .claim = "testpvcC-testset-1",
                           .requisite = k1A,
                           .preferred = k1A},
                      Case{.name = "18.2/4",
                           .labels = kFour,
                           .keys = kFourKeys,
                           .claim = "testset-2",
                           .requisite = kAllFour,
                           .preferred = k2B + " " + k3C + " " + k4D + " " + k1A},
                      Case{.name = "18.2/5",
                           .labels = kFour,
                           .keys = kFourKeys,
                           .allowed = "zone=z2 rack=rB; zone=z1 rack=rA",
                           .claim = "testpvcB-testset-2",
                           .requisite = k1A + " " + k2B,
                           .preferred = k2B + " " + k1A},
                      Case{.name = "18.2/6",
                           .labels = kFour,
                           .keys = kFourKeys,
                           .claim = "testpvc-testset-3",
                           .requisite = kAllFour,
                           .preferred = k3C + " " + k4D + " " + k1A + " " + k2B},
                      Case{.name = "18.2/7",
                           .labels = kFour,
                           .keys = kFourKeys,
                           .claim = "testpvc-testset-4",
                           .requisite = kAllFour,
                           .preferred = k4D + " " + k1A + " " + k2B + " " + k3C}));

const std::string kCombinations =
    "{rack=rA,zone=z1} {rack=rA,zone=z2} {rack=rB,zone=z1} {rack=rB,zone=z2}";

INSTANTIATE_TEST_SUITE_P(
    Allowed, AccessibilityTest,
    ::testing::Values(
        Case{.name = "18.3/1", .allowed = "zone=z1", .requisite = "{zone=z1}"},
        Case{.name = "18.3/2", .allowed = "zone=z1|z2", .requisite = "{zone=z1} {zone=z2}"},
        Case{.name = "18.3/3", .allowed = "zone=z1 rack=rA", .requisite = k1A},
        Case{.name = "18.3/4",
             .allowed = "zone=z1 rack=rA|rB",
             .requisite = "{rack=rA,zone=z1} {rack=rB,zone=z1}"},
        Case{.name = "18.3/5", .allowed = "zone=z1|z2 rack=rA|rB", .requisite = kCombinations},
        Case{.name = "18.3/6", .allowed = "zone=z1; rack=rA", .requisite = "{rack=rA} {zone=z1}"},
        Case{.name = "18.3/7", .allowed = "zone=z1; zone=z2", .requisite = "{zone=z1} {zone=z2}"},
        Case{.name = "18.3/8",
             .allowed = "zone=z1|z2; zone=z2|z3",
             .requisite = "{zone=z1} {zone=z2} {zone=z3}"},
        Case{.name = "18.3/9",
             .allowed = "zone=z1; zone=z1|z2 rack=rA|rB",
             .requisite = "{zone=z1} " + kCombinations},
        Case{.name = "18.3/10",
             .allowed = "zone=z1 rack=rB; zone=z1|z2 rack=rA|rB",
             .requisite = kCombinations}));

const std::vector<std::string> kZ1Z1Z1(3, "zone=z1");
const std::vector<std::string> kZ1Z2Z2{"zone=z1", "zone=z2", "zone=z2"};
const std::vector<std::string> kZoneKeys(3, "zone");
const std::vector<std::string> kNoKeys(3, "-");

INSTANTIATE_TEST_SUITE_P(
    Aggregation, AccessibilityTest,
    ::testing::Values(
        Case{.name = "18.4/1", .labels = kZ1Z1Z1, .keys = kZoneKeys, .requisite = "{zone=z1}"},
        Case{.name = "18.4/2",
             .labels = kZ1Z1Z1,
             .keys = kZoneKeys,
             .selected = "node-0",
             .requisite = "{zone=z1}"},
        Case{.name = "18.4/3",
             .labels = kZ1Z2Z2,
             .keys = kZoneKeys,
             .requisite = "{zone=z1} {zone=z2}"},
        Case{.name = "18.4/4",
             .labels = kZ1Z2Z2,
             .keys = kZoneKeys,
             .selected = "node-0",
             .requisite = "{zone=z1} {zone=z2}",
             .strict_requisite = "{zone=z1}"},
        Case{.name = "18.4/5",
             .labels = {"zone=z1", "zone=z1,rack=rA", "zone=z1,rack=rA"},
             .keys = {"zone", "zone,rack", "zone,rack"},
             .selected = "node-0",
             .requisite = "{zone=z1}"},
        Case{.name = "18.4/6", .keys = kZoneKeys, .requisite = "error"},
        Case{.name = "18.4/7", .labels = {"foo=bar"}, .keys = kZoneKeys, .requisite = "error"},
        Case{.name = "18.4/8", .labels = kZ1Z2Z2, .requisite = "error"},
        Case{.name = "18.4/9", .labels = kZ1Z2Z2, .keys = kNoKeys, .requisite = "error"},
        Case{.name = "18.4/10",
             .labels = {"another/zone=1", "another/zone=2", "zone=z3"},
             .keys = {"-", "-", "zone"},
             .requisite = "{zone=z3}"},
        Case{.name = "18.4/11",
             .labels = {"zone=z1", "zone=z2", "zone=z3"},
             .keys = {"-", "-", "zone"},
             .requisite = "{zone=z1} {zone=z2} {zone=z3}"},
        Case{.name = "18.4/12",
             .labels = {"foo=bar"},
             .keys = kZoneKeys,
             .selected = "node-0",
             .requisite = "error"},
        Case{.name = "18.4/13", .labels = kZ1Z2Z2, .selected = "node-0", .requisite = "error"},
        Case{.name = "18.4/14",
             .labels = kZ1Z2Z2,
             .keys = kNoKeys,
             .selected = "node-0",
             .requisite = "error"}));

const std::vector<std::string> k2A1A1B{"zone=z2,rack=rA", "zone=z1,rack=rA", "zone=z1,rack=rB"};
const std::vector<std::string> kZoneRack(3, "zone,rack");
const std::string k2A = "{rack=rA,zone=z2}";

INSTANTIATE_TEST_SUITE_P(
    Preferred, AccessibilityTest,
    ::testing::Values(
        Case{.name = "18.5/1",
             .labels = k2A1A1B,
             .keys = kZoneRack,
             .allowed = "zone=z1|z2 rack=rA|rB",
             .selected = "node-0",
             .requisite = kCombinations,
             .strict_requisite = k2A,
             .preferred = "{rack=rA,zone=z2} {rack=rB,zone=z1} {rack=rB,zone=z2} {rack=rA,zone=z1}",
             .strict_preferred = k2A},
        Case{.name = "18.5/2",
             .labels = k2A1A1B,
             .allowed = "zone=z1|z2 rack=rA|rB",
             .selected = "node-0",
             .requisite = "error"},
        Case{.name = "18.5/3",
             .labels = k2A1A1B,
             .keys = {"foo,rack", "foo,rack", "foo,rack"},
             .allowed = "zone=z1|z2 rack=rA|rB",
             .selected = "node-0",
             .requisite = "error"},
        Case{.name = "18.5/4",
             .labels = k2A1A1B,
             .keys = kZoneRack,
             .selected = "node-0",
             .requisite = "{rack=rA,zone=z1} {rack=rA,zone=z2} {rack=rB,zone=z1}",
             .strict_requisite = k2A,
             .preferred = "{rack=rA,zone=z2} {rack=rB,zone=z1} {rack=rA,zone=z1}",
             .strict_preferred = k2A},
        Case{.name = "18.5/5", .keys = kNoKeys, .selected = "node-0", .requisite = "error"},
        Case{.name = "18.5/6",
             .labels = {"zone=z2", "zone=z1", "zone=z1"},
             .keys = kZoneKeys,
             .allowed = "zone=z1",
             .selected = "node-0",
             .requisite = "error"},
        Case{.name = "18.5/7",
             .labels = {"zone=z1,rack=r1,disk=ssd", "zone=z2,rack=r2,disk=ssd",
                        "zone=z2,rack=r1,disk=nvme"},
             .keys = {"zone,rack,disk", "zone,rack,disk", "zone,rack,disk"},
             .allowed = "disk=ssd zone=z1",
             .selected = "node-0",
             .requisite = "{disk=ssd,zone=z1}",
             .strict_requisite = "{disk=ssd,rack=r1,zone=z1}",
             .preferred = "{disk=ssd,zone=z1}",
             .strict_preferred = "{disk=ssd,rack=r1,zone=z1}"},
        Case{.name = "18.5/8",
             .labels = {"zone=zone10,rack=r1", "zone=zone11,rack=r2", "zone=zone12,rack=r1"},
             .keys = kZoneRack,
             .allowed = "zone=zone1",
             .selected = "node-0",
             .requisite = "error"}));

AccessibilityInputs Selecting(const storage::StorageClass* klass, std::string node) {
  return {"driver", "testpvc", std::move(node), klass, {false, false}};
}

// Topology 18.7.
TEST(AccessibilityTest, IncompleteLabelsAreReadAgain) {
  const std::vector<std::string> keys(1, "zone,rack,region,type");
  const storage::StorageClass klass;
  auto random = NewSeededRandom(1);
  RememberedTopology memory;
  auto first = AccessibilityRequirements(
      Selecting(&klass, "node-0"), FakeNodes({"zone=z,rack=r,region=e"}, keys), *random, &memory);
  ASSERT_FALSE(first.ok());
  EXPECT_NE(first.status().message().find("topology labels from selected node"), std::string::npos);
  EXPECT_FALSE(kube::IsNotFound(first.status()));
  auto second = AccessibilityRequirements(Selecting(&klass, "node-0"),
                                          FakeNodes({"zone=z,rack=r,region=e,type=t"}, keys),
                                          *random, &memory);
  ASSERT_TRUE(second.ok()) << second.status().message();
  EXPECT_EQ((*second)->requisite_size(), 1);
  EXPECT_EQ((*second)->preferred_size(), 1);
  EXPECT_EQ((*second)->requisite(0).segments().size(), 4u);
}

// Topology 6.3, E1 and E3.
TEST(AccessibilityTest, OnlyAMissingCsiNodeIsNotFound) {
  const storage::StorageClass klass;
  auto random = NewSeededRandom(1);
  RememberedTopology memory;
  auto no_csinode = AccessibilityRequirements(Selecting(&klass, "node-0"),
                                              FakeNodes({"zone=z"}, {}), *random, &memory);
  ASSERT_FALSE(no_csinode.ok());
  EXPECT_TRUE(kube::IsNotFound(no_csinode.status()));
  EXPECT_TRUE(no_csinode.status().message().starts_with("failed to get selected CSINode node-0"));
  auto no_node = AccessibilityRequirements(Selecting(&klass, "node-0"), FakeNodes({}, {"zone"}),
                                           *random, &memory);
  ASSERT_FALSE(no_node.ok());
  EXPECT_FALSE(kube::IsNotFound(no_node.status()));
  EXPECT_NE(no_node.status().message().find("map[]"), std::string::npos);
}

// Field report 2: requisite terms that are remembered must not change between attempts.
TEST(AccessibilityTest, RememberedTermsStayUntouchedOverManyAttempts) {
  const storage::StorageClass klass;
  auto random = NewSeededRandom(1);
  RememberedTopology memory;
  const FakeNodes nodes({"zone=z3", "zone=z1", "zone=z2", "zone=z1"},
                        {"zone", "zone", "zone", "zone"});
  auto first = AccessibilityRequirements(Selecting(&klass, "node-0"), nodes, *random, &memory);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(Text((*first)->preferred()), "{zone=z3} {zone=z1} {zone=z2}");
  for (int attempt = 0; attempt < 5; ++attempt) {
    auto again = AccessibilityRequirements(Selecting(&klass, "node-0"), nodes, *random, &memory);
    ASSERT_TRUE(again.ok());
    EXPECT_EQ((*again)->SerializeAsString(), (*first)->SerializeAsString());
  }
}

// Topology 18.1.
TEST(NodeAffinityTest, OneTermATopology) {
  ::csi::v1::Volume volume;
  EXPECT_FALSE(NodeAffinityOf(volume).has_value());
  (*volume.add_accessible_topology()->mutable_segments())["zone"] = "zone1";
  auto* second = volume.add_accessible_topology()->mutable_segments();
  (*second)["zone"] = "zone2";
  (*second)["rack"] = "rack2";
  const auto affinity = NodeAffinityOf(volume);
  ASSERT_TRUE(affinity.has_value());
  const auto& terms = affinity->required().nodeselectorterms();
  ASSERT_EQ(terms.size(), 2);
  ASSERT_EQ(terms[0].matchexpressions_size(), 1);
  EXPECT_EQ(terms[0].matchexpressions(0).key(), "zone");
  EXPECT_EQ(terms[0].matchexpressions(0).operator_(), "In");
  EXPECT_EQ(terms[0].matchexpressions(0).values(0), "zone1");
  ASSERT_EQ(terms[1].matchexpressions_size(), 2);
  EXPECT_EQ(terms[1].matchexpressions(0).key(), "rack");
  EXPECT_EQ(terms[1].matchexpressions(1).key(), "zone");
}

TEST(NodeAffinityTest, EmptyTopologiesLeaveAnEmptyRequirement) {
  ::csi::v1::Volume volume;
  volume.add_accessible_topology();
  const auto affinity = NodeAffinityOf(volume);
  ASSERT_TRUE(affinity.has_value());
  EXPECT_TRUE(affinity->has_required());
  EXPECT_EQ(affinity->required().nodeselectorterms_size(), 0);
}

}  // namespace
}  // namespace csinative::provisioner
