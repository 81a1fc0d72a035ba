// SPDX-License-Identifier: Apache-2.0
//
// kube-client 24.14, T and L: times and selectors.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "apis/json/from_json.h"
#include "apis/json/to_json.h"
#include "apis/k8s.h"
#include "apis/meta/v1/labels.h"
#include "apis/meta/v1/time.h"
#include "test/support/oracle.h"

namespace csinative::apis {
namespace {

constexpr int64_t kMay1998 = 894344705;  // 1998-05-05T05:05:05Z

TEST(TimeOracle, Texts) {
  {
    const oracle::Row row("kube-client/24.14/29");
    EXPECT_TRUE(IsZero(meta::Time()));
    meta::ObjectMeta zero;
    ASSERT_TRUE(FromJsonString(R"({"creationTimestamp":null})", &zero).ok());
    EXPECT_FALSE(zero.has_creationtimestamp());
    EXPECT_EQ(ToJsonString(zero, {.creation_timestamp_null = true}),
              R"({"creationTimestamp":null})");
    const Result<Moment> moment = ParseRfc3339("1998-05-05T01:05:05.00000005-04:00");
    ASSERT_TRUE(moment.ok());
    EXPECT_EQ(FormatTime(MakeTime(*moment)), "1998-05-05T05:05:05Z");
    EXPECT_TRUE(SameTime(MakeTime(*moment), MakeTime(*ParseRfc3339("1998-05-05T05:05:05Z"))));
  }
  struct Entry {
    int32_t nanos;
    const char* text;
  };
  const Entry kMicro[] = {{50, "1998-05-05T05:05:05.000000Z"},
                          {5050, "1998-05-05T05:05:05.000005Z"}};
  for (const Entry& entry : kMicro) {
    const oracle::Row row("kube-client/24.14/30");
    EXPECT_EQ(FormatTime(MakeMicroTime(Moment{kMay1998, entry.nanos})), entry.text);
    EXPECT_EQ(ParseRfc3339Micro(entry.text)->seconds, kMay1998);
  }
  struct Comparison {
    meta::Time a;
    meta::Time b;
    bool same;
    bool before;
  };
  const meta::Time none;
  const meta::Time some = MakeTime(Moment{kMay1998, 0});
  const meta::Time later = MakeTime(Moment{kMay1998 + 1, 0});
  // A pointer to nothing is the zero time here.
  const Comparison kComparisons[] = {{none, none, true, false},  {none, some, false, true},
                                     {some, none, false, false}, {some, some, true, false},
                                     {some, later, false, true}, {later, some, false, false}};
  for (const Comparison& entry : kComparisons) {
    const oracle::Row row("kube-client/24.14/31");
    EXPECT_EQ(SameTime(entry.a, entry.b), entry.same);
    EXPECT_EQ(Before(entry.a, entry.b), entry.before);
  }
}

using Labels = std::map<std::string, std::string>;

bool Matches(const std::string& selector, const Labels& labels) {
  meta::ObjectMeta meta;
  for (const auto& [key, value] : labels) SetEntry(meta.mutable_labels(), key, value);
  const Result<LabelSelector> parsed = LabelSelector::Parse(selector);
  EXPECT_TRUE(parsed.ok()) << selector;
  return parsed.ok() && parsed->Matches(meta.labels());
}

TEST(LabelSelectorOracle, Texts) {
  struct Entry {
    const char* text;
    const char* canonical;
  };
  const Entry kGood[] = {{"x=a,y=b,z=c", "x=a,y=b,z=c"},
                         {"", ""},
                         {"x!=a,y=b", "x!=a,y=b"},
                         {"x=", "x="},
                         {"x= ", "x="},
                         {"x=,z= ", "x=,z="},
                         {"x= ,z= ", "x=,z="},
                         {"!x", "!x"},
                         {"x>1", "x>1"},
                         {"x>1,z<5", "x>1,z<5"}};
  for (const Entry& entry : kGood) {
    const oracle::Row row("kube-client/24.14/32");
    const Result<LabelSelector> parsed = LabelSelector::Parse(entry.text);
    ASSERT_TRUE(parsed.ok()) << entry.text;
    EXPECT_EQ(parsed->ToString(), entry.canonical);
  }
  for (const char* text : {"x=a||y=b", "x==a==b", "!x=a", "x<a"}) {
    const oracle::Row row("kube-client/24.14/33");
    EXPECT_FALSE(LabelSelector::Parse(text).ok()) << text;
  }
  struct Set {
    const char* text;
    std::vector<std::vector<std::string>> values;  // of each requirement, sorted by key
  };
  const Set kSets[] = {{"x in (a,b,c)", {{"a", "b", "c"}}},
                       {"x in ()", {{""}}},
                       {"x in (abc,)", {{"", "abc"}}},
                       {"x notin (,)", {{""}}},
                       {"x in (a), y notin (b), z", {{"a"}, {"b"}, {}}},
                       {"z, y notin (b),x in (a)", {{"a"}, {"b"}, {}}}};
  for (const Set& entry : kSets) {
    const oracle::Row row("kube-client/24.14/36");
    const Result<LabelSelector> parsed = LabelSelector::Parse(entry.text);
    ASSERT_TRUE(parsed.ok()) << entry.text;
    std::vector<std::vector<std::string>> values;
    for (const LabelRequirement& requirement : parsed->requirements()) {
      values.push_back(requirement.values);
    }
    EXPECT_EQ(values, entry.values) << entry.text;
  }
  const std::string kLong(64, 'a');
  const LabelRequirement kBad[] = {{"x", SelectorOperator::kIn, {}},
                                   {"x", SelectorOperator::kNotIn, {}},
                                   {"x", SelectorOperator::kExists, {"a"}},
                                   {"x", SelectorOperator::kGreaterThan, {"1", "2"}},
                                   {"x", SelectorOperator::kGreaterThan, {"a"}},
                                   {"x", SelectorOperator::kLessThan, {"1.5"}},
                                   {kLong, SelectorOperator::kExists, {}},
                                   {"x", SelectorOperator::kEquals, {kLong}},
                                   {"x y", SelectorOperator::kExists, {}},
                                   {"x", SelectorOperator::kEquals, {"a b"}}};
  for (const LabelRequirement& requirement : kBad) {
    const oracle::Row row("kube-client/24.14/37");
    EXPECT_FALSE(requirement.Validate().ok()) << requirement.ToString();
  }
}

TEST(LabelSelectorOracle, Matching) {
  struct Entry {
    const char* row;
    const char* selector;
    Labels labels;
    bool matches;
  };
  const Entry kEntries[] = {
      {"kube-client/24.14/34", "x=y", {{"x", "y"}, {"z", "w"}}, true},
      {"kube-client/24.14/34", "x!=y,z!=w", {{"x", "z"}, {"z", "a"}}, true},
      {"kube-client/24.14/34", "notin=in", {{"notin", "in"}}, true},
      {"kube-client/24.14/34", "x", {{"x", "z"}}, true},
      {"kube-client/24.14/34", "!x", {{"y", "z"}}, true},
      {"kube-client/24.14/34", "x>1", {{"x", "2"}}, true},
      {"kube-client/24.14/34", "x<1", {{"x", "0"}}, true},
      {"kube-client/24.14/35", "x=z", {}, false},
      {"kube-client/24.14/35", "x=y", {{"x", "z"}}, false},
      {"kube-client/24.14/35", "x!=y,z!=w", {{"x", "z"}, {"z", "w"}}, false},
      {"kube-client/24.14/35", "x", {{"y", "z"}}, false},
      {"kube-client/24.14/35", "!x", {{"x", "z"}}, false},
      {"kube-client/24.14/35", "x>1", {{"x", "0"}}, false},
      {"kube-client/24.14/35", "x<1", {{"x", "2"}}, false},
  };
  for (const Entry& entry : kEntries) {
    const oracle::Row row(entry.row);
    EXPECT_EQ(Matches(entry.selector, entry.labels), entry.matches) << entry.selector;
  }
}

TEST(FieldSelectorOracle, Texts) {
  for (const char* text : {"x=a,y=b,z=c", "", "x!=a,y=b", "x=a||y\\=b", "x=a\\=\\=b"}) {
    const oracle::Row row("kube-client/24.14/38");
    const Result<FieldSelector> parsed = FieldSelector::Parse(text);
    ASSERT_TRUE(parsed.ok()) << text;
    EXPECT_EQ(parsed->ToString(), text);
  }
  for (const char* text : {"x=a||y=b", "x==a==b", "x=a,b", "x in (a)", "x in (a,b,c)", "x"}) {
    const oracle::Row row("kube-client/24.14/39");
    EXPECT_FALSE(FieldSelector::Parse(text).ok()) << text;
  }
  for (const char* value : {"\\", ",", "=", "a\\,=b", ""}) {
    const oracle::Row row("kube-client/24.14/40");
    const Result<FieldSelector> parsed = FieldSelector::Parse("x=" + EscapeFieldValue(value));
    ASSERT_TRUE(parsed.ok()) << value;
    EXPECT_EQ(parsed->RequiredValue("x"), value);
  }
  for (const char* text : {"x=a\\", "x=\\a"}) {
    const oracle::Row row("kube-client/24.14/40");
    EXPECT_FALSE(FieldSelector::Parse(text).ok()) << text;
  }
}

}  // namespace
}  // namespace csinative::apis
