// SPDX-License-Identifier: Apache-2.0
#include "apis/meta/v1/names.h"

#include <gtest/gtest.h>

#include <string>

namespace csinative::apis {
namespace {

TEST(NamesTest, LabelsAreShortAndLowerCase) {
  EXPECT_TRUE(IsDns1123Label("a"));
  EXPECT_TRUE(IsDns1123Label("kube-system"));
  EXPECT_TRUE(IsDns1123Label(std::string(63, 'a')));
  for (const std::string& bad :
       {std::string(), std::string("A"), std::string("a.b"), std::string("-a"), std::string("a-"),
        std::string("a_b"), std::string(64, 'a')}) {
    EXPECT_FALSE(IsDns1123Label(bad)) << bad;
  }
}

TEST(NamesTest, SubdomainsAreLabelsJoinedByDots) {
  EXPECT_TRUE(IsDns1123Subdomain("ebs.csi.aws.com"));
  EXPECT_TRUE(IsDns1123Subdomain(std::string(253, 'a')));
  for (const std::string& bad :
       {std::string(), std::string("a..b"), std::string(".a"), std::string("a."),
        std::string("a.-b"), std::string("a/b"), std::string(254, 'a')}) {
    EXPECT_FALSE(IsDns1123Subdomain(bad)) << bad;
  }
}

TEST(NamesTest, LabelKeysMayHaveADomain) {
  EXPECT_TRUE(IsLabelKey("simple"));
  EXPECT_TRUE(IsLabelKey("topology.kubernetes.io/Zone_1.x"));
  for (const std::string& bad :
       {std::string(), std::string("/a"), std::string("a/"), std::string("a/b/c"),
        std::string("A.b/c"), std::string(64, 'k'), std::string("_x")}) {
    EXPECT_FALSE(IsLabelKey(bad)) << bad;
  }
}

TEST(NamesTest, LabelValuesMayBeEmpty) {
  EXPECT_TRUE(IsLabelValue(""));
  EXPECT_TRUE(IsLabelValue("A.b_c-1"));
  EXPECT_FALSE(IsLabelValue("a/b"));
  EXPECT_FALSE(IsLabelValue("a "));
  EXPECT_FALSE(IsLabelValue(std::string(64, 'v')));
}

}  // namespace
}  // namespace csinative::apis
