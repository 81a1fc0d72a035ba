// SPDX-License-Identifier: Apache-2.0
#include "apis/meta/v1/labels.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace csinative::apis {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

meta::ObjectMeta WithLabels(const Pairs& labels) {
  meta::ObjectMeta meta;
  for (const auto& [key, value] : labels) SetEntry(meta.mutable_labels(), key, value);
  return meta;
}

struct TextRow {
  std::string_view in;
  std::string_view out;
};

TEST(LabelSelectorTest, ParsesAndPrintsSorted) {
  // kube-client 24.14 L5, L9.
  const TextRow rows[] = {
      {"x=a,y=b,z=c", "x=a,y=b,z=c"},
      {"", ""},
      {"x!=a,y=b", "x!=a,y=b"},
      {"x=", "x="},
      {"x= ", "x="},
      {"x=,z= ", "x=,z="},
      {"x= ,z= ", "x=,z="},
      {"!x", "!x"},
      {"x>1", "x>1"},
      {"x>1,z<5", "x>1,z<5"},
      {"x==a", "x=a"},
      {"z=1,a=2", "a=2,z=1"},
      {" x  in\t( b , a,c )\n", "x in (a,b,c)"},
      {"x in ()", "x in ()"},
      {"x in (abc,)", "x in (,abc)"},
      {"x notin (,)", "x notin ()"},
      {"x in (a), y notin (b), z", "x in (a),y notin (b),z"},
      {"notin=in", "notin=in"},
      {"in in (in)", "in in (in)"},
      {"a.example/x=y", "a.example/x=y"},
  };
  for (const TextRow& row : rows) {
    Result<LabelSelector> selector = LabelSelector::Parse(row.in);
    ASSERT_TRUE(selector.ok()) << row.in << ": " << selector.status().message();
    EXPECT_EQ(selector->ToString(), row.out) << row.in;
    Result<LabelSelector> again = LabelSelector::Parse(row.out);
    ASSERT_TRUE(again.ok()) << row.out;
    EXPECT_EQ(again->ToString(), row.out);
  }
}

TEST(LabelSelectorTest, RejectsBadText) {
  // 24.14 L6, L10.
  for (const std::string& text :
       {std::string("x=a||y=b"),     std::string("x==a==b"),    std::string("!x=a"),
        std::string("x<a"),          std::string("x===a"),      std::string(",x"),
        std::string("x,"),           std::string("x,,y"),       std::string("x in a"),
        std::string("x in (a"),      std::string("x in (a b)"), std::string("x in"),
        std::string("x y"),          std::string("=a"),         std::string("!"),
        std::string("!!x"),          std::string("x=(a)"),      std::string("x in (a))"),
        std::string("x/y/z"),        std::string("x=a b"),      std::string("x>1.5"),
        std::string("x=a/b"),        std::string("()"),         std::string(64, 'k'),
        "x=" + std::string(64, 'v'), std::string("x=\xff")}) {
    EXPECT_FALSE(LabelSelector::Parse(text).ok()) << text;
  }
}

struct MatchRow {
  std::string_view selector;
  Pairs labels;
  bool matches;
};

TEST(LabelSelectorTest, Matches) {
  // 24.14 L7, L8.
  const MatchRow rows[] = {
      {"", {{"x", "y"}}, true},
      {"x=y", {{"x", "y"}, {"z", "w"}}, true},
      {"x!=y,z!=w", {{"x", "z"}, {"z", "a"}}, true},
      {"notin=in", {{"notin", "in"}}, true},
      {"x", {{"x", "z"}}, true},
      {"!x", {{"y", "z"}}, true},
      {"x>1", {{"x", "2"}}, true},
      {"x<1", {{"x", "0"}}, true},
      {"x!=y", {}, true},
      {"x notin (y)", {}, true},
      {"x in (a,b)", {{"x", "b"}}, true},
      {"x=z", {}, false},
      {"x=y", {{"x", "z"}}, false},
      {"x!=y,z!=w", {{"x", "z"}, {"z", "w"}}, false},
      {"x", {{"y", "z"}}, false},
      {"!x", {{"x", "z"}}, false},
      {"x>1", {{"x", "0"}}, false},
      {"x<1", {{"x", "2"}}, false},
      {"x>1", {{"x", "abc"}}, false},
      {"x>1", {}, false},
      {"x in (a,b)", {{"x", "c"}}, false},
  };
  for (const MatchRow& row : rows) {
    Result<LabelSelector> selector = LabelSelector::Parse(row.selector);
    ASSERT_TRUE(selector.ok()) << row.selector;
    EXPECT_EQ(selector->Matches(WithLabels(row.labels).labels()), row.matches) << row.selector;
  }
}

