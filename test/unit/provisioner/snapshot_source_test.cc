// SPDX-License-Identifier: Apache-2.0
#include "cmd/provisioner/snapshot_source.h"

#include <gtest/gtest.h>

#include "apis/core/v1/maps.h"
#include "apis/core/v1/well_known.h"
#include "test/support/oracle_rows.h"

namespace csinative::provisioner {
namespace {

constexpr char kSnapshot[] = R"({"metadata":{"name":"s","namespace":"ns","uid":"u"},
    "status":{"readyToUse":true,"restoreSize":"1000","boundVolumeSnapshotContentName":"c"}})";
constexpr char kContent[] = R"({"metadata":{"name":"c"},"spec":{"driver":"drv",
    "sourceVolumeMode":"Filesystem",
    "volumeSnapshotRef":{"name":"s","namespace":"ns","uid":"u"}},
    "status":{"snapshotHandle":"sid"}})";

struct SnapshotCase {
  std::string rows = "";  // of the oracle
  std::string name;
  std::string snapshot = kSnapshot;
  std::string content = kContent;
  std::string request = "1000";
  std::string mode = "Filesystem";
  std::string provisioner = "drv";
  ModeConversion conversion = ModeConversion::kNeedsPermission;
  bool usable = false;
};

void PrintTo(const SnapshotCase& c, std::ostream* out) { *out << c.name; }

class SnapshotSourceTest : public ::testing::TestWithParam<SnapshotCase> {};

TEST_P(SnapshotSourceTest, FollowsTheOracle) {
  const SnapshotCase& c = GetParam();
  const oracle::Rows rows(c.rows);
  rapidjson::Document snapshot;
  snapshot.Parse(c.snapshot.c_str());
  rapidjson::Document content;
  content.Parse(c.content.c_str());
  ASSERT_FALSE(snapshot.HasParseError() || content.HasParseError());
  core::PersistentVolumeClaim claim;
  if (!c.request.empty()) {
    apis::MutableEntry(claim.mutable_spec()->mutable_resources()->mutable_requests(), "storage")
        ->set_string(c.request);
  }
  if (!c.mode.empty()) claim.mutable_spec()->set_volumemode(c.mode);
  Result<std::string> handle = BoundContentName(snapshot);
  if (handle.ok()) {
    EXPECT_EQ(*handle, "c");
    handle = RestorableHandle(claim, snapshot, content, c.provisioner, c.conversion);
  }
  ASSERT_EQ(handle.ok(), c.usable) << handle.status().message();
  if (c.usable) {
    EXPECT_EQ(*handle, "sid");
  }
}

