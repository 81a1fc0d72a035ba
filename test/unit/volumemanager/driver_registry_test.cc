// SPDX-License-Identifier: Apache-2.0
#include "cmd/volumemanager/driver_registry.h"

#include <gtest/gtest.h>

namespace csinative::volumemanager {
namespace {

struct VersionRow {
  const char* name;
  std::vector<std::string> versions;
  std::string chosen;  // empty: refused
};

class Versions : public ::testing::TestWithParam<VersionRow> {};

TEST_P(Versions, HighestOfMajorOneIsChosen) {
  const auto chosen = ChooseVersion(GetParam().versions);
  EXPECT_EQ(chosen.ok(), !GetParam().chosen.empty());
  if (chosen.ok()) EXPECT_EQ(*chosen, GetParam().chosen);
}

INSTANTIATE_TEST_SUITE_P(
    DriverRegistryTest, Versions,
    ::testing::Values(
        VersionRow{"One", {"v1.0.0"}, "v1.0.0"}, VersionRow{"Old", {"0.3.0"}, ""},
        VersionRow{"Older", {"0.2.0"}, ""}, VersionRow{"TwoOld", {"0.2.0", "v0.3.0"}, ""},
        VersionRow{"OldAndOne", {"0.2.0", "v1.0.0"}, "v1.0.0"},
        VersionRow{"Newest", {"0.2.0", "v1.2.3"}, "v1.2.3"},
        VersionRow{"NewestFirst", {"v1.2.3", "v0.3.0"}, "v1.2.3"},
        VersionRow{"WithTwo", {"v1.2.3", "v0.3.0", "2.0.1"}, "v1.2.3"},
        VersionRow{"WithFour", {"v1.2.3", "4.9.12", "v0.3.0", "2.0.1"}, "v1.2.3"},
        VersionRow{"WithNonsense", {"v1.2.3", "boo", "v0.3.0", "2.0.1"}, "v1.2.3"},
        VersionRow{"OnlyTooNew", {"4.9.12", "2.0.1"}, ""}, VersionRow{"Empty", {}, ""},
        VersionRow{"OnlyNonsense", {"var", "boo", "foo"}, ""}, VersionRow{"OneNumber", {"1"}, ""},
        VersionRow{"Suffix", {"1.2-rc1"}, "1.2-rc1"}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(DriverRegistryTest, NameIsTakenByTheSameOrAHigherVersion) {
  DriverRegistry drivers;
  drivers.Add("d", {"/socket", "v1.0.0", nullptr});
  EXPECT_TRUE(drivers.CheckNew("other", "v1.0.0").ok());
  EXPECT_EQ(drivers.CheckNew("d", "v1.0.0").message(),
            "Another driver with the same name is already registered with a higher supported "
            "version: \"v1.0.0\"");
  EXPECT_FALSE(drivers.CheckNew("d", "v1.0").ok());
  EXPECT_TRUE(drivers.CheckNew("d", "v1.0.1").ok());
  drivers.Remove("d");
  EXPECT_TRUE(drivers.CheckNew("d", "v1.0.0").ok());
}

TEST(DriverRegistryTest, UnknownDriverIsNamed) {
  DriverRegistry drivers;
  EXPECT_EQ(drivers.Find("d").status().message(),
            "driver name d not found in the list of registered CSI drivers");
  EXPECT_EQ(drivers.Find("").status().message(), "driver name is empty");
}

TEST(DriverRegistryTest, ChangesAreTold) {
  DriverRegistry drivers;
  int changes = 0;
  drivers.set_on_change([&] { ++changes; });
  drivers.Add("d", {});
  drivers.Remove("d");
  drivers.Remove("d");
  EXPECT_EQ(changes, 2);
}

}  // namespace
}  // namespace csinative::volumemanager