TEST(LabelSelectorTest, ObjectFormAndsLabelsAndExpressions) {
  meta::LabelSelector object;
  SetEntry(object.mutable_matchlabels(), "app", "db");
  auto add = [&](const char* key, const char* op, std::vector<std::string> values) {
    meta::LabelSelectorRequirement* r = object.add_matchexpressions();
    r->set_key(key);
    r->set_operator_(op);
    for (std::string& value : values) r->add_values(std::move(value));
  };
  add("zone", "In", {"b", "a"});
  add("old", "DoesNotExist", {});
  add("tier", "Exists", {});
  add("env", "NotIn", {"test"});
  Result<LabelSelector> selector = LabelSelector::FromProto(&object);
  ASSERT_TRUE(selector.ok());
  EXPECT_EQ(selector->ToString(), "app=db,env notin (test),!old,tier,zone in (a,b)");
}

TEST(LabelSelectorTest, ObjectFormRejectsBadRequirements) {
  auto rejects = [](const char* key, const char* op, std::vector<std::string> values) {
    meta::LabelSelector object;
    meta::LabelSelectorRequirement* r = object.add_matchexpressions();
    r->set_key(key);
    r->set_operator_(op);
    for (std::string& value : values) r->add_values(std::move(value));
    return !LabelSelector::FromProto(&object).ok();
  };
  EXPECT_TRUE(rejects("a", "In", {}));
  EXPECT_TRUE(rejects("a", "Exists", {"x"}));
  EXPECT_TRUE(rejects("a", "Gt", {"1"}));
  EXPECT_TRUE(rejects("-", "Exists", {}));
}

TEST(LabelSelectorTest, NoSelectorMatchesNothingAndAnEmptyOneEverything) {
  meta::LabelSelector empty;
  EXPECT_TRUE(LabelSelector::FromProto(nullptr)->MatchesNothing());
  EXPECT_FALSE(LabelSelector::FromProto(nullptr)->Matches({}));
  EXPECT_TRUE(LabelSelector::FromProto(&empty)->MatchesEverything());
  EXPECT_TRUE(LabelSelector::FromProto(&empty)->Matches({}));
}

TEST(FieldSelectorTest, ParsesAndPrintsSorted) {
  // 24.14 L11, L13.
  const TextRow rows[] = {
      {"x=a,y=b,z=c", "x=a,y=b,z=c"},
      {"", ""},
      {"x!=a,y=b", "x!=a,y=b"},
      {R"(x=a||y\=b)", R"(x=a||y\=b)"},
      {R"(x=a\=\=b)", R"(x=a\=\=b)"},
      {"x==a", "x=a"},
      {"z=1,a=2", "a=2,z=1"},
      {R"(x=\\\,\=)", R"(x=\\\,\=)"},
      {",,x=1,", "x=1"},
      {"=,x=1,!=", "x=1"},
      {"x=", "x="},
      {"metadata.name=a b", "metadata.name=a b"},
  };
  for (const TextRow& row : rows) {
    Result<FieldSelector> selector = FieldSelector::Parse(row.in);
    ASSERT_TRUE(selector.ok()) << row.in << ": " << selector.status().message();
    EXPECT_EQ(selector->ToString(), row.out) << row.in;
  }
  EXPECT_EQ(FieldSelector::Parse(R"(x=a||y\=b)")->requirements()[0].value, "a||y=b");
}

TEST(FieldSelectorTest, RejectsBadText) {
  // 24.14 L12, L13.
  for (std::string_view text : {"x=a||y=b", "x==a==b", "x=a,b", "x in (a)", "x in (a,b,c)", "x",
                                R"(x=\)", R"(x=\a)", "x!=a=b", "x=a\\"}) {
    EXPECT_FALSE(FieldSelector::Parse(text).ok()) << text;
  }
}

TEST(FieldSelectorTest, MatchesWithAbsentFieldsEmpty) {
  auto get = [](std::string_view field) {
    return std::string(field == "metadata.name" ? "a" : "");
  };
  EXPECT_TRUE(FieldSelector::Parse("metadata.name=a,spec.nodeName=")->Matches(get));
  EXPECT_TRUE(FieldSelector::Parse("spec.nodeName!=n")->Matches(get));
  EXPECT_FALSE(FieldSelector::Parse("metadata.name!=a")->Matches(get));
  EXPECT_FALSE(FieldSelector::Parse("metadata.name=a,spec.nodeName=n")->Matches(get));
  EXPECT_TRUE(FieldSelector().Matches(get));
}

TEST(FieldSelectorTest, RequiredValueIsForEqualTermsOnly) {
  FieldSelector selector = *FieldSelector::Parse("metadata.name=a,status.phase!=Running");
  EXPECT_EQ(selector.RequiredValue("metadata.name"), "a");
  EXPECT_EQ(selector.RequiredValue("status.phase"), std::nullopt);
  EXPECT_EQ(FieldSelector::Equal("f", "a,b").ToString(), R"(f=a\,b)");
}

}  // namespace
}  // namespace csinative::apis
