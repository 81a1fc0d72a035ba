// SPDX-License-Identifier: Apache-2.0
//
// kube-client 24.7: what is asked of a failed call. Field errors of servers are in
// test/unit/apiserver/failure_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "lib/base/strings.h"
#include "lib/kube/api_status.h"
#include "lib/kube/codec.h"
#include "lib/kube/errors.h"
#include "lib/kube/watch_stream.h"
#include "test/support/kube_wire.h"
#include "test/support/oracle.h"

namespace csinative::kube {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

Status Failure(int code, const std::string& reason) {
  return FromApiStatus(testing::FailureStatus(code, reason, "message"));
}

Status FailureAfter(int code, const std::string& reason, int retry_seconds) {
  meta::Status status = testing::FailureStatus(code, reason, "message");
  status.mutable_details()->set_retryafterseconds(retry_seconds);
  return FromApiStatus(status);
}

struct PredicateEntry {
  const char* reason;
  int code;
  bool (*is)(const Status&);
};

constexpr PredicateEntry kPredicates[] = {{"NotFound", 404, IsNotFound},
                                          {"AlreadyExists", 409, IsAlreadyExists},
                                          {"Conflict", 409, IsConflict},
                                          {"Forbidden", 403, IsForbidden},
                                          {"Invalid", 422, IsInvalid},
                                          {"Gone", 410, IsGone},
                                          {"Expired", 410, IsGone},
                                          {"Timeout", 504, IsTimeout},
                                          {"ServerTimeout", 500, IsServerTimeout},
                                          {"TooManyRequests", 429, IsTooManyRequests},
                                          {"Unauthorized", 401, IsUnauthorized},
                                          {"InternalError", 500, IsInternalError}};

TEST(ErrorsOracle, Predicates) {
  for (const PredicateEntry& entry : kPredicates) {
    const oracle::Row row("kube-client/24.7/1");
    const Status wrapped =
        Failure(entry.code, entry.reason).WithContext("inner").WithContext("outer");
    EXPECT_TRUE(entry.is(wrapped)) << entry.reason;
    EXPECT_FALSE(entry.is(Status())) << entry.reason;
    EXPECT_FALSE(entry.is(UnknownError("other"))) << entry.reason;
  }
  for (const char* reason : {"", "SomethingNew"}) {
    const oracle::Row row("kube-client/24.7/2");
    EXPECT_TRUE(IsNotFound(Failure(404, reason)));
  }
  {
    const oracle::Row row("kube-client/24.7/2");
    const Status both = Failure(404, "Forbidden");
    EXPECT_TRUE(IsForbidden(both));
    EXPECT_FALSE(IsNotFound(both));
  }
  for (const char* reason : {"TooManyRequests", "", "Forbidden", "NotFound"}) {
    const oracle::Row row("kube-client/24.7/3");
    EXPECT_TRUE(IsTooManyRequests(Failure(429, reason))) << reason;
  }
}

TEST(ErrorsOracle, Delays) {
  const auto generic = [](int code, const char* retry_after) {
    return CheckAnswer({.code = code, .retry_after = retry_after}, Encoding::kJson, {"GET"});
  };
  struct Entry {
    Status status;
    std::optional<Duration> delay;
  };
  const Entry kEntries[] = {
      {FailureAfter(500, "ServerTimeout", 10), seconds(10)},
      {FailureAfter(500, "ServerTimeout", 0), seconds(0)},
      {FailureAfter(504, "Timeout", 10), seconds(10)},
      {FailureAfter(429, "TooManyRequests", 10), seconds(10)},
      {FailureAfter(429, "TooManyRequests", 1), seconds(1)},
      {FailureAfter(409, "AlreadyExists", 1), seconds(1)},
      {generic(429, "10"), seconds(10)},
      {generic(500, "10"), seconds(10)},
      {generic(429, "0"), std::nullopt},
      {UnknownError("other"), std::nullopt},
      {FailureAfter(500, "ServerTimeout", 10).WithContext("outer"), seconds(10)},
  };
  for (const Entry& entry : kEntries) {
    const oracle::Row row("kube-client/24.7/4");
    EXPECT_EQ(SuggestedDelay(entry.status), entry.delay) << entry.status.ToString();
  }
}

TEST(ErrorsOracle, CausesAndTexts) {
  {
    const oracle::Row row("kube-client/24.7/6");
    meta::Status quota = testing::FailureStatus(403, "Forbidden", "exceeded quota");
    EXPECT_TRUE(IsForbidden(FromApiStatus(quota)));
    quota.mutable_details()->add_causes()->set_reason("NamespaceTerminating");
    const Status terminating = FromApiStatus(quota).WithContext("create");
    EXPECT_TRUE(IsForbidden(terminating));
    EXPECT_TRUE(HasStatusCause(terminating, "NamespaceTerminating"));
  }
  {
    const oracle::Row row("kube-client/24.7/7");
    EXPECT_EQ(FromApiStatus(testing::FailureStatus(500, "", "foobar")).message(), "foobar");
    const Status other = ErrorOfObject({Encoding::kJson, "v1", "Node", "{}"});
    EXPECT_THAT(other.message(), HasSubstr("unexpected object: "));
    EXPECT_EQ(other.api_error(), nullptr) << "an event that fails with it is sent again";
  }
}

}  // namespace
}  // namespace csinative::kube
