// SPDX-License-Identifier: Apache-2.0
//
// The finalizer of volumes that go away (attacher 11, 15.3).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/unit/attacher/traces.h"
#include "test/unit/attacher/world.h"

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

TEST_F(VolumeTest, RemovedVolumeWithoutAttachmentIsReleased) {  // P5
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

TEST_F(VolumeTest, LastAttachmentReleasesTheVolume) {  // P1, P9
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

TEST_F(VolumeTest, RemovedVolumeWithoutOurFinalizerIsLeftAlone) {  // P3, P10
  world_.AddVolume({.finalizers = {kProtection}});
  world_.Start();
  world_.Remove<core::PersistentVolume>("pv1");
  world_.Advance(seconds(60));
  EXPECT_THAT(world_.Trace(), IsEmpty());
}

TEST_F(VolumeTest, LiveVolumeKeepsTheFinalizerWhenItIsDetached) {  // P8, attacher 11
  world_.AddVolume();
  world_.AddNode();
  world_.AddAttachment(AttachedBefore());
  world_.Start();
  world_.Remove<storage::VolumeAttachment>("va1");
  world_.Advance(seconds(60));
  EXPECT_THAT(Finalizers(), ElementsAre(kProtection, kFinalizer));
}

TEST_F(VolumeTest, OtherFinalizersStay) {  // P6
  world_.AddVolume({.finalizers = {kFinalizer, "foo/bar", "bar/baz", kProtection}});
  world_.Remove<core::PersistentVolume>("pv1");
  world_.Start();
  EXPECT_THAT(world_.Trace(), ElementsAre(trace::RemoveFromVolume(0)));
  EXPECT_THAT(Finalizers(), ElementsAre("foo/bar", "bar/baz", kProtection));
}

TEST_F(VolumeTest, RemovalIsRetried) {  // P7
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
