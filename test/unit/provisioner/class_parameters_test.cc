// SPDX-License-Identifier: Apache-2.0
#include "cmd/provisioner/class_parameters.h"

#include <gtest/gtest.h>

#include "cmd/provisioner/secret_templates.h"
#include "test/support/oracle_rows.h"

namespace csinative::provisioner {
namespace {

struct StripCase {
  std::string rows;  // of the oracle
  std::string name;  // situation -> result
  Parameters parameters;
  std::optional<Parameters> stripped;  // nothing: an error
};

void PrintTo(const StripCase& c, std::ostream* out) { *out << c.name; }

Parameters AllPrefixed() {
  Parameters all{{"csi.storage.k8s.io/fstype", "csiBar"}};
  for (const SecretKeys* keys : AllSecretKinds()) {
    all[std::string(keys->name)] = "csiBar";
    all[std::string(keys->ns)] = "csiBar";
  }
  return all;
}

Parameters Deprecated() {
  Parameters all{{"fstype", "csiBar"}};
  for (const SecretKeys* keys : AllSecretKinds()) {
    if (keys->deprecated_name.empty()) continue;
    all[std::string(keys->deprecated_name)] = "csiBar";
    all[std::string(keys->deprecated_ns)] = "csiBar";
  }
  return all;
}

class StripPrefixedTest : public ::testing::TestWithParam<StripCase> {};

TEST_P(StripPrefixedTest, GivesWhatTheDriverMaySee) {
  const StripCase& c = GetParam();
  const oracle::Rows rows(c.rows);
  Result<Parameters> stripped = StripPrefixed(c.parameters);
  ASSERT_EQ(stripped.ok(), c.stripped.has_value()) << stripped.status().message();
  if (c.stripped) {
    EXPECT_EQ(*stripped, *c.stripped);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Rows, StripPrefixedTest,
    ::testing::Values(StripCase{"provisioner/22.1/10",
                                "no prefixed keys -> unchanged",
                                {{"csiFoo", "bar"}, {"bim", "baz"}},
                                Parameters{{"csiFoo", "bar"}, {"bim", "baz"}}},
                      StripCase{"provisioner/22.1/11",
                                "one prefixed key -> gone",
                                {{"csi.storage.k8s.io/controller-publish-secret-name", "bar"},
                                 {"bim", "baz"}},
                                Parameters{{"bim", "baz"}}},
                      StripCase{"provisioner/22.1/12",
                                "prefix in a value -> unchanged",
                                {{"foo", "csi.storage.k8s.io/fstype"}, {"bim", "baz"}},
                                Parameters{{"foo", "csi.storage.k8s.io/fstype"}, {"bim", "baz"}}},
                      StripCase{"provisioner/22.1/13", "all known prefixed keys -> empty",
                                AllPrefixed(), Parameters{}},
                      StripCase{"provisioner/22.1/14", "all deprecated keys -> unchanged",
                                Deprecated(), Deprecated()},
                      StripCase{"provisioner/22.1/15",
                                "unknown prefixed key -> error",
                                {{"csi.storage.k8s.io/bim", "baz"}},
                                std::nullopt},
                      StripCase{"provisioner/22.1/16", "empty -> empty", {}, Parameters{}}));

TEST(StripPrefixedTest, KnowsSeventeenKeys) {
  EXPECT_EQ(AllPrefixed().size(), 17u);
  EXPECT_EQ(Deprecated().size(), 9u);
}

struct FsTypeCase {
  std::string rows;  // of the oracle
  std::string name;
  Parameters parameters;
  std::string fallback;
  std::optional<std::string> fs_type;  // nothing: an error
};

void PrintTo(const FsTypeCase& c, std::ostream* out) { *out << c.name; }

class FsTypeTest : public ::testing::TestWithParam<FsTypeCase> {};

TEST_P(FsTypeTest, ComesFromTheClassOrTheDefault) {
  const FsTypeCase& c = GetParam();
  const oracle::Rows rows(c.rows);
  Result<FsType> found = FsTypeOf(c.parameters, c.fallback);
  ASSERT_EQ(found.ok(), c.fs_type.has_value());
  if (c.fs_type) {
    EXPECT_EQ(found->value, *c.fs_type);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Rows, FsTypeTest,
    ::testing::Values(
        FsTypeCase{"provisioner/22.3/1", "none, default ext4 -> ext4", {}, "ext4", "ext4"},
        FsTypeCase{"provisioner/22.3/2",
                   "fstype=xfs, default ext4 -> xfs",
                   {{"fstype", "xfs"}},
                   "ext4",
                   "xfs"},
        FsTypeCase{"provisioner/22.3/3", "none, no default -> empty", {}, "", ""},
        FsTypeCase{
            "provisioner/22.3/4", "fstype=xfs, no default -> xfs", {{"fstype", "xfs"}}, "", "xfs"},
        FsTypeCase{"provisioner/22.3/5",
                   "both keys -> error",
                   {{"fstype", "ext3"}, {"csi.storage.k8s.io/fstype", "ext4"}},
                   "ext4",
                   std::nullopt},
        FsTypeCase{"provisioner/22.3/6",
                   "prefixed key -> its value",
                   {{"csi.storage.k8s.io/fstype", "ext3"}},
                   "ext4",
                   "ext3"},
        FsTypeCase{"",
                   "two letter cases of the deprecated key -> error",
                   {{"fstype", "ext3"}, {"fsType", "ext3"}},
                   "",
                   std::nullopt},
        FsTypeCase{"",
                   "deprecated key in another letter case -> its value",
                   {{"FSType", "btrfs"}},
                   "",
                   "btrfs"},
        FsTypeCase{"",
                   "empty value -> the default",
                   {{"csi.storage.k8s.io/fstype", ""}},
                   "ext4",
                   "ext4"}));

TEST(FsTypeTest, OnlyTheUnprefixedKeyIsDeprecated) {
  EXPECT_TRUE(FsTypeOf({{"fsType", "xfs"}}, "")->deprecated);
  EXPECT_FALSE(FsTypeOf({{"csi.storage.k8s.io/fstype", "xfs"}}, "")->deprecated);
}

}  // namespace
}  // namespace csinative::provisioner
