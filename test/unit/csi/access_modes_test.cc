// SPDX-License-Identifier: Apache-2.0
#include "lib/csi/access_modes.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace csinative::csi {
namespace {

using Mode = ::csi::v1::VolumeCapability::AccessMode;

struct Row {
  const char* name;
  std::vector<std::string> modes;
  int plain = 0;    // 0: an error
  int capable = 0;  // with SINGLE_NODE_MULTI_WRITER
  const char* error = "";
};

class AccessModesTest : public ::testing::TestWithParam<Row> {};

TEST_P(AccessModesTest, MapsToOneMode) {
  const Row& row = GetParam();
  for (auto driver : {SingleNodeMultiWriter::kNo, SingleNodeMultiWriter::kYes}) {
    const int expected = driver == SingleNodeMultiWriter::kYes ? row.capable : row.plain;
    Result<Mode::Mode> mode = ToCsiAccessMode(row.modes, driver);
    if (expected == 0) {
      ASSERT_FALSE(mode.ok());
      EXPECT_EQ(mode.status().message().substr(0, std::string(row.error).size()), row.error);
    } else {
      ASSERT_TRUE(mode.ok()) << mode.status().ToString();
      EXPECT_EQ(*mode, expected);
    }
  }
}

constexpr char kCsiRefuses[] = "CSI does not support ReadOnlyMany and ReadWriteOnce";
constexpr char kKubernetesRefuses[] = "Kubernetes does not support use of ReadWriteOncePod";

INSTANTIATE_TEST_SUITE_P(
    Rows, AccessModesTest,
    ::testing::Values(
        // common/20.10: A1 to A6
        Row{"rwx", {"ReadWriteMany"}, 5, 5},
        Row{"rox_rwo", {"ReadOnlyMany", "ReadWriteOnce"}, 0, 0, kCsiRefuses},
        Row{"rox_rwop", {"ReadOnlyMany", "ReadWriteOncePod"}, 0, 0, kKubernetesRefuses},
        Row{"none", {}, 0, 0, "unsupported AccessMode combination: []"},
        Row{"rox", {"ReadOnlyMany"}, 3, 3}, Row{"rwo", {"ReadWriteOnce"}, 1, 7},
        Row{"rwop", {"ReadWriteOncePod"}, 1, 6},
        Row{"rwx_rox_rwo", {"ReadWriteMany", "ReadOnlyMany", "ReadWriteOnce"}, 5, 5},
        // section 13: unknown strings
        Row{"rwop_unknown", {"ReadWriteOncePod", "Other"}, 0, 0, kKubernetesRefuses},
        Row{"rwop_twice", {"ReadWriteOncePod", "ReadWriteOncePod"}, 1, 6},
        Row{"rwo_unknown", {"Other", "ReadWriteOnce"}, 1, 7},
        Row{"unknown_only", {"a", "b"}, 0, 0, "unsupported AccessMode combination: [a b]"}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace csinative::csi
