// SPDX-License-Identifier: Apache-2.0
//
// Two PersistentVolumes of one volumeHandle: static ones, of a file share for example.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/base/strings.h"
#include "test/unit/volumemanager/world.h"

namespace csinative::volumemanager {
namespace {

using std::chrono::seconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

class SharedHandleTest : public ::testing::Test {
 protected:
  // Like World::AddVolume, with the handle of "pv1".
  void AddTwin(const std::string& name) {
    world_.Add(StrCat(R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":")",
                      name, R"(","namespace":"default"},"spec":{"volumeName":")", name,
                      R"(","accessModes":["ReadWriteMany"],"volumeMode":"Filesystem",)"
                      R"("resources":{"requests":{"storage":"1Gi"}}}})"));
    world_.Merge<core::PersistentVolumeClaim>({"default", name}, R"({"status":{"phase":"Bound"}})",
                                              "status");
    const auto claim = world_.Find<core::PersistentVolumeClaim>({"default", name});
    ASSERT_TRUE(claim);
    world_.Add(StrCat(R"({"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":")", name,
                      R"("},"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteMany"],)"
                      R"("volumeMode":"Filesystem","claimRef":{"namespace":"default","name":")",
                      name, R"(","uid":")", claim->metadata().uid(), R"("},"csi":{"driver":")",
                      kDriver, R"(","volumeHandle":"h-pv1"}}})"));
  }
  void Start() {
    world_.driver_spec =
        R"({"attachRequired":false,"podInfoOnMount":false,"volumeLifecycleModes":["Persistent"]})";
    world_.Start();
    world_.AddVolume("pv1", {.access = "ReadWriteMany"});
    AddTwin("pv2");
  }
  World world_;
};

class SharedHandleAfterRestart : public SharedHandleTest,
                                 public ::testing::WithParamInterface<bool> {};

TEST_P(SharedHandleAfterRestart, EachPodIsUndoneWhereItWasPublished) {
  Start();
  const std::string gone_volume = GetParam() ? "pv1" : "pv2";
  const std::string kept_volume = GetParam() ? "pv2" : "pv1";
  world_.AddPod("gone", {.claims = {gone_volume}});
  world_.AddPod("kept", {.claims = {kept_volume}});
  world_.Advance(seconds(2));
  const std::string gone = world_.PublishPath("gone", gone_volume);
  const std::string kept = world_.PublishPath("kept", kept_volume);
  ASSERT_THAT(world_.fs().Mounts(), UnorderedElementsAre(World::StagingPath(), gone, kept));
  world_.Kill();
  world_.EndPod("gone");
  world_.config.force_delay = seconds(0);
  world_.ClearTrace();
  world_.Start();
  world_.Advance(seconds(5));
  EXPECT_THAT(world_.Trace(), Contains("UNPUBLISH h-pv1 " + gone));
  EXPECT_THAT(world_.Trace(), Not(Contains(StartsWith("UNSTAGE"))));
  EXPECT_THAT(world_.fs().Mounts(), UnorderedElementsAre(World::StagingPath(), kept));
  world_.EndPod("kept");
  world_.Advance(seconds(5));
  EXPECT_THAT(world_.fs().Mounts(), IsEmpty());
  EXPECT_THAT(world_.Left(), Not(Contains(StartsWith("pods/"))));
}

// Whichever was read last.
INSTANTIATE_TEST_SUITE_P(SharedHandleTest, SharedHandleAfterRestart, ::testing::Bool());

TEST_F(SharedHandleTest, PodThatHasBothIsToldSo) {
  Start();
  world_.AddPod("p1", {.claims = {"pv1", "pv2"}});
  world_.Advance(seconds(30));
  EXPECT_THAT(world_.Events(),
              Contains(HasSubstr("PersistentVolumes \"pv1\" and \"pv2\" have the same volumeHandle "
                                 "\"h-pv1\" of driver \"test.csi.example\"")));
  EXPECT_THAT(world_.fs().Mounts(),
              UnorderedElementsAre(World::StagingPath(), world_.PublishPath("p1", "pv1")));
}

TEST_F(SharedHandleTest, OnlyOneTargetIsEverPublishedForAPodThatHasBoth) {
  Start();
  // Done, and the answer is lost.
  world_.driver().FailOnce(kPublish, RpcStatus(4, "timed out"));
  world_.AddPod("p1", {.claims = {"pv1", "pv2"}});
  world_.Advance(seconds(30));
  EXPECT_THAT(world_.Trace(), ElementsAre("STAGE h-pv1 " + World::StagingPath(),
                                          "PUBLISH h-pv1 " + world_.PublishPath("p1", "pv1"),
                                          "PUBLISH h-pv1 " + world_.PublishPath("p1", "pv1")));
  world_.ClearTrace();
  world_.EndPod("p1");
  world_.Advance(seconds(5));
  EXPECT_THAT(world_.Trace(), ElementsAre("UNPUBLISH h-pv1 " + world_.PublishPath("p1", "pv1"),
                                          "UNSTAGE h-pv1 " + World::StagingPath()));
  EXPECT_THAT(world_.Left(), Not(Contains(StartsWith("pods/"))));
}

TEST_F(SharedHandleTest, WhatWasPublishedBeforeARestartDecidesWhichOneAPodHas) {
  Start();
  // The first claim cannot be read, so the pod gets the second.
  world_.api().set_fault_hook([](const apiserver::RequestInfo& request) {
    apiserver::Fault fault;
    if (request.user == "manager" && request.resource == "persistentvolumeclaims" &&
        request.name == "pv1") {
      fault.code = 403;
    }
    return fault;
  });
  world_.AddPod("p1", {.claims = {"pv1", "pv2"}});
  world_.Settle();
  world_.api().set_fault_hook(nullptr);
  world_.Kill();
  world_.ClearTrace();
  world_.Start();
  world_.Advance(seconds(30));
  EXPECT_THAT(world_.Trace(), Not(Contains("PUBLISH h-pv1 " + world_.PublishPath("p1", "pv1"))));
  EXPECT_THAT(world_.fs().Mounts(),
              UnorderedElementsAre(World::StagingPath(), world_.PublishPath("p1", "pv2")));
}

TEST_F(SharedHandleTest, OneClaimUsedTwiceInAPodIsOneVolume) {
  Start();
  world_.AddPod("p1",
                {.claims = {"pv1"},
                 .volumes = R"({"name":"again","persistentVolumeClaim":{"claimName":"pv1"}},)",
                 .mounts = R"({"name":"again","mountPath":"/again"},)"});
  world_.Advance(seconds(5));
  EXPECT_THAT(world_.Events(), IsEmpty());
  EXPECT_THAT(world_.fs().Mounts(),
              UnorderedElementsAre(World::StagingPath(), world_.PublishPath("p1", "pv1")));
}

}  // namespace
}  // namespace csinative::volumemanager
