// SPDX-License-Identifier: Apache-2.0
#include "cmd/provisioner/topology_term.h"

#include <gtest/gtest.h>

namespace csinative::provisioner {
namespace {

const std::pair<std::string, std::string> kZone{"com.example.csi/zone", "1"};
const std::pair<std::string, std::string> kZone1a{"com.example.csi/zone", "1a"};
const std::pair<std::string, std::string> kZone1b{"com.example.csi/zone", "1b"};
const std::pair<std::string, std::string> kInstance{"com.example.csi/instance", "1"};

// Topology 18.8.
TEST(TopologyTermTest, FewerLabelsComeFirstThenKeysThenValues) {
  EXPECT_TRUE(TermLess({}, {kZone}));
  EXPECT_FALSE(TermLess({kZone}, {}));
  EXPECT_FALSE(TermLess({kZone}, {kZone}));
  EXPECT_TRUE(TermLess({kInstance}, {kZone}));
  EXPECT_TRUE(TermLess({kInstance, kZone1a}, {kInstance, kZone1b}));
  EXPECT_TRUE(TermLess({kZone}, {kInstance, kZone}));
}

TEST(TopologyTermTest, SubsetNeedsEveryLabel) {
  EXPECT_TRUE(IsSubset({}, {}));
  EXPECT_TRUE(IsSubset({}, {kZone}));
  EXPECT_FALSE(IsSubset({kZone}, {}));
  EXPECT_TRUE(IsSubset({kZone}, {kZone}));
  EXPECT_TRUE(IsSubset({kInstance}, {kInstance, kZone}));
  EXPECT_TRUE(IsSubset({kZone}, {kInstance, kZone}));
  EXPECT_FALSE(IsSubset({kInstance, kZone}, {kInstance}));
  EXPECT_FALSE(IsSubset({kInstance, kZone}, {kZone}));
  EXPECT_FALSE(IsSubset({kInstance}, {kZone}));
  EXPECT_FALSE(IsSubset({kZone1a}, {kZone1b}));
}

TEST(TopologyTermTest, EqualTermsCollapseButSubsetsStay) {
  TopologyTerms terms{{kInstance, kZone}, {kZone}, {kZone}, {kInstance}};
  SortAndDeduplicate(&terms);
  EXPECT_EQ(terms, (TopologyTerms{{kInstance}, {kZone}, {kInstance, kZone}}));
}

struct SpreadCase {
  std::string claim;
  std::vector<size_t> offsets;  // for n = 1, 2, ...
};

void PrintTo(const SpreadCase& c, std::ostream* out) { *out << c.claim; }

class SpreadOffsetTest : public ::testing::TestWithParam<SpreadCase> {};

// Topology 6.7, worked examples.
TEST_P(SpreadOffsetTest, IsHashPlusOrdinal) {
  for (size_t n = 1; n <= GetParam().offsets.size(); ++n) {
    EXPECT_EQ(SpreadOffset(GetParam().claim, n), GetParam().offsets[n - 1]) << "n=" << n;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Rows, SpreadOffsetTest,
    ::testing::Values(
        SpreadCase{"testpvcA-testset-1", {0, 0, 0, 0, 1}},
        SpreadCase{"testpvcB-testset-1", {0, 0, 0, 0, 1}}, SpreadCase{"testset-2", {0, 1, 1, 1, 2}},
        SpreadCase{"testpvc-testset-3", {0, 0, 2, 2, 3}},
        SpreadCase{"testpvc-testset-4", {0, 1, 0, 3, 4}}, SpreadCase{"testpvc", {0, 0, 2, 2, 3}},
        SpreadCase{"test-pvc", {0, 1, 0, 3, 4}}, SpreadCase{"fake-pvc", {0, 0, 1, 0, 0}},
        SpreadCase{"data-web-0", {0, 1, 0, 1, 0}}, SpreadCase{"my-data-web-1", {0, 0, 1, 2, 1}},
        SpreadCase{"www-web-007", {0, 0, 1, 0, 2}}, SpreadCase{"data--3", {0, 0, 1, 0, 4}},
        SpreadCase{"-5", {0, 0, 0, 2, 1}}, SpreadCase{"x-4294967295", {0, 0, 2, 2, 2}},
        SpreadCase{"x-4294967296", {0, 0, 2, 2, 2}}, SpreadCase{"web-", {0, 0, 2, 2, 1}}));

}  // namespace
}  // namespace csinative::provisioner
