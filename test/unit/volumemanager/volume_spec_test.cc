// SPDX-License-Identifier: Apache-2.0
#include "cmd/volumemanager/volume_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apis/json/from_json.h"
#include "cmd/volumemanager/paths.h"

namespace csinative::volumemanager {
namespace {

core::PersistentVolume Volume(const std::string& spec) {
  core::PersistentVolume volume;
  Status parsed = apis::FromJsonString(
      R"({"metadata":{"name":"pv"},"spec":{"csi":{"driver":"d","volumeHandle":"h","readOnly":true,)"
      R"("fsType":"xfs"},"accessModes":["ReadWriteOnce"],"mountOptions":["noatime"])" +
          spec + "}}",
      &volume);
  EXPECT_TRUE(parsed.ok()) << parsed.message();
  return volume;
}

TEST(VolumeSpecTest, ReadOnlyIsThePodsWord) {
  auto spec = SpecOf(Volume(""), false);
  ASSERT_TRUE(spec.ok());
  EXPECT_FALSE(spec->read_only) << "the volume's own flag is not looked at";
  EXPECT_EQ(spec->fs_type, "xfs");
  EXPECT_THAT(spec->mount_options, ::testing::ElementsAre("noatime"));
  EXPECT_TRUE(SpecOf(Volume(""), true)->read_only);
}

TEST(VolumeSpecTest, DataFileReadsBackAsTheVolume) {
  for (const char* mode : {"", R"(,"volumeMode":"Block")"}) {
    const VolumeSpec spec = *SpecOf(Volume(mode), false);
    auto read = SpecFromData(DataOf(spec, "node"), spec.mode, "uid");
    ASSERT_TRUE(read.ok());
    EXPECT_EQ(read->name, "pv");
    EXPECT_EQ(read->driver, "d");
    EXPECT_EQ(read->handle, "h");
    EXPECT_EQ(read->mode, spec.mode);
    EXPECT_EQ(read->lifecycle, Lifecycle::kPersistent);
    EXPECT_FALSE(read->read_only);
    EXPECT_EQ(UniqueNameOf(*read, "uid"), UniqueNameOf(spec, "uid"));
  }
}

TEST(VolumeSpecTest, EphemeralDataFileIsAnInlineVolume) {
  mount::VolumeData data{
      {"driverName", "d"}, {"specVolID", "in"}, {"volumeLifecycleMode", "Ephemeral"}};
  auto spec = SpecFromData(data, VolumeMode::kFilesystem, "uid");
  ASSERT_TRUE(spec.ok());
  EXPECT_TRUE(spec->inline_volume());
  EXPECT_EQ(spec->handle, InlineHandle("uid", "in"));
  EXPECT_FALSE(spec->device_mountable());
}

TEST(VolumeSpecTest, DataFileThatPointsElsewhereIsRefused) {
  EXPECT_FALSE(
      SpecFromData({{"driverName", "../../etc"}, {"specVolID", "v"}, {"volumeHandle", "h"}},
                   VolumeMode::kFilesystem, "uid")
          .ok());
  EXPECT_FALSE(SpecFromData({{"driverName", "d"}, {"specVolID", "../v"}, {"volumeHandle", "h"}},
                            VolumeMode::kFilesystem, "uid")
                   .ok());
  EXPECT_FALSE(SpecFromData({}, VolumeMode::kBlock, "uid").ok());
}

struct AffinityRow {
  const char* name;
  std::string terms;
  bool allowed;
};

class Affinity : public ::testing::TestWithParam<AffinityRow> {};

TEST_P(Affinity, DecidesByTheNodesLabels) {
  const VolumeSpec spec = *SpecOf(
      Volume(R"(,"nodeAffinity":{"required":{"nodeSelectorTerms":)" + GetParam().terms + "}}"),
      false);
  meta::ObjectMeta node;
  auto* label = node.add_labels();
  label->set_key("zone");
  label->set_value("a");
  Status checked = CheckNodeAffinity(spec, node);
  EXPECT_EQ(checked.ok(), GetParam().allowed);
  if (!checked.ok()) EXPECT_EQ(checked.message(), "no matching NodeSelectorTerms");
}

INSTANTIATE_TEST_SUITE_P(
    VolumeSpecTest, Affinity,
    ::testing::Values(
        AffinityRow{"In",
                    R"([{"matchExpressions":[{"key":"zone","operator":"In","values":["a"]}]}])",
                    true},
        AffinityRow{"InOther",
                    R"([{"matchExpressions":[{"key":"zone","operator":"In","values":["b"]}]}])",
                    false},
        AffinityRow{"OneOfTwoTerms",
                    R"([{"matchExpressions":[{"key":"zone","operator":"In","values":["b"]}]},)"
                    R"({"matchExpressions":[{"key":"zone","operator":"Exists"}]}])",
                    true},
        AffinityRow{"AllOfATerm",
                    R"([{"matchExpressions":[{"key":"zone","operator":"Exists"},)"
                    R"({"key":"disk","operator":"Exists"}]}])",
                    false},
        AffinityRow{"EmptyTerm", R"([{}])", false}, AffinityRow{"NoTerms", "[]", false}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(VolumeSpecTest, VolumeWithoutAffinityIsAllowedEverywhere) {
  EXPECT_TRUE(CheckNodeAffinity(*SpecOf(Volume(""), false), meta::ObjectMeta()).ok());
}

TEST(VolumeSpecTest, AllKindsOfContainersAreLookedAt) {
  core::Pod pod;
  pod.mutable_spec()->add_initcontainers()->add_volumemounts()->set_name("a");
  pod.mutable_spec()->add_containers()->add_volumedevices()->set_name("b");
  pod.mutable_spec()
      ->add_ephemeralcontainers()
      ->mutable_ephemeralcontainercommon()
      ->add_volumemounts()
      ->set_name("c");
  EXPECT_TRUE(UseOf(pod, "a").mounted);
  EXPECT_TRUE(UseOf(pod, "b").device);
  EXPECT_TRUE(UseOf(pod, "c").mounted);
  EXPECT_FALSE(UseOf(pod, "d").mounted || UseOf(pod, "d").device);
}

TEST(VolumeSpecTest, FactsOfAPod) {
  core::Pod pod;
  pod.mutable_spec()->mutable_securitycontext()->set_fsgroup(3000);
  pod.mutable_spec()->mutable_securitycontext()->set_fsgroupchangepolicy("OnRootMismatch");
  const PodFacts facts = FactsOf(pod);
  EXPECT_EQ(facts.fs_group, 3000u);
  EXPECT_EQ(facts.change, mount::OwnershipChange::kOnRootMismatch);
  EXPECT_FALSE(FactsOf(core::Pod()).fs_group);
}

}  // namespace
}  // namespace csinative::volumemanager