INSTANTIATE_TEST_SUITE_P(
    Rows, SnapshotSourceTest,
    ::testing::Values(
        SnapshotCase{.rows = "provisioner/22.7/1", .name = "matching", .usable = true},
        SnapshotCase{.name = "larger claim", .request = "1Gi", .usable = true},
        SnapshotCase{.rows = "provisioner/22.7/3", .name = "smaller claim", .request = "100"},
        SnapshotCase{.name = "claim without a request", .request = ""},
        SnapshotCase{.rows = "provisioner/22.7/7",
                     .name = "not ready",
                     .snapshot = R"({"metadata":{"name":"s","namespace":"ns","uid":"u"},
                         "status":{"readyToUse":false,"boundVolumeSnapshotContentName":"c"}})"},
        SnapshotCase{.rows = "provisioner/22.7/8",
                     .name = "readyToUse missing",
                     .snapshot = R"({"metadata":{"name":"s","namespace":"ns","uid":"u"},
                         "status":{"boundVolumeSnapshotContentName":"c"}})"},
        SnapshotCase{.rows = "provisioner/22.7/9",
                     .name = "status missing",
                     .snapshot = R"({"metadata":{"name":"s","namespace":"ns","uid":"u"}})"},
        SnapshotCase{.rows = "provisioner/22.7/10",
                     .name = "no bound content",
                     .snapshot = R"({"metadata":{"name":"s","namespace":"ns","uid":"u"},
                         "status":{"readyToUse":true}})"},
        SnapshotCase{.name = "no restoreSize",
                     .snapshot = R"({"metadata":{"name":"s","namespace":"ns","uid":"u"},
                         "status":{"readyToUse":true,"boundVolumeSnapshotContentName":"c"}})",
                     .request = "1",
                     .usable = true},
        SnapshotCase{.name = "restoreSize as a number",
                     .snapshot = R"({"metadata":{"name":"s","namespace":"ns","uid":"u"},
                         "status":{"readyToUse":true,"restoreSize":1001,
                         "boundVolumeSnapshotContentName":"c"}})"},
        SnapshotCase{.rows = "provisioner/22.7/11",
                     .name = "content of another UID",
                     .content = R"({"spec":{"driver":"drv","volumeSnapshotRef":{"name":"s",
                         "namespace":"ns","uid":"x"}},"status":{"snapshotHandle":"sid"}})"},
        SnapshotCase{.rows = "provisioner/22.7/11",
                     .name = "content of another namespace",
                     .content = R"({"spec":{"driver":"drv","volumeSnapshotRef":{"name":"s",
                         "namespace":"x","uid":"u"}},"status":{"snapshotHandle":"sid"}})"},
        SnapshotCase{.rows = "provisioner/22.7/11",
                     .name = "content of another name",
                     .content = R"({"spec":{"driver":"drv","volumeSnapshotRef":{"name":"x",
                         "namespace":"ns","uid":"u"}},"status":{"snapshotHandle":"sid"}})"},
        SnapshotCase{.rows = "provisioner/22.7/12",
                     .name = "another driver",
                     .provisioner = "another-driver"},
        SnapshotCase{.rows = "provisioner/22.7/13",
                     .name = "content without status",
                     .content = R"({"spec":{"driver":"drv","volumeSnapshotRef":{"name":"s",
                         "namespace":"ns","uid":"u"}}})"},
        SnapshotCase{.rows = "provisioner/22.7/13",
                     .name = "content without handle",
                     .content = R"({"spec":{"driver":"drv","volumeSnapshotRef":{"name":"s",
                         "namespace":"ns","uid":"u"}},"status":{}})"},
        SnapshotCase{.rows = "provisioner/22.7/15",
                     .name = "other mode with permission",
                     .content = R"({"metadata":{"annotations":{
                         "snapshot.storage.kubernetes.io/allow-volume-mode-change":"true"}},
                         "spec":{"driver":"drv","sourceVolumeMode":"Filesystem",
                         "volumeSnapshotRef":{"name":"s","namespace":"ns","uid":"u"}},
                         "status":{"snapshotHandle":"sid"}})",
                     .mode = "Block",
                     .usable = true},
        SnapshotCase{.name = "permission that is no bool",
                     .content = R"({"metadata":{"annotations":{
                         "snapshot.storage.kubernetes.io/allow-volume-mode-change":"yes"}},
                         "spec":{"driver":"drv","sourceVolumeMode":"Filesystem",
                         "volumeSnapshotRef":{"name":"s","namespace":"ns","uid":"u"}},
                         "status":{"snapshotHandle":"sid"}})",
                     .mode = "Block"},
        SnapshotCase{.rows = "provisioner/22.7/16",
                     .name = "other mode without permission",
                     .mode = "Block"},
        SnapshotCase{.name = "other mode, check switched off",
                     .mode = "Block",
                     .conversion = ModeConversion::kFree,
                     .usable = true},
        SnapshotCase{.name = "claim without a mode", .mode = "", .usable = true},
        SnapshotCase{.rows = "provisioner/22.7/17",
                     .name = "content without a mode",
                     .content = R"({"spec":{"driver":"drv","volumeSnapshotRef":{"name":"s",
                         "namespace":"ns","uid":"u"}},"status":{"snapshotHandle":"sid"}})",
                     .mode = "Block",
                     .usable = true},
        SnapshotCase{.rows = "provisioner/22.7/19",
                     .name = "terminating",
                     .snapshot = R"({"metadata":{"name":"s","namespace":"ns","uid":"u",
                         "deletionTimestamp":"2024-01-01T00:00:00Z"},
                         "status":{"readyToUse":true,"boundVolumeSnapshotContentName":"c"}})"},
        SnapshotCase{.rows = "provisioner/22.7/20",
                     .name = "terminating with another finalizer",
                     .snapshot = R"({"metadata":{"name":"s","namespace":"ns","uid":"u",
                         "finalizers":["some-other-finalizer"],
                         "deletionTimestamp":"2024-01-01T00:00:00Z"},
                         "status":{"readyToUse":true,"boundVolumeSnapshotContentName":"c"}})"},
        SnapshotCase{
            .rows = "provisioner/22.7/21",
            .name = "terminating with our finalizer",
            .snapshot = R"({"metadata":{"name":"s","namespace":"ns","uid":"u","finalizers":[
                "provisioner.storage.kubernetes.io/volumesnapshot-as-source-protection"],
                "deletionTimestamp":"2024-01-01T00:00:00Z"},
                "status":{"readyToUse":true,"boundVolumeSnapshotContentName":"c"}})",
            .usable = true}));

TEST(SnapshotSourceTest, TextOfAForbiddenModeChangeHasTheKnownFragment) {
  rapidjson::Document snapshot;
  snapshot.Parse(kSnapshot);
  rapidjson::Document content;
  content.Parse(kContent);
  core::PersistentVolumeClaim claim;
  claim.mutable_spec()->set_volumemode("Block");
  apis::MutableEntry(claim.mutable_spec()->mutable_resources()->mutable_requests(), "storage")
      ->set_string("1Gi");
  const auto handle =
      RestorableHandle(claim, snapshot, content, "drv", ModeConversion::kNeedsPermission);
  ASSERT_FALSE(handle.ok());
  EXPECT_NE(handle.status().message().find("modifies the mode of the source volume but does not "
                                           "have permission to do so"),
            std::string::npos);
}

}  // namespace
}  // namespace csinative::provisioner
