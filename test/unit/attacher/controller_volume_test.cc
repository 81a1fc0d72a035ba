// SPDX-License-Identifier: Apache-2.0
//
// The finalizer of volumes that go away (attacher 11, 15.3).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/support/attacher/traces.h"
#include "test/support/attacher/world.h"
#include "test/support/oracle.h"

namespace csinative::attacher {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Held by the control plane as well, so that the volume stays.
constexpr int kOurs = 1;

class VolumeTest : public ::testing::Test {
 protected:
  std::vector<std::string> Finalizers() {
    const auto volume = world_.Find<core::PersistentVolume>("pv1");
    if (!volume) return {"gone"};
    return {volume->metadata().finalizers().begin(), volume->metadata().finalizers().end()};
  }
  World world_;
};

TEST_F(VolumeTest, RemovedVolumeWithoutAttachmentIsReleased) {
  const oracle::Row row("attacher/15.3/5");
  world_.AddVolume();
  world_.Start();
  world_.Remove<core::PersistentVolume>("pv1");
  world_.Settle();
  EXPECT_THAT(world_.Trace(), ElementsAre(trace::RemoveFromVolume(kOurs)));
  EXPECT_THAT(Finalizers(), ElementsAre(kProtection));
}

TEST_F(VolumeTest, VolumeThatWasRemovedBeforeTheStartIsReleased) {  // attacher 14
  world_.AddVolume();
  world_.Remove<core::PersistentVolume>("pv1");
  world_.Start();
  EXPECT_THAT(Finalizers(), ElementsAre(kProtection));
}

TEST_F(VolumeTest, LastAttachmentReleasesTheVolume) {
  world_.AddVolume();
  world_.AddNode();
  world_.AddAttachment(AttachedBefore());
  world_.Start();
  world_.Remove<core::PersistentVolume>("pv1");
  world_.Advance(seconds(60));
  EXPECT_THAT(world_.Trace(), IsEmpty());
  world_.Remove<storage::VolumeAttachment>("va1");
  world_.Settle();
  EXPECT_THAT(world_.Trace(),
              ElementsAre(trace::kUnpublished, trace::kRelease, trace::kDetached + trace::kGone,
                          trace::RemoveFromVolume(kOurs)));
  EXPECT_THAT(Finalizers(), ElementsAre(kProtection));
}

TEST_F(VolumeTest, ForeignAttachmentKeepsTheFinalizerToo) {  // attacher 11, step 3
  world_.AddVolume();
  world_.AddAttachment({.attacher = "unknown.example"});
  world_.Start();
  world_.Remove<core::PersistentVolume>("pv1");
  world_.Advance(seconds(60));
  EXPECT_THAT(world_.Trace(), IsEmpty());
  world_.Remove<storage::VolumeAttachment>("va1");
  world_.Settle();
  EXPECT_THAT(world_.Trace(), ElementsAre(trace::RemoveFromVolume(kOurs)));
}

// A volume that goes away and the end of its last attachment, which is of another driver, so that
// only the volume is this one's business.
struct GoingRow {
  std::string row;  // of the oracle
  std::string name;
  VolumeSpec volume = {};
  enum class Volume { kLive, kGoing } state = Volume::kGoing;
  std::vector<std::string> expected = {};
};
class GoingVolumeTest : public ::testing::TestWithParam<GoingRow> {};

TEST_P(GoingVolumeTest, EndOfTheLastAttachmentDecides) {
  const oracle::Row row(GetParam().row);
  World world;
  world.AddVolume(GetParam().volume);
  world.AddAttachment({.attacher = "unknown.example"});
  if (GetParam().state == GoingRow::Volume::kGoing) world.Remove<core::PersistentVolume>("pv1");
  world.Start();
  EXPECT_THAT(world.Trace(), IsEmpty());
  world.Remove<storage::VolumeAttachment>("va1");
  world.Advance(seconds(60));
  EXPECT_EQ(world.Trace(), GetParam().expected);
}

std::vector<GoingRow> GoingRows() {
  VolumeSpec gce_without = kGceDisk;
  gce_without.finalizers = {kProtection};
  return {
      {.row = "attacher/15.3/1", .name = "P1", .expected = {trace::RemoveFromVolume(kOurs)}},
      {.row = "attacher/15.3/2",
       .name = "P2_gce_disk",
       .volume = kGceDisk,
       .expected = {trace::RemoveFromVolume(kOurs)}},
      {.row = "attacher/15.3/3",
       .name = "P3_without_our_finalizer",
       .volume = {.finalizers = {kProtection}}},
      {.row = "attacher/15.3/4",
       .name = "P4_gce_disk_without_our_finalizer",
       .volume = gce_without},
      {.row = "attacher/15.3/8",
       .name = "P8_live_without_our_finalizer",
       .volume = {.finalizers = {kProtection}},
       .state = GoingRow::Volume::kLive},
  };
}
INSTANTIATE_TEST_SUITE_P(Rows, GoingVolumeTest, ::testing::ValuesIn(GoingRows()),
                         [](const auto& info) { return info.param.name; });

TEST_F(VolumeTest, AttachmentInTheCacheKeepsTheFinalizer) {
  const oracle::Row row("attacher/15.3/9");
  world_.AddVolume();
  world_.AddNode();
  world_.AddAttachment(AttachedBefore());
  world_.Start();
  world_.Remove<core::PersistentVolume>("pv1");
  world_.Merge<core::PersistentVolume>("pv1", R"({"metadata":{"annotations":{"a":"b"}}})");
  world_.Advance(seconds(60));
  EXPECT_THAT(world_.Trace(), IsEmpty());
  EXPECT_THAT(Finalizers(), ElementsAre(kProtection, kFinalizer));
}

TEST_F(VolumeTest, UpdatesOfForeignVolumesAreIgnored) {
  const oracle::Row row("attacher/15.3/10");
  world_.AddVolume({.finalizers = {kProtection, "external-attacher/other-csi-example"}});
  world_.Start();
  world_.Merge<core::PersistentVolume>("pv1", R"({"metadata":{"annotations":{"a":"b"}}})");
  world_.Remove<core::PersistentVolume>("pv1");
  world_.Advance(seconds(60));
  EXPECT_THAT(world_.Trace(), IsEmpty());
}

TEST_F(VolumeTest, LiveVolumeKeepsTheFinalizerWhenItIsDetached) {  // attacher 11
  world_.AddVolume();
  world_.AddNode();
  world_.AddAttachment(AttachedBefore());
  world_.Start();
  world_.Remove<storage::VolumeAttachment>("va1");
  world_.Advance(seconds(60));
  EXPECT_THAT(Finalizers(), ElementsAre(kProtection, kFinalizer));
}

TEST_F(VolumeTest, OtherFinalizersStay) {
  const oracle::Row row("attacher/15.3/6");
  world_.AddVolume({.finalizers = {kFinalizer, "foo/bar", "bar/baz", kProtection}});
  world_.Remove<core::PersistentVolume>("pv1");
  world_.Start();
  EXPECT_THAT(world_.Trace(), ElementsAre(trace::RemoveFromVolume(0)));
  EXPECT_THAT(Finalizers(), ElementsAre("foo/bar", "bar/baz", kProtection));
}

TEST_F(VolumeTest, RemovalIsRetried) {
  const oracle::Row row("attacher/15.3/7");
  world_.AddVolume();
  world_.Remove<core::PersistentVolume>("pv1");
  world_.Forbid("persistentvolumes/pv1");
  world_.Forbid("persistentvolumes/pv1");
  world_.Start();
  world_.Advance(seconds(3));
  const std::string remove = trace::RemoveFromVolume(kOurs);
  EXPECT_THAT(world_.Trace(),
              ElementsAre(remove + trace::kRefused, remove + trace::kRefused, remove));
}

TEST_F(VolumeTest, MigrationTakenBackReleasesALiveVolume) {  // 15.3, filter
  world_.AddVolume({.source = R"("gcePersistentDisk":{"pdName":"testpd"})"});
  world_.Start();
  EXPECT_THAT(world_.Trace(), ElementsAre(trace::RemoveFromVolume(kOurs)));
}

TEST_F(VolumeTest, MigratedVolumeIsLeftAlone) {  // 15.3, filter
  world_.AddVolume({.source = R"("gcePersistentDisk":{"pdName":"testpd"})",
                    .metadata = R"(,"annotations":{"pv.kubernetes.io/migrated-to":)"
                                R"("test.csi.example"})"});
  world_.Start();
  EXPECT_THAT(world_.Trace(), IsEmpty());
}

}  // namespace
}  // namespace csinative::attacher
