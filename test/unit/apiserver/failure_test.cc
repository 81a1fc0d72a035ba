// SPDX-License-Identifier: Apache-2.0
#include "test/support/apiserver/failure.h"

#include <gtest/gtest.h>

#include <vector>

#include "lib/kube/codec.h"
#include "lib/kube/errors.h"
#include "test/support/oracle.h"

namespace csinative::apiserver {
namespace {

// kube-client 24.7 S5: the fields of an invalid object, as the client reads them.
TEST(FailureTest, InvalidObjectsNameTheirFields) {
  struct Entry {
    std::vector<Cause> causes;
    const char* message;
  };
  const Entry kEntries[] = {
      {{{"FieldValueDuplicate", "Duplicate value: \"bar\"", "field[0].name"}},
       "Kind \"name\" is invalid: field[0].name: Duplicate value: \"bar\""},
      {{{"FieldValueInvalid", "Invalid value: \"bar\": detail", "field[0].name"}},
       "Kind \"name\" is invalid: field[0].name: Invalid value: \"bar\": detail"},
      {{{"FieldValueNotFound", "Not found: \"bar\"", "field[0].name"}},
       "Kind \"name\" is invalid: field[0].name: Not found: \"bar\""},
      {{{"FieldValueNotSupported", "Unsupported value: \"bar\"", "field[0].name"}},
       "Kind \"name\" is invalid: field[0].name: Unsupported value: \"bar\""},
      {{{"FieldValueRequired", "Required value", "field[0].name"}},
       "Kind \"name\" is invalid: field[0].name: Required value"},
      {{}, "Kind \"name\" is invalid"}};
  for (const Entry& entry : kEntries) {
    const oracle::Row row("kube-client/24.7/5");
    const Failure failure = Invalid("", "Kind", "name", entry.causes);
    EXPECT_EQ(failure.message, entry.message);
    const Status status = kube::CheckAnswer(
        {.code = failure.code, .content_type = "application/json", .body = failure.ToJson()},
        kube::Encoding::kJson, {"POST"});
    EXPECT_TRUE(kube::IsInvalid(status));
    ASSERT_EQ(status.api_error()->causes.size(), entry.causes.size());
    for (size_t i = 0; i < entry.causes.size(); ++i) {
      EXPECT_EQ(status.api_error()->causes[i].reason, entry.causes[i].reason);
      EXPECT_EQ(status.api_error()->causes[i].message, entry.causes[i].message);
      EXPECT_EQ(status.api_error()->causes[i].field, entry.causes[i].field);
    }
  }
}

}  // namespace
}  // namespace csinative::apiserver
