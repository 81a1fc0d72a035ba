// SPDX-License-Identifier: Apache-2.0
#include "cmd/provisioner/outcome.h"
#include "test/support/oracle_rows.h"

#include <gtest/gtest.h>

namespace csinative::provisioner {
namespace {

struct OutcomeCase {
  std::string rows;  // of the oracle
  std::string name;
  int grpc_code;
  ProvisionState fixed;       // no topology, or no node selected
  ProvisionState can_change;  // topology and a selected node
};

void PrintTo(const OutcomeCase& c, std::ostream* out) { *out << c.name; }

class StateAfterCreateErrorTest : public ::testing::TestWithParam<OutcomeCase> {};

TEST_P(StateAfterCreateErrorTest, FollowsTheCode) {
  const OutcomeCase& c = GetParam();
  const oracle::Rows rows(c.rows);
  const Status error = RpcStatus(c.grpc_code, "x");
  EXPECT_EQ(StateAfterCreateError(error, NodeChoice::kFixed), c.fixed);
  EXPECT_EQ(StateAfterCreateError(error, NodeChoice::kCanChange), c.can_change);
  EXPECT_EQ(IsInfeasible(error), c.grpc_code == 3);
  EXPECT_EQ(IsInfeasible(error.WithContext("while provisioning")), c.grpc_code == 3);
}

constexpr auto kBg = ProvisionState::kInBackground;
constexpr auto kFin = ProvisionState::kFinished;
constexpr auto kRes = ProvisionState::kReschedule;

INSTANTIATE_TEST_SUITE_P(
    Rows, StateAfterCreateErrorTest,
    ::testing::Values(OutcomeCase{"provisioner/22.5/1", "CANCELLED", 1, kBg, kBg},
                      OutcomeCase{"provisioner/22.5/4", "UNKNOWN", 2, kFin, kFin},
                      OutcomeCase{"provisioner/22.5/4", "INVALID_ARGUMENT", 3, kFin, kFin},
                      OutcomeCase{"provisioner/22.5/1", "DEADLINE_EXCEEDED", 4, kBg, kBg},
                      OutcomeCase{"provisioner/22.5/4", "NOT_FOUND", 5, kFin, kFin},
                      OutcomeCase{"provisioner/22.5/4", "ALREADY_EXISTS", 6, kFin, kFin},
                      OutcomeCase{"provisioner/22.5/4", "PERMISSION_DENIED", 7, kFin, kFin},
                      OutcomeCase{"provisioner/22.5/2 provisioner/22.5/3", "RESOURCE_EXHAUSTED", 8,
                                  kFin, kRes},
                      OutcomeCase{"provisioner/22.5/4", "FAILED_PRECONDITION", 9, kFin, kFin},
                      OutcomeCase{"provisioner/22.5/1", "ABORTED", 10, kBg, kBg},
                      OutcomeCase{"provisioner/22.5/4", "OUT_OF_RANGE", 11, kFin, kFin},
                      OutcomeCase{"provisioner/22.5/4", "UNIMPLEMENTED", 12, kFin, kFin},
                      OutcomeCase{"provisioner/22.5/4", "INTERNAL", 13, kFin, kFin},
                      OutcomeCase{"provisioner/22.5/1", "UNAVAILABLE", 14, kBg, kBg},
                      OutcomeCase{"provisioner/22.5/4", "DATA_LOSS", 15, kFin, kFin},
                      OutcomeCase{"provisioner/22.5/4", "UNAUTHENTICATED", 16, kFin, kFin},
                      OutcomeCase{"", "number outside gRPC's set", 77, kFin, kFin}));

TEST(StateAfterCreateErrorTest, ErrorWithoutGrpcStatusMayStillRun) {
  EXPECT_EQ(StateAfterCreateError(CancelledError(), NodeChoice::kCanChange), kBg);
  EXPECT_EQ(StateAfterCreateError(InvalidArgumentError("x"), NodeChoice::kFixed), kBg);
  EXPECT_FALSE(IsInfeasible(InvalidArgumentError("x")));
}

}  // namespace
}  // namespace csinative::provisioner
