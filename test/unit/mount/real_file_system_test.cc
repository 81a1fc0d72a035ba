// SPDX-License-Identifier: Apache-2.0
//
// On a temporary folder, without the right to mount. Mounts: test/integration/mount.
#include "lib/mount/real_file_system.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include "lib/base/strings.h"
#include "test/support/child_process.h"

namespace csinative::mount {
namespace {

class RealFileSystemTest : public ::testing::Test {
 protected:
  RealFileSystemTest() {
    ::umask(022);
    auto opened = RealFileSystem::Open(At(""));
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    fs_ = *std::move(opened);
  }
  std::string At(const std::string& name) const {
    return StrCat(dir_.path(), "/root", name.empty() ? "" : "/", name);
  }
  std::string Outside(const std::string& name) const { return StrCat(dir_.path(), "/", name); }

  test::TempDir dir_;
  std::unique_ptr<RealFileSystem> fs_;
};

TEST_F(RealFileSystemTest, RootIsMadeWithKubeletsMode) {
  struct stat st = {};
  ASSERT_EQ(::stat(At("").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777, 0750u);
}

TEST_F(RealFileSystemTest, DirectoriesFilesAndLinksComeAndGo) {
  ASSERT_TRUE(fs_->MakeDirectories(At("a/b"), 0750).ok());
  ASSERT_TRUE(fs_->MakeDirectories(At("a/b"), 0750).ok());
  ASSERT_TRUE(fs_->WriteFile(At("a/f"), "one", 0644).ok());
  ASSERT_TRUE(fs_->WriteFile(At("a/f"), "two", 0644).ok());
  ASSERT_TRUE(fs_->MakeSymlink("/nowhere", At("a/l")).ok());
  EXPECT_EQ(*fs_->ReadFile(At("a/f")), "two");
  auto entries = fs_->List(At("a"));
  ASSERT_TRUE(entries.ok());
  ASSERT_EQ(entries->size(), 3u);
  EXPECT_EQ((*entries)[0].name, "b");
  EXPECT_EQ((*entries)[0].type, FileType::kDirectory);
  EXPECT_EQ((*entries)[1].name, "f");
  EXPECT_EQ((*entries)[2].type, FileType::kSymlink);
  EXPECT_EQ(fs_->Stat(At("a/b"))->mode, 0750u);
  EXPECT_EQ(fs_->Stat(At("a/l"))->type, FileType::kSymlink);
  EXPECT_FALSE(fs_->Remove(At("a")).ok());
  for (const char* name : {"a/b", "a/f", "a/l", "a"}) EXPECT_TRUE(fs_->Remove(At(name)).ok());
  EXPECT_TRUE(IsMissing(fs_->Remove(At("a"))));
  EXPECT_TRUE(IsMissing(fs_->ReadFile(At("a/f")).status()));
}

TEST_F(RealFileSystemTest, LinkInThePathIsNotFollowed) {
  ASSERT_EQ(::mkdir(Outside("secret").c_str(), 0755), 0);
  std::ofstream(Outside("secret/file")) << "x";
  ASSERT_EQ(::symlink(Outside("secret").c_str(), At("link").c_str()), 0);
  ASSERT_EQ(::symlink("../secret", At("relative").c_str()), 0);
  for (const char* name : {"link", "relative"}) {
    SCOPED_TRACE(name);
    const std::string file = StrCat(At(name), "/file");
    EXPECT_FALSE(fs_->ReadFile(file).ok());
    EXPECT_FALSE(fs_->WriteFile(file, "y", 0644).ok());
    EXPECT_FALSE(fs_->CreateFile(StrCat(At(name), "/new"), 0644).ok());
    EXPECT_FALSE(fs_->Remove(file).ok());
    EXPECT_FALSE(fs_->List(At(name)).ok());
    EXPECT_FALSE(fs_->Stat(file).ok());
    EXPECT_FALSE(fs_->MakeDirectories(StrCat(At(name), "/d"), 0750).ok());
    EXPECT_FALSE(fs_->SetMode(file, 0777).ok());
    EXPECT_FALSE(fs_->SetGroup(file, 1).ok());
    EXPECT_FALSE(fs_->IsMountPoint(file).ok());
    EXPECT_FALSE(fs_->MakeSymlink("x", StrCat(At(name), "/l")).ok());
  }
  EXPECT_EQ(::access(Outside("secret/file").c_str(), F_OK), 0);
  EXPECT_NE(::access(Outside("secret/new").c_str(), F_OK), 0);
}

TEST_F(RealFileSystemTest, LinkItselfCanBeRemovedAndResolved) {
  ASSERT_EQ(::symlink("/dev/null", At("dev").c_str()), 0);
  EXPECT_EQ(*fs_->Resolve(At("dev")), "/dev/null");
  EXPECT_TRUE(fs_->Remove(At("dev")).ok());
  EXPECT_EQ(::access("/dev/null", F_OK), 0);
}

class BadPath : public RealFileSystemTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(BadPath, IsRefused) {
  const std::string path = GetParam()[0] == '/' ? GetParam() : At(GetParam());
  EXPECT_EQ(fs_->Stat(path).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(fs_->MakeDirectories(path, 0750).code(), Code::kInvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(RealFileSystemTest, BadPath,
                         ::testing::Values("../x", "a/../../x", "a//b", "./a", "a/", "/etc", "/"));

TEST_F(RealFileSystemTest, TemporaryFolderIsNoMountPoint) {
  ASSERT_TRUE(fs_->MakeDirectories(At("a"), 0750).ok());
  auto mounted = fs_->IsMountPoint(At("a"));
  ASSERT_TRUE(mounted.ok());
  EXPECT_FALSE(*mounted);
  EXPECT_TRUE(IsMissing(fs_->IsMountPoint(At("b")).status()));
}

TEST_F(RealFileSystemTest, MountTableHasTheRootOfTheMachine) {
  auto table = fs_->ReadMountTable();
  ASSERT_TRUE(table.ok()) << table.status().message();
  EXPECT_NE(FindMount(*table, "/"), nullptr);
}

TEST_F(RealFileSystemTest, RootBehindALinkWorks) {
  ASSERT_EQ(::symlink(At("").c_str(), Outside("alias").c_str()), 0);
  auto alias = RealFileSystem::Open(Outside("alias"));
  ASSERT_TRUE(alias.ok()) << alias.status().message();
  ASSERT_TRUE((*alias)->MakeDirectories(Outside("alias/x"), 0750).ok());
  EXPECT_TRUE(fs_->Stat(At("x")).ok());
}

TEST_F(RealFileSystemTest, ModeAndGroupOfAnEntry) {
  ASSERT_TRUE(fs_->WriteFile(At("f"), "", 0600).ok());
  ASSERT_TRUE(fs_->SetMode(At("f"), 0640).ok());
  EXPECT_EQ(fs_->Stat(At("f"))->mode, 0640u);
  EXPECT_TRUE(fs_->SetGroup(At("f"), ::getgid()).ok());
  EXPECT_EQ(fs_->Stat(At("f"))->gid, ::getgid());
}

TEST_F(RealFileSystemTest, RelativeRootIsRefused) {
  EXPECT_FALSE(RealFileSystem::Open("relative/root").ok());
  EXPECT_FALSE(RealFileSystem::Open("/tmp/../x").ok());
}

}  // namespace
}  // namespace csinative::mount
