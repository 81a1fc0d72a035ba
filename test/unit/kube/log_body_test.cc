// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/log_body.h"

#include <gtest/gtest.h>

namespace csinative::kube {
namespace {

// kube-client 24.4 L3.
TEST(BodyForLogTest, VerbosityLimitsTheText) {
  const std::string short_text(28, 'a');
  EXPECT_EQ(BodyForLog(short_text, 0), " [truncated 28 chars]");
  EXPECT_EQ(BodyForLog(short_text, 8), short_text);
  EXPECT_EQ(BodyForLog(std::string(2000, 'a'), 8),
            std::string(1024, 'a') + " [truncated 976 chars]");
  EXPECT_EQ(BodyForLog(std::string(20000, 'a'), 9),
            std::string(10240, 'a') + " [truncated 9760 chars]");
  EXPECT_EQ(BodyForLog(std::string(20000, 'a'), 10), std::string(20000, 'a'));
  EXPECT_EQ(BodyForLog("", 0), "");
}

TEST(BodyForLogTest, BinaryIsDumped) {
  EXPECT_EQ(BodyForLog(std::string_view("k8s\0\x0a\x0c\x0a\x02v1\x12\x06Status", 18), 8),
            "00000000  6b 38 73 00 0a 0c 0a 02  76 31 12 06 53 74 61 74  |k8s.....v1..Stat|\n"
            "00000010  75 73                                             |us|\n");
}

}  // namespace
}  // namespace csinative::kube
