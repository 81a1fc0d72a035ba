// SPDX-License-Identifier: Apache-2.0
#include "cmd/attacher/recent_objects.h"

#include <gtest/gtest.h>

namespace csinative::attacher {
namespace {

TEST(RecentObjectsTest, VersionsAreComparedAsNumbers) {
  EXPECT_TRUE(IsOlderVersion("9", "10"));
  EXPECT_TRUE(IsOlderVersion("99", "100"));
  EXPECT_FALSE(IsOlderVersion("10", "10"));
  EXPECT_FALSE(IsOlderVersion("11", "10"));
}

TEST(RecentObjectsTest, VersionThatIsNoNumberIsNeverOlder) {
  EXPECT_FALSE(IsOlderVersion("", "1"));
  EXPECT_FALSE(IsOlderVersion("1", "x"));
  EXPECT_FALSE(IsOlderVersion("a", "b"));
}

}  // namespace
}  // namespace csinative::attacher
