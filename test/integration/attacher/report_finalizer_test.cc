// SPDX-License-Identifier: Apache-2.0
//
// Reports about finalizers (docs/compatibility.md): kubernetes#116663, external-attacher#66 and
// kubernetes#69697, external-provisioner#1217.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "test/support/attacher/traces.h"
#include "test/support/attacher/world.h"

namespace csinative::attacher {
namespace {

using ::csi::v1::ControllerPublishVolumeRequest;
using ::csi::v1::ControllerPublishVolumeResponse;
using ::csi::v1::ControllerUnpublishVolumeRequest;
using ::csi::v1::ControllerUnpublishVolumeResponse;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kForeign[] = "foreign.example/x";

// --- kubernetes#116663: an attachment that was deleted in the middle of its first sync vanished,
// and the volume stayed attached

// What goes wrong at the moment of the deletion.
struct Moment {
  std::string name;
  std::function<void(World&)> arrange;
};

class DeletionTest : public ::testing::TestWithParam<Moment> {
 protected:
  DeletionTest() {
    world_.config.call_timeout = seconds(15);
    world_.driver().Handle<ControllerPublishVolumeRequest, ControllerPublishVolumeResponse>(
        kPublish, [this](ControllerPublishVolumeRequest, ControllerPublishVolumeResponse*) {
          return Publish();
        });
    world_.driver().Handle<ControllerUnpublishVolumeRequest, ControllerUnpublishVolumeResponse>(
        kUnpublish, [this](ControllerUnpublishVolumeRequest, ControllerUnpublishVolumeResponse*) {
          return Unpublish();
        });
  }
  async::Task<Status> Publish() {
    const auto attachment = Stored();
    EXPECT_NE(attachment.find(kFinalizer), std::string::npos)
        << "the server has not confirmed the finalizer";
    attached_ = true;
    if (delete_in_publish_) world_.RemoveSoon("va1");
    co_return co_await async::Sleep(milliseconds(50));
  }
  async::Task<Status> Unpublish() {
    EXPECT_FALSE(Stored().empty()) << "unpublish after the attachment went";
    attached_ = false;
    co_return Status();
  }
  std::string Stored() { return world_.StoredAttachment("va1"); }

