// SPDX-License-Identifier: Apache-2.0
#include "cmd/volumemanager/requests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cmd/volumemanager/driver_traits.h"
#include "cmd/volumemanager/outcome.h"

namespace csinative::volumemanager {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;
using Mode = ::csi::v1::VolumeCapability::AccessMode;

VolumeSpec Spec() {
  VolumeSpec spec;
  spec.name = "pv";
  spec.driver = "d";
  spec.handle = "h";
  spec.access_modes = {"ReadWriteOnce"};
  spec.fs_type = "ext4";
  spec.mount_options = {"noatime", "sync"};
  spec.attributes = {{"a", "b"}};
  return spec;
}

struct ModeRow {
  const char* name;
  std::vector<std::string> modes;
  Mode::Mode plain;
  Mode::Mode multi_writer;
};

class AccessModes : public ::testing::TestWithParam<ModeRow> {};

TEST_P(AccessModes, FollowTheFirstOne) {
  VolumeSpec spec = Spec();
  spec.access_modes = GetParam().modes;
  EXPECT_EQ(AccessModeOf(spec, {}), GetParam().plain);
  EXPECT_EQ(AccessModeOf(spec, {.single_node_multi_writer = true}), GetParam().multi_writer);
}

INSTANTIATE_TEST_SUITE_P(
    RequestsTest, AccessModes,
    ::testing::Values(ModeRow{"Once",
                              {"ReadWriteOnce"},
                              Mode::SINGLE_NODE_WRITER,
                              Mode::SINGLE_NODE_MULTI_WRITER},
                      ModeRow{"OnlyMany",
                              {"ReadOnlyMany"},
                              Mode::MULTI_NODE_READER_ONLY,
                              Mode::MULTI_NODE_READER_ONLY},
                      ModeRow{"Many",
                              {"ReadWriteMany"},
                              Mode::MULTI_NODE_MULTI_WRITER,
                              Mode::MULTI_NODE_MULTI_WRITER},
                      ModeRow{"OncePod",
                              {"ReadWriteOncePod"},
                              Mode::SINGLE_NODE_WRITER,
                              Mode::SINGLE_NODE_SINGLE_WRITER},
                      ModeRow{"None", {}, Mode::SINGLE_NODE_WRITER, Mode::SINGLE_NODE_MULTI_WRITER},
                      ModeRow{"FirstOfTwo",
                              {"ReadOnlyMany", "ReadWriteOnce"},
                              Mode::MULTI_NODE_READER_ONLY,
                              Mode::MULTI_NODE_READER_ONLY},
                      ModeRow{"Other", {"Sometimes"}, Mode::UNKNOWN, Mode::UNKNOWN}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(RequestsTest, StageHasAllItsFields) {
  RequestParts parts;
  parts.publish_context = {{"device", "x"}};
  parts.secrets.emplace("key", Secret("value"));
  parts.mount_group = 3000;
  const auto request = StageRequest(Spec(), {.stage = true, .mount_group = true}, "/stage", parts);
  EXPECT_EQ(request.volume_id(), "h");
  EXPECT_EQ(request.staging_target_path(), "/stage");
  EXPECT_THAT(request.publish_context(), UnorderedElementsAre(Pair("device", "x")));
  EXPECT_THAT(request.secrets(), UnorderedElementsAre(Pair("key", "value")));
  EXPECT_THAT(request.volume_context(), UnorderedElementsAre(Pair("a", "b")));
  const auto& mount = request.volume_capability().mount();
  EXPECT_EQ(mount.fs_type(), "ext4");
  EXPECT_THAT(mount.mount_flags(), ElementsAre("noatime", "sync"));
  EXPECT_EQ(mount.volume_mount_group(), "3000");
}

TEST(RequestsTest, GroupIsNotSentWithoutTheCapability) {
  RequestParts parts;
  parts.mount_group = 3000;
  const auto request = StageRequest(Spec(), {}, "/stage", parts);
  EXPECT_EQ(request.volume_capability().mount().volume_mount_group(), "");
}

TEST(RequestsTest, ContextOfThePodWinsOverAttributes) {
  VolumeSpec spec = Spec();
  spec.read_only = true;
  const auto request = PublishRequest(spec, {}, "", "/target", {{"a", "pod"}}, {});
  EXPECT_THAT(request.volume_context(), UnorderedElementsAre(Pair("a", "pod")));
  EXPECT_EQ(request.target_path(), "/target");
  EXPECT_EQ(request.staging_target_path(), "");
  EXPECT_TRUE(request.readonly());
}

TEST(RequestsTest, BlockVolumeHasNoMountFields) {
  VolumeSpec spec = Spec();
  spec.mode = VolumeMode::kBlock;
  const auto request = PublishRequest(spec, {}, "/s", "/t", {}, {});
  EXPECT_TRUE(request.volume_capability().has_block());
  EXPECT_FALSE(request.volume_capability().has_mount());
}

TEST(RequestsTest, FsTypeBlockIsTheBlockMarker) {
  VolumeSpec spec = Spec();
  spec.fs_type = "block";
  EXPECT_TRUE(StageRequest(spec, {}, "/s", {}).volume_capability().has_block());
}

struct GroupRow {
  const char* name;
  bool group = true;
  FsGroupPolicy policy = FsGroupPolicy::kReadWriteOnceWithFsType;
  std::string fs_type = "ext4";
  std::vector<std::string> modes = {"ReadWriteOnce"};
  bool inline_volume = false;
  bool read_only = false;
  bool applied = true;
};

class Ownership : public ::testing::TestWithParam<GroupRow> {};

TEST_P(Ownership, IsAppliedOrNot) {
  const GroupRow& row = GetParam();
  VolumeSpec spec = Spec();
  spec.fs_type = row.fs_type;
  spec.access_modes = row.modes;
  spec.read_only = row.read_only;
  if (row.inline_volume) spec.lifecycle = Lifecycle::kEphemeral;
  PodFacts pod;
  if (row.group) pod.fs_group = 3000;
  EXPECT_EQ(NeedsOwnership(spec, pod, row.policy), row.applied);
}

using enum FsGroupPolicy;
INSTANTIATE_TEST_SUITE_P(
    RequestsTest, Ownership,
    ::testing::Values(
        GroupRow{.name = "OnceWithType"},
        GroupRow{.name = "NoGroup", .group = false, .applied = false},
        GroupRow{.name = "ReadOnly", .read_only = true, .applied = false},
        GroupRow{.name = "PolicyNone", .policy = kNone, .applied = false},
        GroupRow{.name = "PolicyFileWithoutType",
                 .policy = kFile,
                 .fs_type = "",
                 .modes = {"ReadWriteMany"}},
        GroupRow{
            .name = "PolicyFileReadOnly", .policy = kFile, .read_only = true, .applied = false},
        GroupRow{.name = "NoType", .fs_type = "", .applied = false},
        GroupRow{.name = "Many", .modes = {"ReadWriteMany"}, .applied = false},
        GroupRow{.name = "OncePod", .modes = {"ReadWriteOncePod"}},
        GroupRow{.name = "OnceAmongOthers", .modes = {"ReadWriteMany", "ReadWriteOnce"}},
        GroupRow{.name = "NoModes", .modes = {}, .applied = false},
        GroupRow{.name = "InlineWithType", .modes = {}, .inline_volume = true},
        GroupRow{.name = "InlineWithoutType",
                 .fs_type = "",
                 .modes = {},
                 .inline_volume = true,
                 .applied = false}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(DriverTraitsTest, DriverWithoutObjectNeedsAttachingAndTakesPersistentVolumes) {
  const DriverTraits traits = TraitsOf(std::nullopt);
  EXPECT_TRUE(traits.attach_required);
  EXPECT_FALSE(traits.pod_info);
  EXPECT_EQ(traits.fs_group_policy, FsGroupPolicy::kReadWriteOnceWithFsType);
  VolumeSpec spec = Spec();
  EXPECT_TRUE(CheckLifecycle(spec, traits, std::nullopt).ok());
  spec.lifecycle = Lifecycle::kEphemeral;
  EXPECT_EQ(CheckLifecycle(spec, traits, std::nullopt).message(),
            "mounter.SetupAt failed to check volume lifecycle mode: volume mode \"Ephemeral\" not "
            "supported by driver d (no CSIDriver object)");
  EXPECT_FALSE(IsAttachable(spec, traits));
}

TEST(DriverTraitsTest, ObjectDecides) {
  storage::CSIDriver driver;
  auto* spec = driver.mutable_spec();
  spec->set_attachrequired(false);
  spec->set_podinfoonmount(true);
  spec->set_requiresrepublish(true);
  spec->set_fsgrouppolicy("File");
  spec->add_volumelifecyclemodes("Persistent");
  const DriverTraits traits = TraitsOf(driver);
  EXPECT_FALSE(traits.attach_required);
  EXPECT_TRUE(traits.pod_info);
  EXPECT_TRUE(traits.republish);
  EXPECT_EQ(traits.fs_group_policy, FsGroupPolicy::kFile);
  VolumeSpec volume = Spec();
  EXPECT_FALSE(IsAttachable(volume, traits));
  volume.lifecycle = Lifecycle::kEphemeral;
  EXPECT_EQ(CheckLifecycle(volume, traits, driver).message(),
            "mounter.SetupAt failed to check volume lifecycle mode: volume mode \"Ephemeral\" not "
            "supported by driver d (only supports [\"Persistent\"])");
}

TEST(DriverTraitsTest, PolicyThatIsMissingIsNotGuessed) {
  EXPECT_FALSE(TraitsOf(storage::CSIDriver()).fs_group_policy);
}

TEST(OutcomeTest, CodesThatMayStillBeRunningAreUncertain) {
  for (int code : {1, 4, 8, 10, 14}) {
    EXPECT_EQ(OutcomeOfCall(RpcStatus(code, "x")).kind, FailureKind::kUncertain) << code;
  }
  for (int code : {2, 3, 5, 6, 7, 9, 11, 12, 13, 15, 16, 99}) {
    EXPECT_EQ(OutcomeOfCall(RpcStatus(code, "x")).kind, FailureKind::kFinal) << code;
  }
  EXPECT_EQ(OutcomeOfCall(InternalError("no status of a driver")).kind, FailureKind::kUncertain);
  EXPECT_TRUE(OutcomeOfCall(Status()).ok());
}

}  // namespace
}  // namespace csinative::volumemanager
