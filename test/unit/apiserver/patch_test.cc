// SPDX-License-Identifier: Apache-2.0
#include "test/support/apiserver/patch.h"

#include <gtest/gtest.h>

namespace csinative::apiserver {
namespace {

struct Case {
  const char* name;
  const char* current;
  const char* patch;
  const char* result;  // null: the patch is refused
  int code = 0;        // of the refusal
};

std::string Outcomes(const Outcome<JsonDocument>& outcome) {
  if (!outcome.ok()) return std::to_string(outcome.failure().code);
  return Dump(outcome.value());
}

std::string CaseName(const ::testing::TestParamInfo<Case>& info) { return info.param.name; }

class JsonPatchTest : public ::testing::TestWithParam<Case> {};

TEST_P(JsonPatchTest, Applies) {
  const Case& c = GetParam();
  Outcome<JsonDocument> outcome = ApplyJsonPatch(*ParseJson(c.current), c.patch);
  EXPECT_EQ(Outcomes(outcome), c.result != nullptr ? c.result : std::to_string(c.code));
}

INSTANTIATE_TEST_SUITE_P(
    Cases, JsonPatchTest,
    ::testing::Values(
        Case{"AddMember", R"({"a":1})", R"([{"op":"add","path":"/b","value":2}])",
             R"({"a":1,"b":2})"},
        Case{"AddReplaces", R"({"a":1})", R"([{"op":"add","path":"/a","value":2}])", R"({"a":2})"},
        Case{"AddAtIndex", R"({"a":[1,3]})", R"([{"op":"add","path":"/a/1","value":2}])",
             R"({"a":[1,2,3]})"},
        Case{"Append", R"({"a":[1]})", R"([{"op":"add","path":"/a/-","value":2}])",
             R"({"a":[1,2]})"},
        Case{"AddBelowNothing", R"({})", R"([{"op":"add","path":"/a/b","value":2}])", nullptr, 422},
        Case{"RemoveMember", R"({"a":1,"b":2})", R"([{"op":"remove","path":"/a"}])", R"({"b":2})"},
        Case{"RemoveElement", R"({"a":[1,2,3]})", R"([{"op":"remove","path":"/a/1"}])",
             R"({"a":[1,3]})"},
        Case{"RemoveMissing", R"({"a":1})", R"([{"op":"remove","path":"/b"}])", nullptr, 422},
        Case{"Replace", R"({"a":{"b":1}})", R"([{"op":"replace","path":"/a/b","value":"x"}])",
             R"({"a":{"b":"x"}})"},
        Case{"ReplaceMissing", R"({})", R"([{"op":"replace","path":"/a","value":1}])", nullptr,
             422},
        Case{"EscapedPointer", R"({"a/b":1,"c~d":2})",
             R"([{"op":"remove","path":"/a~1b"},{"op":"remove","path":"/c~0d"}])", R"({})"},
        Case{"TestHolds", R"({"a":[1]})",
             R"([{"op":"test","path":"/a","value":[1]},{"op":"remove","path":"/a"}])", R"({})"},
        Case{"TestFails", R"({"a":1})", R"([{"op":"test","path":"/a","value":2}])", nullptr, 422},
        Case{"Move", R"({"a":1})", R"([{"op":"move","from":"/a","path":"/b"}])", R"({"b":1})"},
        Case{"Copy", R"({"a":1})", R"([{"op":"copy","from":"/a","path":"/b"}])",
             R"({"a":1,"b":1})"},
        Case{"UnknownOperation", R"({})", R"([{"op":"x","path":"/a"}])", nullptr, 422},
        Case{"NoList", R"({})", R"({})", nullptr, 400},
        Case{"NoJson", R"({})", R"({)", nullptr, 400}),
    CaseName);

class MergePatchTest : public ::testing::TestWithParam<Case> {};

TEST_P(MergePatchTest, Applies) {
  const Case& c = GetParam();
  Outcome<JsonDocument> outcome = ApplyMergePatch(*ParseJson(c.current), c.patch);
  EXPECT_EQ(Outcomes(outcome), c.result != nullptr ? c.result : std::to_string(c.code));
}

INSTANTIATE_TEST_SUITE_P(
    Cases, MergePatchTest,
    ::testing::Values(
        Case{"Adds", R"({"a":1})", R"({"b":2})", R"({"a":1,"b":2})"},
        Case{"Recurses", R"({"a":{"b":1,"c":2}})", R"({"a":{"b":3}})", R"({"a":{"b":3,"c":2}})"},
        Case{"NullRemoves", R"({"a":{"b":1,"c":2}})", R"({"a":{"b":null}})", R"({"a":{"c":2}})"},
        Case{"NullOfNothing", R"({"a":1})", R"({"b":null})", R"({"a":1})"},
        Case{"ListsAreReplaced", R"({"a":[1,2]})", R"({"a":[3]})", R"({"a":[3]})"},
        Case{"ObjectReplacesScalar", R"({"a":1})", R"({"a":{"b":2,"c":null}})", R"({"a":{"b":2}})"},
        Case{"NoObject", R"({})", R"([])", nullptr, 400},
        Case{"NoJson", R"({})", R"({)", nullptr, 400}),
    CaseName);

}  // namespace
}  // namespace csinative::apiserver