  World world_;
  bool attached_ = false;
  bool delete_in_publish_ = false;
};

TEST_P(DeletionTest, NeverLeavesTheVolumeAttached) {
  delete_in_publish_ = GetParam().name == "during_publish";
  world_.AddVolume({.csi = R"(,"controllerPublishSecretRef":)"
                           R"({"namespace":"default","name":"secret"})"});
  world_.AddNode();
  world_.AddSecret("secret");
  GetParam().arrange(world_);
  world_.AddAttachment();
  world_.Start();
  if (GetParam().name == "after_everything") world_.Remove<storage::VolumeAttachment>("va1");
  world_.Advance(minutes(20));
  EXPECT_FALSE(world_.Find<storage::VolumeAttachment>("va1").has_value());
  EXPECT_FALSE(attached_);
}

apiserver::Fault Late() { return {.delay = milliseconds(20)}; }

// Deletes it as the request comes, which is executed after (or before) that.
std::function<void(World&)> DeleteBefore(const std::string& request) {
  return [request](World& world) {
    world.WhenArrives(request, [&world] {
      world.RemoveSoon("va1");
      return Late();
    });
  };
}
std::function<void(World&)> DeleteAfter(const std::string& request, apiserver::Fault::Drop drop) {
  return [request, drop](World& world) {
    world.WhenArrives(request, [&world, drop] {
      world.RemoveLater("va1", milliseconds(1));
      apiserver::Fault fault;
      fault.drop = drop;
      return fault;
    });
  };
}
// Somebody changes the object at the same moment, and then deletes it.
std::function<void(World&)> ChangeBefore(const std::string& request) {
  return [request](World& world) {
    world.WhenArrives(request, [&world] {
      world.AnnotateSoon("va1");
      world.RemoveLater("va1", seconds(3));
      return Late();
    });
  };
}

using Drop = apiserver::Fault::Drop;
INSTANTIATE_TEST_SUITE_P(
    Moments, DeletionTest,
    ::testing::Values(
        Moment{"before_the_secret_is_read", DeleteBefore("get secrets/secret")},
        Moment{"before_the_finalizer", DeleteBefore("patch volumeattachments/va1")},
        Moment{"after_the_finalizer", DeleteAfter("patch volumeattachments/va1", Drop::kNone)},
        Moment{"after_the_finalizer_whose_answer_is_lost",
               DeleteAfter("patch volumeattachments/va1", Drop::kAfter)},
        Moment{"with_a_conflict", ChangeBefore("patch volumeattachments/va1")},
        Moment{"during_publish", [](World&) {}},
        Moment{"before_the_status", DeleteBefore("patch volumeattachments/va1/status")},
        Moment{"after_the_status_whose_answer_is_lost",
               DeleteAfter("patch volumeattachments/va1/status", Drop::kAfter)},
        Moment{"after_everything", [](World&) {}}),
    [](const auto& info) { return info.param.name; });

// --- external-attacher#66, kubernetes#69697: attach failed for good, and its objects could not be
// deleted

TEST(ReportTest, AttachmentThatNeverWorkedCanBeDeletedWithItsVolume) {
  World world;
  world.AddVolume();
  world.AddNode();
  world.AddAttachment();
  world.driver().Fail(kPublish, RpcStatus(5, "no such volume"));
  world.Start();
  world.Advance(minutes(2));
  world.Remove<core::PersistentVolume>("pv1");
  world.Remove<storage::VolumeAttachment>("va1");
  world.Settle();
  EXPECT_EQ(world.Requests<ControllerUnpublishVolumeRequest>(kUnpublish).size(), 1u);
  EXPECT_FALSE(world.Find<storage::VolumeAttachment>("va1").has_value());
  EXPECT_THAT(world.Find<core::PersistentVolume>("pv1")->metadata().finalizers(),
              ElementsAre(kProtection));
}

// --- external-provisioner#1217, external-attacher PR 707: patches made from an old copy brought
// back finalizers of others

class OldCopyTest : public ::testing::Test {
 protected:
  OldCopyTest() { world_.AddNode(); }
  template <typename T>
  std::vector<std::string> Finalizers(const std::string& name) {
    const auto object = world_.Find<T>(name);
    if (!object) return {"gone"};
    return {object->metadata().finalizers().begin(), object->metadata().finalizers().end()};
  }
  void SetFinalizers(const std::string& list) {
    world_.Merge<storage::VolumeAttachment>("va1", R"({"metadata":{"finalizers":)" + list + "}}");
  }
  void SetVolumeFinalizers(const std::string& list) {
    world_.Merge<core::PersistentVolume>("pv1", R"({"metadata":{"finalizers":)" + list + "}}");
  }
  static constexpr char kSecretRef[] =
      R"(,"controllerPublishSecretRef":{"namespace":"default","name":"secret"})";
  World world_;
};

TEST_F(OldCopyTest, FinalizerOfAnAttachmentThatIsGoneStaysGoneWhenOursComes) {
  world_.AddVolume({.csi = kSecretRef});
  world_.AddAttachment({.finalizers = {kForeign}});
  world_.Start();  // fails: there is no Secret
  world_.HoldCaches(true);
  SetFinalizers("null");
  world_.AddSecret("secret");
  world_.Advance(seconds(10));
  EXPECT_THAT(Finalizers<storage::VolumeAttachment>("va1"), IsEmpty());
  EXPECT_THAT(world_.Requests<ControllerPublishVolumeRequest>(kPublish), IsEmpty());
  world_.HoldCaches(false);
  world_.Advance(minutes(2));
  EXPECT_THAT(Finalizers<storage::VolumeAttachment>("va1"), ElementsAre(kFinalizer));
  EXPECT_TRUE(world_.Find<storage::VolumeAttachment>("va1")->status().attached());
}

TEST_F(OldCopyTest, FinalizerOfAnAttachmentThatIsNewStaysWhenOursComes) {
  world_.AddVolume({.csi = kSecretRef});
  world_.AddAttachment();
  world_.Start();
  world_.HoldCaches(true);
  SetFinalizers(R"(["foreign.example/x"])");
  world_.AddSecret("secret");
  world_.Advance(seconds(10));
  EXPECT_THAT(Finalizers<storage::VolumeAttachment>("va1"), ElementsAre(kForeign));
  world_.HoldCaches(false);
  world_.Advance(minutes(2));
  EXPECT_THAT(Finalizers<storage::VolumeAttachment>("va1"), ElementsAre(kForeign, kFinalizer));
}

TEST_F(OldCopyTest, FinalizersOfAnAttachmentStayAsTheyAreWhenOursGoes) {
  world_.AddVolume();
  AttachmentSpec shared = AttachedBefore();
  shared.finalizers = {kFinalizer, kForeign, "foreign.example/y"};
  world_.AddAttachment(shared);
  world_.driver().FailOnce(kUnpublish, RpcStatus(14, "busy"));
  world_.Remove<storage::VolumeAttachment>("va1");
  world_.Start();
  world_.HoldCaches(true);
  // One has gone. A list that still has it would be refused, and is made anew.
  SetFinalizers(R"(["external-attacher/test-csi-example","foreign.example/y"])");
  world_.Advance(seconds(10));
  EXPECT_THAT(Finalizers<storage::VolumeAttachment>("va1"), ElementsAre("foreign.example/y"));
  EXPECT_FALSE(world_.Find<storage::VolumeAttachment>("va1")->status().has_detacherror());
  world_.HoldCaches(false);
  world_.Advance(minutes(2));
  EXPECT_THAT(Finalizers<storage::VolumeAttachment>("va1"), ElementsAre("foreign.example/y"));
}

TEST_F(OldCopyTest, FinalizerOfAVolumeThatIsGoneStaysGoneWhenOursComes) {
  world_.AddVolume({.finalizers = {kProtection, kForeign}, .csi = kSecretRef});
  // Two attachments, of which the first one fails before it can.
  world_.AddAttachment({.source = R"({"persistentVolumeName":"pv1"})"});
  world_.WhenArrives("patch persistentvolumes/pv1", [] { return apiserver::Fault{.code = 500}; });
  world_.Start();
  world_.HoldCaches(true);
  SetVolumeFinalizers(R"(["kubernetes.io/pv-protection"])");
  world_.Advance(minutes(2));
  EXPECT_THAT(Finalizers<core::PersistentVolume>("pv1"), ElementsAre(kProtection, kFinalizer));
}

TEST_F(OldCopyTest, FinalizersOfAVolumeStayAsTheyAreWhenOursGoes) {
  world_.AddVolume({.finalizers = {kProtection, kForeign, kFinalizer}});
  world_.WhenArrives("patch persistentvolumes/pv1", [] { return apiserver::Fault{.code = 500}; });
  world_.Remove<core::PersistentVolume>("pv1");
  world_.Start();
  world_.HoldCaches(true);
  SetVolumeFinalizers(R"(["kubernetes.io/pv-protection","external-attacher/test-csi-example"])");
  world_.Advance(seconds(10));
  // The place in the list is another one now: refused.
  EXPECT_THAT(Finalizers<core::PersistentVolume>("pv1"), ElementsAre(kProtection, kFinalizer));
  world_.HoldCaches(false);
  world_.Advance(minutes(2));
  EXPECT_THAT(Finalizers<core::PersistentVolume>("pv1"), ElementsAre(kProtection));
}

}  // namespace
}  // namespace csinative::attacher
