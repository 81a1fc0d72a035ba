// SPDX-License-Identifier: Apache-2.0
#include "lib/base/status.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <utility>

#include "lib/base/result.h"

namespace csinative {
namespace {

TEST(StatusTest, ContextKeepsCodeAndDetail) {
  const Status status(Code::kNotFound, "no such volume", RpcError{5});
  const Status wrapped = status.WithContext("delete volume");
  EXPECT_EQ(wrapped.code(), Code::kNotFound);
  EXPECT_EQ(wrapped.message(), "delete volume: no such volume");
  ASSERT_NE(wrapped.rpc_error(), nullptr);
  EXPECT_EQ(wrapped.rpc_error()->grpc_code, 5);
  EXPECT_EQ(wrapped.api_error(), nullptr);
  EXPECT_EQ(wrapped.ToString(), "NotFound: delete volume: no such volume");
}

TEST(StatusTest, OkStaysOkUnderContext) {
  EXPECT_TRUE(Status().WithContext("x").ok());
  EXPECT_TRUE(Status::Ok().WithMessage("x").ok());
  EXPECT_EQ(Status().ToString(), "OK");
  EXPECT_EQ(Status().message(), "");
}

TEST(StatusTest, CodesAreNamedAsGoNamesThem) {
  EXPECT_EQ(CodeName(Code::kOk), "OK");
  EXPECT_EQ(CodeName(Code::kCancelled), "Canceled");
  EXPECT_EQ(CodeName(16), "Unauthenticated");
  EXPECT_EQ(CodeName(17), "Code(17)");
  EXPECT_EQ(CodeName(-1), "Code(4294967295)");
}

TEST(StatusTest, SystemErrorsKeepTheirNumber) {
  const Status status = OsStatus(ENOENT, "open /x");
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_EQ(status.message(), "open /x: No such file or directory");
  ASSERT_NE(status.os_error(), nullptr);
  EXPECT_EQ(status.os_error()->error_number, ENOENT);
}

Result<int> Half(int value) {
  if (value % 2 != 0) return InvalidArgumentError("odd");
  return value / 2;
}

Result<int> Quarter(int value) {
  CSI_ASSIGN_OR_RETURN(const int half, Half(value));
  CSI_RETURN_IF_ERROR(Half(half).status());
  return half / 2;
}

TEST(ResultTest, MacrosPassTheFirstFailureOn) {
  EXPECT_EQ(Quarter(8).value(), 2);
  EXPECT_EQ(Quarter(3).status().message(), "odd");
  EXPECT_EQ(Quarter(6).status().message(), "odd");
  EXPECT_EQ(Quarter(6).value_or(-1), -1);
}

}  // namespace
}  // namespace csinative
