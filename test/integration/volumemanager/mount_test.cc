// SPDX-License-Identifier: Apache-2.0
//
// csi-volume-manager as a program with real mounts: exact paths, content that survives, and nothing
// left over, also when it is killed in between.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "apis/json/parse.h"
#include "lib/base/strings.h"
#include "test/integration/volumemanager/fixture.h"

namespace csinative {
namespace {

using std::chrono::seconds;

class MountTest : public VolumeManagerFixture {
 protected:
  void ExpectNothingLeft() {
    EXPECT_TRUE(Until([this] {
      return Mounts().empty() && !NodeHas("volumesInUse") && Left().empty();
    })) << ::testing::PrintToString(Mounts())
        << ::testing::PrintToString(Left());
  }
  void Write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }
};

TEST_F(MountTest, DriverRegistersAndTheNodeSaysSo) {
  StartWorld();
  StartManager();
  ASSERT_TRUE(Until([this] { return !told_.empty(); }));
  EXPECT_EQ(told_[0], "");
  EXPECT_THAT(Find("storage.k8s.io", "csinodes", "", kNode),
              ::testing::HasSubstr(R"("nodeID":"driver-node-1")"));
  EXPECT_TRUE(NodeHas(R"(\"sample.csi-native.io\":\"driver-node-1\")"));
  EXPECT_TRUE(NodeHas("controller-managed-attach-detach"));
  async::RunTask(loop_, registrar_->Close());
  registrar_.reset();
  EXPECT_TRUE(Until([this] {
    return Find("storage.k8s.io", "csinodes", "", kNode).find("driver-node-1") == npos;
  }));
}

TEST_F(MountTest, VolumeOfAPodIsMountedAtKubeletsPathsAndUndone) {
  StartWorld();
  StartManager();
  const std::string handle = MakeVolume("pv1");
  const std::string uid = StartPod("p1", "pv1");
  ASSERT_TRUE(Until([&] { return NodeHas(handle); })) << "reported before it is attached";
  EXPECT_TRUE(Mounts().empty());
  Attach("pv1", handle);
  const std::string target = StrCat(root(), "/pods/", uid, "/volumes/kubernetes.io~csi/pv1/mount");
  const std::string staging = StrCat(root(), "/plugins/kubernetes.io/csi/", kDriver, "/",
                                     volumemanager::Sha256Hex(handle), "/globalmount");
  ASSERT_TRUE(Until([&] { return Mounted(target); }));
  EXPECT_TRUE(Mounted(staging));
  EXPECT_THAT(Read(StrCat(root(), "/pods/", uid, "/volumes/kubernetes.io~csi/pv1/vol_data.json")),
              ::testing::AllOf(::testing::HasSubstr(StrCat(R"("volumeHandle":")", handle, "\"")),
                               ::testing::EndsWith("}\n")));
  Write(target + "/file", "written by the pod");
  EndPod("p1");
  ExpectNothingLeft();

  const std::string second = StartPod("p2", "pv1");
  const std::string again =
      StrCat(root(), "/pods/", second, "/volumes/kubernetes.io~csi/pv1/mount");
  ASSERT_TRUE(Until([&] { return Mounted(again); }));
  EXPECT_EQ(Read(again + "/file"), "written by the pod");
  EndPod("p2");
  ExpectNothingLeft();
}

TEST_F(MountTest, KilledBetweenMountAndDeleteTheNextProcessUndoesEverything) {
  StartWorld();
  StartManager();
  const std::string handle = MakeVolume("pv1");
  Attach("pv1", handle);
  const std::string uid = StartPod("p1", "pv1");
  const std::string target = paths_.PublishTarget(uid, "pv1");
  ASSERT_TRUE(Until([&] { return Mounted(target); }));
  Write(target + "/file", "kept");
  KillManager();
  EndPod("p1");
  EXPECT_EQ(Read(target + "/file"), "kept");
  StartManager();
  ExpectNothingLeft();
  EXPECT_TRUE(Find("", "pods", "default", "p1").empty());

  const std::string second = StartPod("p2", "pv1");
  ASSERT_TRUE(Until([&] { return Mounted(paths_.PublishTarget(second, "pv1")); }));
  EXPECT_EQ(Read(paths_.PublishTarget(second, "pv1") + "/file"), "kept");
}

