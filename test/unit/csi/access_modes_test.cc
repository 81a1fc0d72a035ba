// SPDX-License-Identifier: Apache-2.0
#include "lib/csi/access_modes.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "test/support/oracle_rows.h"

namespace csinative::csi {
namespace {

using Mode = ::csi::v1::VolumeCapability::AccessMode;

struct Row {
  const char* name;
  const char* rows;  // of the oracle
  std::vector<std::string> modes;
  int plain = 0;    // 0: an error
  int capable = 0;  // with SINGLE_NODE_MULTI_WRITER
  const char* error = "";
};

class AccessModesTest : public ::testing::TestWithParam<Row> {};

TEST_P(AccessModesTest, MapsToOneMode) {
  const Row& row = GetParam();
  const oracle::Rows oracle_rows(row.rows);
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
        Row{"rwx", "common/20.10/1", {"ReadWriteMany"}, 5, 5},
        Row{"rox_rwo", "common/20.10/2", {"ReadOnlyMany", "ReadWriteOnce"}, 0, 0, kCsiRefuses},
        Row{"rox_rwop",
            "common/20.10/2",
            {"ReadOnlyMany", "ReadWriteOncePod"},
            0,
            0,
            kKubernetesRefuses},
        Row{"none", "common/20.10/2", {}, 0, 0, "unsupported AccessMode combination: []"},
        Row{"rox", "common/20.10/3", {"ReadOnlyMany"}, 3, 3},
        Row{"rwo", "common/20.10/4", {"ReadWriteOnce"}, 1, 7},
        Row{"rwop", "common/20.10/5", {"ReadWriteOncePod"}, 1, 6},
        Row{"rwx_rox_rwo",
            "common/20.10/6",
            {"ReadWriteMany", "ReadOnlyMany", "ReadWriteOnce"},
            5,
            5},
        // section 13: unknown strings
        Row{"rwop_unknown", "", {"ReadWriteOncePod", "Other"}, 0, 0, kKubernetesRefuses},
        Row{"rwop_twice", "", {"ReadWriteOncePod", "ReadWriteOncePod"}, 1, 6},
        Row{"rwo_unknown", "", {"Other", "ReadWriteOnce"}, 1, 7},
        Row{"unknown_only", "", {"a", "b"}, 0, 0, "unsupported AccessMode combination: [a b]"}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace csinative::csi
