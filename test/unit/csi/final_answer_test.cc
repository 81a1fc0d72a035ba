// SPDX-License-Identifier: Apache-2.0
#include "lib/csi/final_answer.h"

#include <gtest/gtest.h>

#include <set>

namespace csinative::csi {
namespace {

TEST(FinalAnswerTest, FiveCodesLeaveItOpenAndAllOthersAreFinal) {
  const std::set<Code> open = {Code::kCancelled, Code::kDeadlineExceeded, Code::kUnavailable,
                               Code::kResourceExhausted, Code::kAborted};
  for (int code = 1; code <= 17; ++code) {  // 17: of no meaning
    EXPECT_EQ(IsFinalAnswer(Status(Code::kUnknown, "no", RpcError{.grpc_code = code})),
              !open.contains(static_cast<Code>(code)))
        << code;
  }
}

TEST(FinalAnswerTest, WhatIsNobodysAnswerLeavesItOpen) {
  EXPECT_FALSE(IsFinalAnswer(Status(Code::kInvalidArgument, "never sent")));
}

}  // namespace
}  // namespace csinative::csi