TEST_F(MountTest, KilledWhileThePodRunsItsVolumeStaysAndIsUndoneLater) {
  StartWorld();
  StartManager();
  const std::string handle = MakeVolume("pv1");
  Attach("pv1", handle);
  const std::string uid = StartPod("p1", "pv1");
  const std::string target = paths_.PublishTarget(uid, "pv1");
  ASSERT_TRUE(Until([&] { return Mounted(target); }));
  KillManager();
  StartManager();
  ASSERT_TRUE(Until([&] { return Logged("MountVolume.SetUp succeeded"); }));
  EXPECT_TRUE(Mounted(target));
  EXPECT_TRUE(NodeHas("volumesInUse"));
  EndPod("p1");
  ExpectNothingLeft();
}

TEST_F(MountTest, BlockVolumeIsADeviceOfThePod) {
  StartWorld();
  StartManager();
  const std::string handle = MakeVolume("pv1", true);
  Attach("pv1", handle);
  const std::string uid = StartPod("p1", "pv1", true);
  const std::string link = StrCat(root(), "/pods/", uid, "/volumeDevices/kubernetes.io~csi/pv1");
  struct stat st = {};
  ASSERT_TRUE(Until([&] { return ::stat(link.c_str(), &st) == 0; }));
  EXPECT_TRUE(S_ISBLK(st.st_mode));
  EXPECT_TRUE(Mounted(StrCat(paths_.BlockMap("pv1"), "/", uid)));
  KillManager();
  EndPod("p1");
  StartManager();
  ExpectNothingLeft();
}

TEST_F(MountTest, TerminatedProcessLeavesVolumesMounted) {
  StartWorld();
  StartManager();
  const std::string handle = MakeVolume("pv1");
  Attach("pv1", handle);
  const std::string uid = StartPod("p1", "pv1");
  ASSERT_TRUE(Until([&] { return Mounted(paths_.PublishTarget(uid, "pv1")); }));
  manager_->Signal(SIGTERM);
  EXPECT_EQ(ExitCode(), 0);
  EXPECT_TRUE(Mounted(paths_.PublishTarget(uid, "pv1")));
  EXPECT_TRUE(NodeHas("volumesInUse"));
}

TEST_F(MountTest, SecretsAreNotInTheLog) {
  StartWorld();
  StartManager({"--v=10"});
  Add(R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","namespace":"default"},)"
      R"("data":{"password":"aHVudGVyMg=="}})");
  const std::string handle = MakeVolume("pv1");
  EXPECT_EQ(Request("DELETE", "/api/v1/persistentvolumes/pv1"), 200);
  rapidjson::Document claim;
  ASSERT_TRUE(apis::ParseJson(Find("", "persistentvolumeclaims", "default", "pv1"), &claim).ok());
  ASSERT_EQ(Request("PATCH", "/api/v1/persistentvolumes/pv1",
                    R"({"metadata":{"finalizers":null}})") == 200 ||
                Find("", "persistentvolumes", "", "pv1").empty(),
            true);
  Add(StrCat(R"({"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"pv1"},"spec":{)",
             R"("capacity":{"storage":"1Mi"},"accessModes":["ReadWriteOnce"],)",
             R"("claimRef":{"namespace":"default","name":"pv1","uid":")",
             std::string(claim["metadata"]["uid"].GetString()), R"("},"csi":{"driver":")", kDriver,
             R"(","volumeHandle":")", handle,
             R"(","nodeStageSecretRef":{"name":"s","namespace":"default"},)",
             R"("nodePublishSecretRef":{"name":"s","namespace":"default"}}}})"));
  Attach("pv1", handle);
  const std::string uid = StartPod("p1", "pv1");
  ASSERT_TRUE(Until([&] { return Mounted(paths_.PublishTarget(uid, "pv1")); }));
  EXPECT_TRUE(Logged("NodeStageVolume"));
  EXPECT_FALSE(Logged("hunter2"));
  EXPECT_FALSE(Logged("aHVudGVyMg"));
}

}  // namespace
}  // namespace csinative
