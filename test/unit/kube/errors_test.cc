// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/errors.h"

#include <gtest/gtest.h>

#include "lib/kube/api_status.h"

namespace csinative::kube {
namespace {

Status Api(int code, std::string reason, std::optional<int64_t> retry_after = std::nullopt) {
  return Status(
      Code::kUnknown, "text",
      ApiError{.http_code = code, .reason = std::move(reason), .retry_after_seconds = retry_after});
}

// kube-client 24.7 S1 to S3.
TEST(ErrorsTest, KnownReasonDecidesAndCodeOnlyFillsIn) {
  EXPECT_TRUE(IsNotFound(Api(404, "NotFound")));
  EXPECT_TRUE(IsNotFound(Api(404, "NotFound").WithContext("get claim")));
  EXPECT_TRUE(IsNotFound(Api(404, "")));
  EXPECT_TRUE(IsNotFound(Api(404, "SomethingNew")));
  EXPECT_FALSE(IsNotFound(Api(404, "Forbidden")));
  EXPECT_TRUE(IsForbidden(Api(404, "Forbidden")));
  EXPECT_FALSE(IsNotFound(Status()));
  EXPECT_FALSE(IsNotFound(NotFoundError("not from an API server")));
}

TEST(ErrorsTest, SomePredicatesLookAtTheReasonOnly) {
  EXPECT_FALSE(IsAlreadyExists(Api(409, "")));
  EXPECT_TRUE(IsConflict(Api(409, "")));
  EXPECT_TRUE(IsAlreadyExists(Api(409, "AlreadyExists")));
  EXPECT_FALSE(IsConflict(Api(409, "AlreadyExists")));
  EXPECT_FALSE(IsServerTimeout(Api(500, "")));
  EXPECT_TRUE(IsTooManyRequests(Api(429, "Whatever")));
  EXPECT_TRUE(IsTooManyRequests(Api(0, "TooManyRequests")));
}

TEST(ErrorsTest, GoneHasTwoReasons) {
  EXPECT_TRUE(IsGone(Api(410, "Gone")));
  EXPECT_TRUE(IsGone(Api(410, "Expired")));
  EXPECT_TRUE(IsGone(Api(410, "")));
  EXPECT_FALSE(IsGone(Api(404, "NotFound")));
}

TEST(ErrorsTest, TooLargeResourceVersionInThreeDialects) {
  Status by_cause(
      Code::kUnavailable, "x",
      ApiError{
          .http_code = 504, .reason = "Timeout", .causes = {{"ResourceVersionTooLarge", "", ""}}});
  Status by_cause_message(Code::kUnavailable, "x",
                          ApiError{.http_code = 504,
                                   .reason = "Timeout",
                                   .causes = {{"", "Too large resource version", ""}}});
  Status by_message(Code::kUnavailable, "Timeout: Too large resource version: 5, current: 4",
                    ApiError{.http_code = 504, .reason = "Timeout"});
  EXPECT_TRUE(IsTooLargeResourceVersion(by_cause));
  EXPECT_TRUE(IsTooLargeResourceVersion(by_cause_message));
  EXPECT_TRUE(IsTooLargeResourceVersion(by_message));
  EXPECT_FALSE(IsTooLargeResourceVersion(Api(504, "Timeout")));
  EXPECT_FALSE(IsTooLargeResourceVersion(
      Status(Code::kInternal, "Too large resource version", ApiError{.http_code = 500})));
}

// S4.
TEST(ErrorsTest, DelayIsSuggestedWhenPositiveOrForServerTimeouts) {
  using std::chrono::seconds;
  EXPECT_EQ(SuggestedDelay(Api(500, "ServerTimeout", 10)), seconds(10));
  EXPECT_EQ(SuggestedDelay(Api(500, "ServerTimeout", 0)), seconds(0));
  EXPECT_EQ(SuggestedDelay(Api(504, "Timeout", 10)), seconds(10));
  EXPECT_EQ(SuggestedDelay(Api(429, "TooManyRequests", 1)), seconds(1));
  EXPECT_EQ(SuggestedDelay(Api(429, "TooManyRequests", 0)), std::nullopt);
  EXPECT_EQ(SuggestedDelay(Api(500, "InternalError")), std::nullopt);
  EXPECT_EQ(SuggestedDelay(UnavailableError("x")), std::nullopt);
}

TEST(ErrorsTest, MissingInCacheReadsLikeAListerSaysIt) {
  const Status status = CacheNotFound("persistentvolumeclaim", "data");
  EXPECT_EQ(status.message(), "persistentvolumeclaim \"data\" not found");
  EXPECT_TRUE(IsNotFound(status));
}

struct GenericCase {
  const char* name;
  int code;
  const char* method;
  const char* body;
  const char* reason;
  const char* message;
};

class GenericErrorTest : public ::testing::TestWithParam<GenericCase> {};

// kube-client 9.1, the table.
TEST_P(GenericErrorTest, HasReasonAndMessage) {
  const GenericCase& c = GetParam();
  const Status status = GenericServerError(
      {.code = c.code, .method = c.method, .resource = "foo", .name = "bar", .body = c.body});
  ASSERT_NE(status.api_error(), nullptr);
  EXPECT_EQ(status.api_error()->reason, c.reason);
  EXPECT_EQ(status.api_error()->http_code, c.code);
  EXPECT_EQ(status.message(), c.message);
  EXPECT_TRUE(IsUnexpectedServerError(status));
}

INSTANTIATE_TEST_SUITE_P(
    Codes, GenericErrorTest,
    ::testing::Values(
        GenericCase{"PostConflict", 409, "POST", "", "AlreadyExists",
                    "the server reported a conflict (post foo bar)"},
        GenericCase{"PutConflict", 409, "PUT", "", "Conflict",
                    "the server reported a conflict (put foo bar)"},
        GenericCase{"NotFound", 404, "GET", "page", "NotFound",
                    "the server could not find the requested resource (get foo bar)"},
        GenericCase{"BadRequest", 400, "GET", "", "BadRequest",
                    "the server rejected our request for an unknown reason (get foo bar)"},
        GenericCase{"Unauthorized", 401, "GET", "", "Unauthorized",
                    "the server has asked for the client to provide credentials (get foo bar)"},
        GenericCase{"Forbidden", 403, "GET", "no", "Forbidden", "no (get foo bar)"},
        GenericCase{"Internal", 500, "DELETE", "oh \"no\"", "InternalError",
                    "an error on the server (\"oh \\\"no\\\"\") has prevented the request from "
                    "succeeding (delete foo bar)"},
        GenericCase{"Throttled", 429, "GET", "", "TooManyRequests",
                    "the server has received too many requests and has asked us to try again "
                    "later (get foo bar)"},
        GenericCase{"Odd", 199, "GET", "", "Unknown",
                    "the server responded with the status code 199 but did not return more "
                    "information (get foo bar)"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace csinative::kube
