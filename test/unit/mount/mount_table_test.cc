// SPDX-License-Identifier: Apache-2.0
#include "lib/mount/mount_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace csinative::mount {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kRoot[] = "22 1 8:1 / / rw shared:1 - ext4 /dev/root rw\n";

MountTable Parse(const std::string& text) {
  auto table = ParseMountInfo(text);
  EXPECT_TRUE(table.ok()) << table.status().message();
  return table.ok() ? *std::move(table) : MountTable();
}

TEST(MountTableTest, ReadsTheFieldsOfOneLine) {
  const MountTable table = Parse(
      "62 0 253:0 / /mnt/a\\040b rw,relatime shared:1 master:2 - ext4 /dev/sd\\134a rw,seclabel\n");
  ASSERT_EQ(table.size(), 1u);
  EXPECT_EQ(table[0].id, 62);
  EXPECT_EQ(table[0].parent_id, 0);
  EXPECT_EQ(table[0].major, 253u);
  EXPECT_EQ(table[0].minor, 0u);
  EXPECT_EQ(table[0].root, "/");
  EXPECT_EQ(table[0].mount_point, "/mnt/a b");
  EXPECT_THAT(table[0].options, ElementsAre("rw", "relatime"));
  EXPECT_THAT(table[0].optional_fields, ElementsAre("shared:1", "master:2"));
  EXPECT_TRUE(table[0].IsShared());
  EXPECT_EQ(table[0].fs_type, "ext4");
  EXPECT_EQ(table[0].source, "/dev/sd\\a");
  EXPECT_THAT(table[0].super_options, ElementsAre("rw", "seclabel"));
}

TEST(MountTableTest, LineWithoutOptionalFields) {
  const MountTable table = Parse("62 0 253:0 / / rw - tmpfs tmpfs rw\n");
  ASSERT_EQ(table.size(), 1u);
  EXPECT_THAT(table[0].optional_fields, IsEmpty());
  EXPECT_FALSE(table[0].IsShared());
}

TEST(MountTableTest, QuotedOptionIsNotSplitAtItsComma) {
  const MountTable table = Parse(
      "1 0 0:1 / /x rw - xfs /dev/x "
      "rw,context=\"system_u:object_r:file_t:s0:c314,c894\",inode64\n");
  ASSERT_EQ(table.size(), 1u);
  EXPECT_THAT(table[0].super_options,
              ElementsAre("rw", "context=\"system_u:object_r:file_t:s0:c314,c894\"", "inode64"));
}

TEST(MountTableTest, MountPointOfADeletedDirectoryIsShownWithoutTheMark) {
  const MountTable table = Parse("1 0 0:1 / /x\\040(deleted) rw - xfs /dev/x rw\n");
  ASSERT_EQ(table.size(), 1u);
  EXPECT_EQ(table[0].mount_point, "/x");
}

class MalformedLine : public ::testing::TestWithParam<const char*> {};

TEST_P(MalformedLine, IsRefused) { EXPECT_FALSE(ParseMountInfo(GetParam()).ok()); }

INSTANTIATE_TEST_SUITE_P(
    MountTableTest, MalformedLine,
    ::testing::Values("62 0 253 / / rw - ext4 /dev/a rw", "62 0 :0 / / rw - ext4 /dev/a rw",
                      "62 0 253: / / rw - ext4 /dev/a rw", "62 0 a:0 / / rw - ext4 /dev/a rw",
                      "62 0 253:b / / rw - ext4 /dev/a rw", "x 0 253:0 / / rw - ext4 /dev/a rw",
                      "62 y 253:0 / / rw - ext4 /dev/a rw",
                      "62 0 253:0 / / rw shared:1 ext4 /dev/a rw",
                      "62 0 253:0 / / rw shared:1 - ext4 /dev/a", "62 0 253:0 / / rw"));

struct ReferenceRow {
  const char* name;
  std::string lines;  // behind the root's
  std::string path;
  std::vector<std::string> references;
};

class References : public ::testing::TestWithParam<ReferenceRow> {};

TEST_P(References, AreFound) {
  const MountTable table = Parse(std::string(kRoot) + GetParam().lines);
  EXPECT_THAT(MountReferences(table, GetParam().path),
              ::testing::ElementsAreArray(GetParam().references));
}

