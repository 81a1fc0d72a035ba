// SPDX-License-Identifier: Apache-2.0
//
// Rows of common 20.2.
#include "lib/cli/feature_gates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "lib/log/output.h"
#include "test/support/oracle_rows.h"

namespace csinative::cli {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr Gate kGates[] = {
    {"A", false, Stage::kAlpha},      {"B", false, Stage::kBeta},
    {"D", false, Stage::kDeprecated}, {"L", false, Stage::kGa, /*locked=*/true},
    {"U", true, Stage::kGa},          {"P", false, Stage::kPreAlpha},
};

GateMap Parsed(std::string_view text) {
  GateMap map;
  EXPECT_TRUE(MergeGates(text, map).ok()) << text;
  return map;
}

TEST(GateMapTest, EntriesMergeSorted) {
  const oracle::Rows rows("common/20.2/1 common/20.2/2 common/20.2/3 common/20.2/6");
  EXPECT_EQ(FormatGates(Parsed("")), "");
  EXPECT_EQ(FormatGates(Parsed("two=false,one=true")), "one=true,two=false");
  EXPECT_EQ(FormatGates(Parsed("one=true, two=false")), "one=true,two=false");
  EXPECT_EQ(FormatGates(Parsed(",one=1,, two = F ,")), "one=true,two=false");
  EXPECT_EQ(FormatGates(Parsed("=true")), "=true");
  GateMap map = Parsed("one=true");
  EXPECT_TRUE(MergeGates("two=false", map).ok());
  EXPECT_EQ(FormatGates(map), "one=true,two=false");
  EXPECT_TRUE(Parsed("").empty());
}

TEST(GateMapTest, MalformedEntriesAreRefused) {
  const oracle::Rows rows("common/20.2/4 common/20.2/5 common/20.2/13");
  GateMap map;
  EXPECT_EQ(MergeGates("one", map).message(), "malformed pair, expect string=bool");
  EXPECT_EQ(MergeGates("one=foo", map).message(),
            R"(invalid value of one: foo, err: strconv.ParseBool: parsing "foo": invalid syntax)");
  EXPECT_EQ(
      MergeGates("AllAlpha=banana", map).message(),
      R"(invalid value of AllAlpha: banana, err: strconv.ParseBool: parsing "banana": invalid syntax)");
  EXPECT_EQ(MergeGates("a=b=c", map).message(),
            R"(invalid value of a: b=c, err: strconv.ParseBool: parsing "b=c": invalid syntax)");
}

struct ApplyRow {
  const char* name;
  const char* rows = "";  // of the oracle
  const char* input;
  bool a = false;
  bool b = false;
  bool d = false;
  const char* error = "";
};

void PrintTo(const ApplyRow& row, std::ostream* out) { *out << row.name; }

class FeatureGatesApplyTest : public ::testing::TestWithParam<ApplyRow> {};

TEST_P(FeatureGatesApplyTest, Matches) {
  const ApplyRow& row = GetParam();
  const oracle::Rows rows(row.rows);
  FeatureGates gates(kGates);
  const auto error = gates.Apply(Parsed(row.input), log::Logger());
  EXPECT_EQ(error ? error->text : "", row.error);
  EXPECT_EQ(gates.Enabled("A"), row.a);
  EXPECT_EQ(gates.Enabled("B"), row.b);
  EXPECT_EQ(gates.Enabled("D"), row.d);
}

constexpr ApplyRow kRows[] = {

    {.name = "row_7_none", .rows = "common/20.2/7", .input = ""},
    {.name = "row_8_deprecated", .rows = "common/20.2/8", .input = "D=true", .d = true},
    {.name = "row_9_locked",
     .rows = "common/20.2/9",
     .input = "L=true",
     .error = "cannot set feature gate L to true, feature is locked to false"},
    {.name = "row_10_unknown",
     .rows = "common/20.2/10",
     .input = "fooBarBaz=true",
     .error = "unrecognized feature gate: fooBarBaz"},
    {.name = "row_11_all_alpha", .rows = "common/20.2/11", .input = "AllAlpha=true", .a = true},
    {.name = "row_12_no_alpha", .rows = "common/20.2/12", .input = "AllAlpha=false"},
    {.name = "row_14_explicit_wins",
     .rows = "common/20.2/14",
     .input = "AllAlpha=false,A=true",
     .a = true},
    {.name = "row_14_in_any_order",
     .rows = "common/20.2/14",
     .input = "A=true,AllAlpha=false",
     .a = true},
    {.name = "row_15_explicit_wins", .rows = "common/20.2/15", .input = "AllAlpha=true,A=false"},
    {.name = "row_15_in_any_order", .rows = "common/20.2/15", .input = "A=false,AllAlpha=true"},
    {.name = "row_16_beta_is_not_alpha",
     .rows = "common/20.2/16",
     .input = "B=true,AllAlpha=false",
     .b = true},
    {.name = "row_17_all_beta", .rows = "common/20.2/17", .input = "AllBeta=true", .b = true},
    {.name = "row_18_explicit_wins",
     .rows = "common/20.2/18",
     .input = "AllBeta=false,B=true",
     .b = true},
    {.name = "row_18_in_any_order",
     .rows = "common/20.2/18",
     .input = "B=true,AllBeta=false",
     .b = true},
    {.name = "row_19_explicit_wins", .rows = "common/20.2/19", .input = "AllBeta=true,B=false"},
    {.name = "row_19_in_any_order", .rows = "common/20.2/19", .input = "B=false,AllBeta=true"},
    {.name = "row_20_alpha_is_not_beta",
     .rows = "common/20.2/20",
     .input = "A=true,AllBeta=false",
     .a = true},
    {.name = "pre_alpha",
     .input = "P=true",
     .error = "cannot set feature gate P to true, feature is PreAlpha at emulated version 1.36"},
    {.name = "empty_name", .input = "=true", .error = "unrecognized feature gate: "},
    {.name = "names_are_case_sensitive",
     .input = "allAlpha=true",
     .error = "unrecognized feature gate: allAlpha"},
    {.name = "unknown_is_last_and_rejects_everything",
     .input = "A=true,L=true,Nope=true",
     .error = "[cannot set feature gate L to true, feature is locked to false, unrecognized "
              "feature gate: Nope]"},
};

INSTANTIATE_TEST_SUITE_P(Common20_2, FeatureGatesApplyTest, ::testing::ValuesIn(kRows),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(FeatureGatesTest, LaterApplicationOverridesAndKeepsTheRest) {
  const oracle::Row row("common/20.2/21");
  FeatureGates gates(kGates);
  ASSERT_FALSE(gates.Apply(Parsed("A=true,B=true"), log::Logger()));
  ASSERT_FALSE(gates.Apply(Parsed("A=false"), log::Logger()));
  EXPECT_FALSE(gates.Enabled("A"));
  EXPECT_TRUE(gates.Enabled("B"));
  EXPECT_FALSE(gates.Enabled("D"));
}

TEST(FeatureGatesTest, SeveralErrorsHaveCauses) {
  FeatureGates gates(kGates);
  const auto error = gates.Apply(Parsed("L=true,P=true"), log::Logger());
  ASSERT_TRUE(error);
  EXPECT_THAT(error->causes,
              ElementsAre("cannot set feature gate L to true, feature is locked to false",
                          "cannot set feature gate P to true, feature is PreAlpha at emulated "
                          "version 1.36"));
  const auto single = gates.Apply(Parsed("L=true"), log::Logger());
  ASSERT_TRUE(single);
  EXPECT_THAT(single->causes, IsEmpty());
}

TEST(FeatureGatesTest, KnownFeaturesHideGaAndDeprecated) {
  EXPECT_THAT(FeatureGates(kGates).KnownFeatures(),
              ElementsAre("A=true|false (ALPHA - default=false)",
                          "AllAlpha=true|false (ALPHA - default=false)",
                          "AllBeta=true|false (BETA - default=false)",
                          "B=true|false (BETA - default=false)"));
}

TEST(FeatureGatesTest, SummaryIsWrittenAtLevelOne) {
  const auto output = std::make_shared<log::CollectingOutput>();
  const log::Logger log = log::NewLogger(output);
  FeatureGates gates(kGates);
  ASSERT_FALSE(gates.Apply({}, log));
  EXPECT_THAT(output->Records(), IsEmpty());
  log.backend()->SetVerbosity(1);
  ASSERT_FALSE(gates.Apply({}, log));
  EXPECT_THAT(output->Last(), EndsWith("] \"Updated\" featureGates={}"));
  ASSERT_FALSE(gates.Apply(Parsed("AllAlpha=true,B=false"), log));
  EXPECT_THAT(output->Last(),
              EndsWith(R"(] "Updated" featureGates={"A":true,"AllAlpha":true,"B":false})"));
}

TEST(FeatureGatesTest, GaAndDeprecatedGatesWarn) {
  const auto output = std::make_shared<log::CollectingOutput>();
  FeatureGates gates(kGates);
  ASSERT_FALSE(gates.Apply(Parsed("A=true,D=true,L=false,U=false"), log::NewLogger(output)));
  EXPECT_THAT(
      output->Records(),
      ElementsAre(
          EndsWith("] \"Warning: setting deprecated feature gate. It will be removed in a future "
                   "release.\" featureGate=\"D\" value=true"),
          EndsWith("] \"Warning: setting GA feature gate. It will be removed in a future "
                   "release.\" featureGate=\"L\" value=false"),
          EndsWith("] \"Warning: setting GA feature gate. It will be removed in a future "
                   "release.\" featureGate=\"U\" value=false")));
  EXPECT_FALSE(gates.Enabled("U"));
}

// common 4.4: the probe changes a default, an explicit entry stays.
TEST(FeatureGatesTest, DefaultCanBeOverriddenUnlessNamed) {
  FeatureGates gates = ProvisionerGates();
  EXPECT_TRUE(gates.Enabled(gate::kVolumeAttributesClass));
  EXPECT_FALSE(gates.ExplicitlySet(gate::kVolumeAttributesClass));
  gates.SetDefault(gate::kVolumeAttributesClass, false);
  EXPECT_FALSE(gates.Enabled(gate::kVolumeAttributesClass));
  ASSERT_FALSE(gates.Apply(Parsed("VolumeAttributesClass=true"), log::Logger()));
  EXPECT_TRUE(gates.ExplicitlySet(gate::kVolumeAttributesClass));
  EXPECT_TRUE(gates.Enabled(gate::kVolumeAttributesClass));
}

TEST(FeatureGatesTest, CoveredByAllBetaIsNotExplicit) {
  FeatureGates gates = SnapshotterGates();
  ASSERT_FALSE(gates.Apply(Parsed("AllBeta=true"), log::Logger()));
  EXPECT_TRUE(gates.Enabled(gate::kCsiVolumeGroupSnapshot));
  EXPECT_FALSE(gates.ExplicitlySet(gate::kCsiVolumeGroupSnapshot));
}

TEST(GateTablesTest, EachProgramHasItsOwnAndTheInertGates) {
  struct Row {
    std::string name;
    FeatureGates gates;
    std::vector<std::string> on;
    std::vector<std::string> off;
    std::vector<std::string> unknown;
  };
  const std::vector<Row> rows = {
      {"attacher",
       AttacherGates(),
       {"MutableCSINodeAllocatableCount", "WatchList", "MutatingAdmissionPolicy"},
       {"ReleaseLeaderElectionOnExit", "KMSv1", "NativeHistograms"},
       {"Topology", "VolumeAttributesClass", "ContextualLogging"}},
      {"provisioner",
       ProvisionerGates(),
       {"Topology", "VolumeAttributesClass", "APIServerTracing", "HonorPVReclaimPolicy"},
       {"ReleaseLeaderElectionOnExit", "CrossNamespaceVolumeDataSource", "AllAlpha"},
       {"MutableCSINodeAllocatableCount", "LoggingAlphaOptions"}},
      {"resizer",
       ResizerGates(),
       {"VolumeAttributesClass", "RecoverVolumeExpansionFailure"},
       {"AnnotateFsResize", "ReleaseLeaderElectionOnExit", "AllBeta"},
       {"Topology", "LoggingBetaOptions"}},
      {"snapshotter",
       SnapshotterGates(),
       {"StorageVersionHash"},
       {"CSIVolumeGroupSnapshot", "ReleaseLeaderElectionOnExit"},
       {"Topology", "VolumeAttributesClass"}},
  };
  for (const Row& row : rows) {
    for (const std::string& name : row.on) EXPECT_TRUE(row.gates.Enabled(name)) << name;
    for (const std::string& name : row.off) EXPECT_FALSE(row.gates.Enabled(name)) << name;
    for (const std::string& name : row.unknown) {
      FeatureGates gates = row.gates;
      const auto error = gates.Apply(GateMap{{name, true}}, log::Logger());
      ASSERT_TRUE(error) << row.name << " " << name;
      EXPECT_EQ(error->text, "unrecognized feature gate: " + name);
    }
  }
}

TEST(GateTablesTest, LockedGatesTakeTheirDefaultOnly) {
  FeatureGates gates = ProvisionerGates();
  EXPECT_FALSE(gates.Apply(Parsed("BtreeWatchCache=true"), log::Logger()));
  const auto error = gates.Apply(Parsed("SeparateCacheWatchRPC=true"), log::Logger());
  ASSERT_TRUE(error);
  EXPECT_EQ(error->text,
            "cannot set feature gate SeparateCacheWatchRPC to true, feature is locked to false");
}

// Manifests written for older versions name it.
TEST(GateTablesTest, GateOfOlderProvisionersIsAcceptedWithAWarning) {
  const auto output = std::make_shared<log::CollectingOutput>();
  FeatureGates gates = ProvisionerGates();
  EXPECT_FALSE(gates.Apply(Parsed("HonorPVReclaimPolicy=true"), log::NewLogger(output)));
  EXPECT_THAT(output->Records(),
              ElementsAre(EndsWith("\"Warning: setting GA feature gate. It will be removed in a "
                                   "future release.\" featureGate=\"HonorPVReclaimPolicy\" "
                                   "value=true")));
  EXPECT_TRUE(gates.Apply(Parsed("HonorPVReclaimPolicy=false"), log::Logger()));
}

TEST(GateTablesTest, HelpListsAlphaAndBeta) {
  const auto lines = ProvisionerGates().KnownFeatures();
  EXPECT_THAT(lines, Contains("CrossNamespaceVolumeDataSource=true|false (ALPHA - default=false)"));
  EXPECT_THAT(lines, Contains("WatchList=true|false (BETA - default=true)"));
  EXPECT_THAT(lines, Not(Contains(testing::HasSubstr("Topology"))));
}

}  // namespace
}  // namespace csinative::cli
