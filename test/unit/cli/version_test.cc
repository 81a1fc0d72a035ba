// SPDX-License-Identifier: Apache-2.0
#include "lib/cli/version.h"

#include <gtest/gtest.h>

#include <string>

namespace csinative::cli {
namespace {

// common/20.1/21
TEST(VersionTest, TextIsProgramAndVersion) {
  const std::string version(BuildVersion());
  ASSERT_GE(version.size(), 6u);
  EXPECT_EQ(version[0], 'v');
  EXPECT_EQ(VersionText("/csi-attacher"), "/csi-attacher " + version + "\n");
}

}  // namespace
}  // namespace csinative::cli