INSTANTIATE_TEST_SUITE_P(
    MountTableTest, References,
    ::testing::Values(
        ReferenceRow{"plain directory", "", "/var/lib/kubelet/plugins/x/globalmount", {}},
        ReferenceRow{"directory bound into a pod",
                     "30 22 8:1 /k/stage /k/pods/1/mount rw - ext4 /dev/root rw\n",
                     "/k/stage",
                     {"/k/pods/1/mount"}},
        ReferenceRow{"tmpfs used by two pods",
                     "30 22 0:40 / /k/stage rw - tmpfs t rw\n"
                     "31 22 0:40 / /k/pods/1/mount rw - tmpfs t rw\n"
                     "32 22 0:40 / /k/pods/2/mount rw - tmpfs t rw\n",
                     "/k/stage",
                     {"/k/pods/1/mount", "/k/pods/2/mount"}},
        ReferenceRow{"directory of a tmpfs reached through another bind mount",
                     "30 22 0:40 / /k/stage rw - tmpfs t rw\n"
                     "31 22 0:40 /sub /k/pods/1/mount rw - tmpfs t rw\n",
                     "/k/stage/sub",
                     {"/k/pods/1/mount"}},
        ReferenceRow{"bound onto itself",
                     "30 22 8:1 /k/stage /k/stage rw - ext4 /dev/root rw\n",
                     "/k/stage",
                     {}},
        ReferenceRow{"the same place of another filesystem",
                     "30 22 0:41 /k/stage /elsewhere rw - tmpfs t rw\n",
                     "/k/stage",
                     {}}),
    [](const auto& row) {
      std::string name = row.param.name;
      for (char& c : name) {
        if (c == ' ') c = '_';
      }
      return name;
    });

TEST(MountTableTest, ReferenceAtTheSamePlaceBelowAnotherRootIsNotForeign) {
  const std::string staging = "/var/lib/kubelet/plugins/kubernetes.io/csi/d/h/globalmount";
  EXPECT_FALSE(HasForeignReference(
      staging, {"/other/plugins/kubernetes.io/csi/d/h/globalmount",
                "/mnt/var/lib/kubelet/plugins/kubernetes.io/csi/d/h/globalmount"}));
  EXPECT_TRUE(HasForeignReference(staging, {"/local/data/kubernetes.io/csi/d/h/globalmount"}));
  EXPECT_TRUE(HasForeignReference(staging, {"/var/lib/kubelet/pods/u/volumes/x/mount"}));
  EXPECT_FALSE(HasForeignReference(staging, {}));
}

TEST(MountTableTest, DeepestMountsAndTheTopmostOfOnePlaceComeFirst) {
  const MountTable table = Parse(std::string(kRoot) +
                                 "30 22 0:40 / /a rw - tmpfs t rw\n"
                                 "31 30 0:41 / /a/b rw - tmpfs t rw\n"
                                 "32 31 0:42 / /a/b/c rw - tmpfs t rw\n"
                                 "33 31 0:43 / /a/b rw - tmpfs t rw\n"
                                 "34 22 0:44 / /ab rw - tmpfs t rw\n");
  EXPECT_THAT(UnmountOrder(table, "/a"), ElementsAre("/a/b/c", "/a/b", "/a/b", "/a"));
  EXPECT_THAT(UnmountOrder(table, "/a/b/c"), ElementsAre("/a/b/c"));
  EXPECT_THAT(UnmountOrder(table, "/c"), IsEmpty());
}

TEST(MountTableTest, PathIsWithinItsBase) {
  EXPECT_FALSE(IsAtOrBelow("/a/b/cd", "/a/b/c"));
  EXPECT_TRUE(IsAtOrBelow("/a/b", "/a/b"));
  EXPECT_TRUE(IsAtOrBelow("/a/b/c", "/a/b"));
  EXPECT_TRUE(IsAtOrBelow("/a", "/"));
  EXPECT_FALSE(IsAtOrBelow("/a", "/a/b"));
}

TEST(MountTableTest, LastEntryThatContainsThePathIsItsMount) {
  const MountTable table = Parse(std::string(kRoot) +
                                 "30 22 0:40 / /a rw - tmpfs first rw\n"
                                 "31 30 0:41 / /a rw - tmpfs second rw\n");
  ASSERT_NE(FindMount(table, "/a/x"), nullptr);
  EXPECT_EQ(FindMount(table, "/a/x")->source, "second");
  EXPECT_EQ(FindMount(table, "/ab")->source, "/dev/root");
  EXPECT_EQ(FindMount(MountTable(), "/a"), nullptr);
}

}  // namespace
}  // namespace csinative::mount
