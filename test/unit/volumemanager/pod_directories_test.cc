// SPDX-License-Identifier: Apache-2.0
//
// Which directories below pods/ are removed, and which belong to somebody else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/async/sleep.h"
#include "lib/base/strings.h"
#include "test/unit/volumemanager/world.h"

namespace csinative::volumemanager {
namespace {

using std::chrono::seconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kHash[] = "6a1b5a0f4d9e1c2b3a4958677685940f";
constexpr char kEmptyDir[] = "/volumes/kubernetes.io~empty-dir/cache";

class PodDirectoriesTest : public ::testing::Test {
 protected:
  void Make(const std::string& path) {
    ASSERT_TRUE(world_.fs().MakeDirectories(world_.At(path), 0750).ok());
  }
  bool Has(const std::string& path) { return world_.fs().Stat(world_.At(path)).ok(); }
  void AddMirror() {
    world_.Add(StrCat(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"static-node1",)"
                      R"("namespace":"default","annotations":{"kubernetes.io/config.mirror":")",
                      kHash, R"(","kubernetes.io/config.hash":")", kHash,
                      R"("}},"spec":{"nodeName":")", kNode,
                      R"(","containers":[{"name":"c","image":"i"}]}})"));
  }
  void StartMounted() {
    world_.StartMounted();
    ASSERT_TRUE(Has(world_.PublishPath("p1")));
  }
  World world_;
};

TEST_F(PodDirectoriesTest, WhatAppearsLaterStaysWhileTheApiDoesNotKnowItsPod) {
  world_.Start();
  world_.Advance(seconds(120));
  Make(StrCat("pods/x", kEmptyDir));
  world_.Advance(seconds(300));
  EXPECT_TRUE(Has(StrCat("pods/x", kEmptyDir)));
}

TEST_F(PodDirectoriesTest, EmptyFolderOfThisPluginThatAppearsLaterStaysToo) {
  world_.Start();
  world_.Advance(seconds(120));
  Make("pods/x/volumes/kubernetes.io~csi");
  world_.Advance(seconds(300));
  EXPECT_TRUE(Has("pods/x/volumes/kubernetes.io~csi"));
}

TEST_F(PodDirectoriesTest, DirectoryFoundAtTheStartIsRemovedWhenItsPodStaysUnknown) {
  world_.Start();
  world_.Kill();
  Make("pods/x/volumes/kubernetes.io~csi/pv9/mount");
  Make("pods/x/volumeDevices/kubernetes.io~csi");
  Make("pods/x/plugins");
  world_.Start();
  world_.Advance(seconds(55));
  EXPECT_TRUE(Has("pods/x/plugins"));
  world_.Advance(seconds(20));
  EXPECT_THAT(world_.Left(), IsEmpty());
}

TEST_F(PodDirectoriesTest, FoldersOfOthersStayAndThePodsDirectoryWithThem) {
  world_.Start();
  world_.Kill();
  Make("pods/x/volumes/kubernetes.io~csi");
  Make(StrCat("pods/x", kEmptyDir));
  Make("pods/y/volumes");
  Make("pods/y/containers/c");
  world_.Start();
  world_.Advance(seconds(120));
  EXPECT_THAT(world_.Left(),
              ElementsAre("pods/x/", "pods/x/volumes/", "pods/x/volumes/kubernetes.io~empty-dir/",
                          "pods/x/volumes/kubernetes.io~empty-dir/cache/", "pods/y/",
                          "pods/y/containers/", "pods/y/containers/c/", "pods/y/volumes/"));
}

TEST_F(PodDirectoriesTest, StaticPodKeepsItsDirectory) {
  world_.Start();
  world_.Kill();
  Make(StrCat("pods/", kHash, "/volumes/kubernetes.io~csi"));
  world_.Start();
  AddMirror();
  world_.Advance(seconds(300));
  EXPECT_TRUE(Has(StrCat("pods/", kHash, "/volumes/kubernetes.io~csi")));
  // Says nothing of the containers: the agent makes another mirror.
  world_.RemovePod("static-node1");
  world_.Advance(seconds(300));
  EXPECT_TRUE(Has(StrCat("pods/", kHash, "/volumes/kubernetes.io~csi")));
}

TEST_F(PodDirectoriesTest, StaticPodWithoutMirrorKeepsItsEmptyVolumes) {
  Make(StrCat("pods/", kHash, kEmptyDir));
  world_.Start();
  world_.Advance(seconds(300));
  EXPECT_TRUE(Has(StrCat("pods/", kHash, kEmptyDir)));
}

TEST_F(PodDirectoriesTest, DirectoryOfAPodThatWasSeenGoesOnceTheAgentHasRemovedItsOwn) {
  StartMounted();
  const std::string pod = StrCat("pods/", world_.Uid("p1"));
  Make(pod + kEmptyDir);
  world_.EndPod("p1");
  world_.Advance(seconds(120));
  EXPECT_TRUE(Has(pod + kEmptyDir));
  EXPECT_FALSE(Has(pod + "/volumes/kubernetes.io~csi"));
  for (const char* path : {kEmptyDir, "/volumes/kubernetes.io~empty-dir"}) {
    ASSERT_TRUE(world_.fs().Remove(world_.At(pod + path)).ok());
  }
  world_.Advance(seconds(20));
  EXPECT_FALSE(Has(pod));
}

// The pod is forgotten, because nothing of it is there, while its mount still waits for an answer.
TEST_F(PodDirectoriesTest, DirectoryThatAMountMakesAfterItsPodWasForgottenIsRemoved) {
  world_.Start();
  world_.AddVolume("pv1");
  bool answer = false;
  world_.driver().Once(kStage,
                       [&answer](const google::protobuf::Message*, google::protobuf::Message*) {
                         return [](bool* go) -> async::Task<Status> {
                           while (!*go) CSI_CO_RETURN_IF_ERROR(co_await async::Sleep(seconds(1)));
                           co_return Status();
                         }(&answer);
                       });
  world_.AddPod("p1");
  world_.Attach("pv1");
  world_.Settle();
  world_.EndPod("p1");
  world_.Advance(seconds(30));
  ASSERT_THAT(world_.state().pods.Tombstones(), IsEmpty());
  answer = true;
  world_.Advance(seconds(60));
  EXPECT_THAT(world_.Left(), ::testing::Not(Contains(::testing::StartsWith("pods/"))));
  EXPECT_THAT(world_.fs().Mounts(), IsEmpty());
  EXPECT_THAT(world_.state().pods.Directories(), IsEmpty());
}

}  // namespace
}  // namespace csinative::volumemanager
