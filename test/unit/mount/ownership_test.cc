// SPDX-License-Identifier: Apache-2.0
#include "lib/mount/ownership.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>

#include "lib/base/strings.h"
#include "test/support/fake_file_system.h"

namespace csinative::mount {
namespace {

constexpr char kVolume[] = "/var/lib/kubelet/v";

class OwnershipTest : public ::testing::Test {
 protected:
  OwnershipTest() {
    EXPECT_TRUE(fs_.MakeDirectories(StrCat(kVolume, "/sub"), 0755).ok());
    EXPECT_TRUE(fs_.WriteFile(StrCat(kVolume, "/sub/file"), "x", 0600).ok());
    EXPECT_TRUE(fs_.MakeSymlink("/etc/passwd", StrCat(kVolume, "/link")).ok());
  }
  FileInfo Info(const std::string& name) { return *fs_.Stat(StrCat(kVolume, name)); }
  Result<OwnershipRefusals> Apply(OwnershipChange change = OwnershipChange::kAlways) {
    return SetVolumeOwnership(fs_, kVolume, {.gid = 3000, .change = change});
  }
  // As a volume whose root was done by an earlier run.
  void PrepareRoot(uint32_t gid, uint32_t mode) {
    ASSERT_TRUE(fs_.SetGroup(kVolume, gid).ok());
    ASSERT_TRUE(fs_.SetMode(kVolume, mode).ok());
  }

  testing::FakeFileSystem fs_;
};

TEST_F(OwnershipTest, EverythingGetsGroupAndAccess) {
  ASSERT_TRUE(Apply().ok());
  EXPECT_EQ(Info("").gid, 3000u);
  EXPECT_EQ(Info("").mode, 02775u);
  EXPECT_EQ(Info("/sub").gid, 3000u);
  EXPECT_EQ(Info("/sub").mode, 02775u);
  EXPECT_EQ(Info("/sub/file").gid, 3000u);
  EXPECT_EQ(Info("/sub/file").mode, 0660u);
  EXPECT_EQ(Info("/link").gid, 3000u);
  EXPECT_EQ(Info("/link").mode, 0777u);
}

TEST_F(OwnershipTest, RootIsChangedLast) {
  std::vector<std::string> order;
  fs_.set_hook([&](const std::string& operation, const std::string& path) {
    if (operation == "SetGroup") order.push_back(path.substr(sizeof(kVolume) - 1));
    return Status();
  });
  ASSERT_TRUE(Apply().ok());
  EXPECT_THAT(order, ::testing::ElementsAre("/link", "/sub/file", "/sub", ""));
}

TEST_F(OwnershipTest, EntryThatIsRightIsNotTouched) {
  ASSERT_TRUE(Apply().ok());
  int changes = 0;
  fs_.set_hook([&](const std::string& operation, const std::string&) {
    if (operation.starts_with("Set")) ++changes;
    return Status();
  });
  ASSERT_TRUE(Apply().ok());
  EXPECT_EQ(changes, 0);
}

struct SkipRow {
  const char* name;
  OwnershipChange change;
  uint32_t gid;
  uint32_t mode;
  bool skipped;
};

class Skip : public OwnershipTest, public ::testing::WithParamInterface<SkipRow> {};

TEST_P(Skip, DependsOnTheRoot) {
  PrepareRoot(GetParam().gid, GetParam().mode);
  ASSERT_TRUE(Apply(GetParam().change).ok());
  EXPECT_EQ(Info("/sub").gid, GetParam().skipped ? 0u : 3000u);
}

using enum OwnershipChange;
INSTANTIATE_TEST_SUITE_P(
    OwnershipTest, Skip,
    ::testing::Values(SkipRow{"AlwaysNeverSkips", kAlways, 3000, 02770, false},
                      SkipRow{"GroupDiffers", kOnRootMismatch, 2000, 02770, false},
                      SkipRow{"NobodyOfTheGroupMayEnter", kOnRootMismatch, 3000, 02660, false},
                      SkipRow{"NotInherited", kOnRootMismatch, 3000, 0770, false},
                      SkipRow{"AllRight", kOnRootMismatch, 3000, 02770, true}),
    [](const auto& row) { return std::string(row.param.name); });

TEST_F(OwnershipTest, EntryThatCannotBeChangedFailsAfterTheOthers) {
  fs_.set_hook([](const std::string& operation, const std::string& path) {
    return operation == "SetGroup" && path.ends_with("/file") ? OsStatus(EIO, path) : Status();
  });
  EXPECT_FALSE(Apply().ok());
  EXPECT_EQ(Info("").gid, 3000u);
}

TEST_F(OwnershipTest, EntryThatVanishesMeanwhileIsNoFailure) {
  fs_.set_hook([](const std::string& operation, const std::string& path) {
    return operation.starts_with("Set") && path.ends_with("/file") ? OsStatus(ENOENT, path)
                                                                   : Status();
  });
  const auto applied = Apply();
  ASSERT_TRUE(applied.ok());
  EXPECT_EQ(applied->entries, 0u);
}

class Refused : public OwnershipTest, public ::testing::WithParamInterface<int> {};

TEST_P(Refused, ChangeIsCountedAndTheOthersAreMade) {
  fs_.set_hook([](const std::string& operation, const std::string& path) {
    const bool refused = operation.starts_with("Set") && path.find("/sub") != std::string::npos;
    return refused ? OsStatus(GetParam(), path) : Status();
  });
  const auto applied = Apply();
  ASSERT_TRUE(applied.ok()) << applied.status().message();
  EXPECT_EQ(applied->entries, 2u) << "a directory and a file, each once";
  EXPECT_THAT(applied->first.message(), ::testing::HasSubstr("/sub/file"));
  EXPECT_EQ(Info("/sub/file").gid, 0u);
  EXPECT_EQ(Info("/link").gid, 3000u);
  EXPECT_EQ(Info("").mode, 02775u);
}

INSTANTIATE_TEST_SUITE_P(OwnershipTest, Refused,
                         ::testing::Values(EROFS, EPERM, EACCES, EOPNOTSUPP, ENOSYS, EINVAL),
                         [](const auto& row) { return std::string(strerrorname_np(row.param)); });

TEST_F(OwnershipTest, DirectoryThatCannotBeReadEndsTheWalk) {
  fs_.set_hook([](const std::string& operation, const std::string& path) {
    return operation == "List" && path.ends_with("/sub") ? OsStatus(EIO, path) : Status();
  });
  EXPECT_FALSE(Apply().ok());
  EXPECT_EQ(Info("").gid, 0u);
}

}  // namespace
}  // namespace csinative::mount
