// SPDX-License-Identifier: Apache-2.0
#include "lib/mount/tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "test/support/fake_file_system.h"

namespace csinative::mount {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class TreeTest : public ::testing::Test {
 protected:
  std::string At(const std::string& name) const { return fs_.root() + "/" + name; }
  void Directory(const std::string& name) { ASSERT_TRUE(fs_.MakeDirectories(At(name), 0750).ok()); }
  void File(const std::string& name) { ASSERT_TRUE(fs_.WriteFile(At(name), "x", 0644).ok()); }
  void Mount(const std::string& name) {
    ASSERT_TRUE(fs_.MountFilesystem("fs-" + name, At(name)).ok());
  }

  testing::FakeFileSystem fs_;
};

TEST_F(TreeTest, VolumeDirectoryGoesWithLeafAndDataFile) {
  Directory("v/mount");
  File("v/vol_data.json");
  File("v/vol_data.json.tmp");
  EXPECT_TRUE(RemoveVolumeDirectory(fs_, At("v"), "mount").ok());
  EXPECT_THAT(fs_.Entries(), IsEmpty());
}

TEST_F(TreeTest, VolumeDirectoryThatIsStillMountedStaysWithoutFailure) {
  Directory("v/mount");
  File("v/vol_data.json");
  Mount("v/mount");
  EXPECT_TRUE(RemoveVolumeDirectory(fs_, At("v"), "mount").ok());
  EXPECT_THAT(fs_.Entries(), ElementsAre("v/", "v/mount/", "v/vol_data.json"));
}

TEST_F(TreeTest, VolumeDirectoryWhoseLeafHasUserDataKeepsItAndTheDataFile) {
  Directory("v/mount");
  File("v/mount/user");
  File("v/vol_data.json");
  Status removed = RemoveVolumeDirectory(fs_, At("v"), "mount");
  EXPECT_TRUE(removed.message().starts_with("failed to remove dir [/var/lib/kubelet/v/mount]: "))
      << removed.message();
  EXPECT_THAT(fs_.Entries(), ElementsAre("v/", "v/mount/", "v/mount/user", "v/vol_data.json"));
}

TEST_F(TreeTest, VolumeDirectoryWithACorruptedMountIsNotTouched) {
  Directory("v/mount");
  File("v/vol_data.json");
  fs_.set_hook([](const std::string& operation, const std::string& path) {
    return operation == "IsMountPoint" ? OsStatus(ESTALE, path) : Status();
  });
  Status removed = RemoveVolumeDirectory(fs_, At("v"), "mount");
  EXPECT_TRUE(IsCorruptedMount(removed));
  EXPECT_THAT(fs_.Entries(), ElementsAre("v/", "v/mount/", "v/vol_data.json"));
}

TEST_F(TreeTest, VolumeDirectoryThatIsHalfRemovedIsFinished) {
  Directory("v");
  EXPECT_TRUE(RemoveVolumeDirectory(fs_, At("v"), "mount").ok());
  EXPECT_THAT(fs_.Entries(), IsEmpty());
  EXPECT_TRUE(RemoveVolumeDirectory(fs_, At("v"), "mount").ok());
}

TEST_F(TreeTest, TreeOfFilesAndDirectoriesIsRemoved) {
  Directory("t/a/b");
  File("t/a/b/f");
  File("t/g");
  ASSERT_TRUE(fs_.MakeSymlink("/etc/passwd", At("t/link")).ok());
  EXPECT_TRUE(RemoveTree(fs_, At("t")).ok());
  EXPECT_THAT(fs_.Entries(), IsEmpty());
  EXPECT_TRUE(RemoveTree(fs_, At("t")).ok());
}

TEST_F(TreeTest, TreeStaysAboveAMount) {
  Directory("t/a/b");
  Directory("t/c");
  Mount("t/a/b");
  Status removed = RemoveTree(fs_, At("t"));
  EXPECT_EQ(removed.message(),
            "cannot delete directory /var/lib/kubelet/t/a/b: it is a mount point");
  EXPECT_THAT(fs_.Entries(), ElementsAre("t/", "t/a/", "t/a/b/"));
}

TEST_F(TreeTest, TreeStaysWhereTheMountCheckFails) {
  Directory("t/a");
  fs_.set_hook([](const std::string& operation, const std::string& path) {
    return operation == "IsMountPoint" && path.ends_with("/a") ? OsStatus(EIO, path) : Status();
  });
  EXPECT_FALSE(RemoveTree(fs_, At("t")).ok());
  EXPECT_THAT(fs_.Entries(), ElementsAre("t/", "t/a/"));
}

TEST_F(TreeTest, OnlyEmptyDirectoriesAreRemoved) {
  Directory("p/volumes/a");
  Directory("p/volumes/b/c");
  File("p/volumes/b/data");
  EXPECT_FALSE(RemoveEmptyDirectories(fs_, At("p")));
  EXPECT_THAT(fs_.Entries(), ElementsAre("p/", "p/volumes/", "p/volumes/b/", "p/volumes/b/data"));
  ASSERT_TRUE(fs_.Remove(At("p/volumes/b/data")).ok());
  EXPECT_TRUE(RemoveEmptyDirectories(fs_, At("p")));
  EXPECT_THAT(fs_.Entries(), IsEmpty());
}

TEST_F(TreeTest, EmptyDirectoriesBehindAMountStay) {
  Directory("p/volumes/a");
  Mount("p/volumes/a");
  ASSERT_TRUE(fs_.MakeDirectories(At("p/volumes/a/user"), 0755).ok());
  EXPECT_FALSE(RemoveEmptyDirectories(fs_, At("p")));
  EXPECT_TRUE(fs_.Stat(At("p/volumes/a/user")).ok());
}

TEST_F(TreeTest, EverythingBelowAPathIsUnmountedDeepestFirst) {
  Directory("s/1");
  Mount("s/1");
  ASSERT_TRUE(fs_.MakeDirectories(At("s/1/deep"), 0755).ok());
  Mount("s/1/deep");
  Directory("other");
  Mount("other");
  EXPECT_TRUE(UnmountAll(fs_, At("s")).ok());
  EXPECT_THAT(fs_.Mounts(), ElementsAre("other"));
}

TEST_F(TreeTest, SubpathsAreUnmountedAndTheirPlacesRemoved) {
  Directory("s/pv/c1/0");
  Mount("s/pv/c1/0");
  Directory("s/pv/c1/1");
  Directory("s/pv/c2");
  ASSERT_TRUE(fs_.CreateFile(At("s/pv/c2/0"), 0640).ok());
  Directory("s/other/c1/0");
  EXPECT_TRUE(RemoveSubpaths(fs_, At("s/pv")).ok());
  EXPECT_THAT(fs_.Mounts(), IsEmpty());
  EXPECT_THAT(fs_.Entries(), ElementsAre("s/", "s/other/", "s/other/c1/", "s/other/c1/0/"));
  EXPECT_TRUE(RemoveSubpaths(fs_, At("s/pv")).ok()) << "there is none";
}

TEST_F(TreeTest, ContentAtThePlaceOfASubpathStaysAndIsNamed) {
  Directory("s/c1/0");
  File("s/c1/0/user");
  Directory("s/c1/1");
  Directory("s/c2/0");
  Status removed = RemoveSubpaths(fs_, At("s"));
  EXPECT_THAT(removed.message(), ::testing::HasSubstr(At("s/c1/0")));
  EXPECT_THAT(fs_.Entries(), ElementsAre("s/", "s/c1/", "s/c1/0/", "s/c1/0/user"));
}

TEST_F(TreeTest, FileWithContentAtThePlaceOfASubpathStaysAndIsNamed) {
  Directory("s/c1");
  File("s/c1/0");
  Status removed = RemoveSubpaths(fs_, At("s"));
  EXPECT_EQ(removed.message(), "cannot remove " + At("s/c1/0") + ": the file is not empty");
  EXPECT_THAT(fs_.Entries(), ElementsAre("s/", "s/c1/", "s/c1/0"));
}

TEST_F(TreeTest, B15_FileInsteadOfAContainersDirectoryStaysAndTheOthersGo) {
  Directory("s/c2/0");
  File("s/c1");
  Status removed = RemoveSubpaths(fs_, At("s"));
  EXPECT_EQ(removed.message(), "cannot remove " + At("s/c1") + ": it is no directory");
  EXPECT_THAT(fs_.Entries(), ElementsAre("s/", "s/c1"));
}

}  // namespace
}  // namespace csinative::mount
