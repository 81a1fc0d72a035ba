// SPDX-License-Identifier: Apache-2.0
#include "lib/mount/volume_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/support/fake_file_system.h"

namespace csinative::mount {
namespace {

constexpr char kDirectory[] = "/var/lib/kubelet/v";

TEST(VolumeDataTest, IsWrittenAsGoWritesIt) {
  EXPECT_EQ(FormatVolumeData({{"key0", "val0"}, {"_key1", "val1"}, {"key2", "val2"}}),
            "{\"_key1\":\"val1\",\"key0\":\"val0\",\"key2\":\"val2\"}\n");
  EXPECT_EQ(FormatVolumeData({{"_key0_", "val0"}, {"&key1", "val1"}, {"key2", "<v>\xe2\x80\xa8"}}),
            "{\"\\u0026key1\":\"val1\",\"_key0_\":\"val0\",\"key2\":\"\\u003cv\\u003e\\u2028\"}\n");
  EXPECT_EQ(FormatVolumeData({}), "{}\n");
}

TEST(VolumeDataTest, ReadsBackWhatItWrites) {
  const VolumeData data{{"a", "<x>&\"\\\n"}, {"b", ""}, {"c", "\xc3\xa4"}};
  auto read = ParseVolumeData(FormatVolumeData(data));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, data);
}

TEST(VolumeDataTest, OnlyTheFirstValueCounts) {
  auto read = ParseVolumeData("{\"a\":\"b\"} trailing {");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->at("a"), "b");
}

class BadVolumeData : public ::testing::TestWithParam<const char*> {};
TEST_P(BadVolumeData, IsRefused) { EXPECT_FALSE(ParseVolumeData(GetParam()).ok()); }
INSTANTIATE_TEST_SUITE_P(VolumeDataTest, BadVolumeData,
                         ::testing::Values("", "[]", "\"x\"", "{\"a\":1}", "{\"a\":null}",
                                           "{\"a\":{}}", "{\"a\":\"b\"", "{a:\"b\"}"));

TEST(VolumeDataTest, MissingFileIsToldFromABadOne) {
  testing::FakeFileSystem fs;
  ASSERT_TRUE(fs.MakeDirectories(kDirectory, 0750).ok());
  auto missing = LoadVolumeData(fs, kDirectory);
  EXPECT_TRUE(IsMissing(missing.status()));
  EXPECT_TRUE(missing.status().message().starts_with(
      "failed to open volume data file [/var/lib/kubelet/v/vol_data.json]: "));
  ASSERT_TRUE(fs.WriteFile(std::string(kDirectory) + "/vol_data.json", "{", 0644).ok());
  auto bad = LoadVolumeData(fs, kDirectory);
  EXPECT_FALSE(IsMissing(bad.status()));
  EXPECT_TRUE(bad.status().message().starts_with(
      "failed to parse volume data file [/var/lib/kubelet/v/vol_data.json]: "));
}

TEST(VolumeDataTest, FileThatSaysTheSameIsNotWrittenAgain) {
  testing::FakeFileSystem fs;
  ASSERT_TRUE(fs.MakeDirectories(kDirectory, 0750).ok());
  int writes = 0;
  fs.set_hook([&](const std::string& operation, const std::string&) {
    if (operation == "WriteFile") ++writes;
    return Status();
  });
  ASSERT_TRUE(SaveVolumeData(fs, kDirectory, {{"a", "b"}}).ok());
  ASSERT_TRUE(SaveVolumeData(fs, kDirectory, {{"a", "b"}}).ok());
  EXPECT_EQ(writes, 1);
  ASSERT_TRUE(SaveVolumeData(fs, kDirectory, {{"a", "c"}}).ok());
  EXPECT_EQ(writes, 2);
  EXPECT_EQ(LoadVolumeData(fs, kDirectory)->at("a"), "c");
}

}  // namespace
}  // namespace csinative::mount
