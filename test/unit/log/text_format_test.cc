// SPDX-License-Identifier: Apache-2.0
//
// Rows of common 20.3. Two of them cannot be written down in C++: a key without a value (13) is
// refused by the compiler, and a self-referential value (30) does not exist; beside them stands a
// value whose encoding failed.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <ostream>
#include <stdexcept>
#include <string>

#include "test/support/oracle_rows.h"
#include "test/unit/log/log_fixture.h"

namespace csinative::log {
namespace {

struct BodyRow {
  const char* name;
  const char* rows;  // of the oracle
  void (*call)(const Logger&);
  const char* body;
};

void PrintTo(const BodyRow& row, std::ostream* out) { *out << row.name; }

class TextBodyTest : public ::testing::TestWithParam<BodyRow> {};

TEST_P(TextBodyTest, Matches) {
  const oracle::Rows rows(GetParam().rows);
  TestLog test;
  GetParam().call(test.log);
  EXPECT_EQ(test.Body(), GetParam().body);
}

const Status kWhoops = UnknownError("whoops");

constexpr BodyRow kRows[] = {

    {"row_1_one_pair", "common/20.3/1",
     [](const Logger& log) { log.Info("test", "akey", "avalue"); }, R"("test" akey="avalue")"},
    {"row_2_names", "common/20.3/2",
     [](const Logger& log) {
       log.WithName("hello").WithName("world").Info("test", "akey", "avalue");
     },
     R"("test" logger="hello.world" akey="avalue")"},
    {"row_7_call_overrides_values", "common/20.3/7",
     [](const Logger& log) { log.WithValues("akey", "avalue").Info("test", "akey", "avalue2"); },
     R"("test" akey="avalue2")"},
    {"row_8_override_moves_to_the_call", "common/20.3/8",
     [](const Logger& log) {
       log.WithValues("duration", std::chrono::hours(1), "X", "y")
           .Info("test", "duration", std::chrono::minutes(1), "A", "b");
     },
     R"("test" X="y" duration="1m0s" A="b")"},
    {"row_9_last_of_the_call_wins", "common/20.3/9",
     [](const Logger& log) { log.Info("test", "akey", "avalue", "akey", "avalue2"); },
     R"("test" akey="avalue2")"},
    {"row_10_child_overrides_one_value", "common/20.3/10",
     [](const Logger& log) {
       log.WithValues("trace", "T", "span", 1).WithValues("trace", "T", "span", 2).Info("test");
     },
     R"("test" trace="T" span=2)"},
    {"row_10_parent_keeps_its_value", "common/20.3/10",
     [](const Logger& log) {
       const Logger parent = log.WithValues("trace", "T", "span", "1");
       const Logger child = parent.WithValues("trace", "T", "span", "2");
       parent.Info("test");
     },
     R"("test" trace="T" span="1")"},
    {"row_11_identical_pair_stays_at_its_place", "common/20.3/11",
     [](const Logger& log) {
       log.WithValues("trace", "T", "span", "1", "a", 1)
           .WithValues("b", 2, "trace", "T", "span", "2")
           .Info("test");
     },
     R"("test" trace="T" a=1 b=2 span="2")"},
    {"row_14_order", "common/20.3/14",
     [](const Logger& log) { log.WithValues("z", 1, "y", 2).Info("test", "x", 3, "a", 4); },
     R"("test" z=1 y=2 x=3 a=4)"},
    {"row_15_no_html_escapes_in_strings", "common/20.3/15",
     [](const Logger& log) { log.Info("test", "akey", "<&>"); }, R"("test" akey="<&>")"},
    {"row_16_quotes", "common/20.3/16",
     [](const Logger& log) { log.Info("\"quoted\"", "key", "\"quoted value\""); },
     R"("\"quoted\"" key="\"quoted value\"")"},
    {"row_17_reference", "common/20.3/17",
     [](const Logger& log) { log.Info("test", "pod", ObjectRef{"kube-system", "pod-1"}); },
     R"("test" pod="kube-system/pod-1")"},
    {"row_17_reference_without_namespace", "common/20.3/17",
     [](const Logger& log) { log.Info("test", "pod", ObjectRef{"", "pod-1"}); },
     R"("test" pod="pod-1")"},
    {"row_17_nil_reference", "common/20.3/17",
     [](const Logger& log) { log.Info("test", "pod", ObjectRef{}); }, R"("test" pod="")"},
    {"row_18_references", "common/20.3/18",
     [](const Logger& log) {
       log.Info("test", "pods",
                ObjectRefs{ObjectRef{"kube-system", "pod-1"}, ObjectRef{"kube-system", "pod-2"}});
     },
     R"("test" pods=["kube-system/pod-1","kube-system/pod-2"])"},
    {"row_18_references_with_nil", "common/20.3/18",
     [](const Logger& log) {
       log.Info("test", "pods", ObjectRefs{ObjectRef{"kube-system", "pod-1"}, std::nullopt});
     },
     R"("test" pods=["kube-system/pod-1",null])"},
    {"row_18_nil_list", "common/20.3/18",
     [](const Logger& log) { log.Info("test", "pods", nullptr); }, R"("test" pods=null)"},
    {"row_19_structs_of_references", "common/20.3/19",
     [](const Logger& log) {
       log.Info("test", "pods",
                RawJson{R"([{"name":"pod-1","namespace":"kube-system"},{"name":"mi-conf"}])"});
     },
     R"("test" pods=[{"name":"pod-1","namespace":"kube-system"},{"name":"mi-conf"}])"},
    {"row_20_error_as_value", "common/20.3/20",
     [](const Logger& log) { log.Info("test", "err", kWhoops); }, R"("test" err="whoops")"},
    {"row_21_error_call", "common/20.3/21", [](const Logger& log) { log.Error(kWhoops, "test"); },
     R"("test" err="whoops")"},
    {"row_22_maps_lists_structs", "common/20.3/22",
     [](const Logger& log) {
       log.Info("test", "s", RawJson{R"({"hello":"world"})"}, "i", RawJson{R"({"1":2,"3":4})"}, "l",
                RawJson{"[1,2,3]"});
     },
     R"("test" s={"hello":"world"} i={"1":2,"3":4} l=[1,2,3])"},
    {"row_23_bool_and_list", "common/20.3/23",
     [](const Logger& log) {
       log.Info("test", "update", true, "values", RawJson{"[8,6,7,5,3,0,9]"});
     },
     R"("test" update=true values=[8,6,7,5,3,0,9])"},
    {"row_24_struct_with_time", "common/20.3/24",
     [](const Logger& log) {
       log.Info("test", "s", RawJson{R"({"N":"2006-01-02T15:04:05.06789Z"})"});
     },
     R"("test" s={"N":"2006-01-02T15:04:05.06789Z"})"},
    {"row_25_bytes", "common/20.3/25",
     [](const Logger& log) { log.Info("test", "bytes", Bytes{"test case for byte array"}); },
     R"("test" bytes="test case for byte array")"},
    {"row_26_bytes_are_ascii", "common/20.3/26",
     [](const Logger& log) { log.Info("test", "bytes", Bytes{"\ufffd\ufffd=\ufffd \u2318"}); },
     R"("test" bytes="\ufffd\ufffd=\ufffd \u2318")"},
    {"bytes_never_take_several_lines", "",
     [](const Logger& log) { log.Info("test", "bytes", Bytes{"a\nb"}); }, R"("test" bytes="a\nb")"},
    {"row_27_several_lines", "common/20.3/27",
     [](const Logger& log) {
       log.Info("test", "multiLineString",
                "Hello world!\n\tStarts with tab.\n  Starts with spaces.\nNo whitespace.", "pod",
                "kubedns");
     },
     "\"test\" multiLineString=<\n\tHello world!\n\t\tStarts with tab.\n\t  Starts with "
     "spaces.\n\tNo whitespace.\n > pod=\"kubedns\""},
    {"final_line_break_adds_no_line", "", [](const Logger& log) { log.Info("test", "s", "a\n"); },
     "\"test\" s=<\n\ta\n >"},
    {"row_28_pretty_printed", "common/20.3/28",
     [](const Logger& log) {
       log.Info("test", "s", "{\n  \"Name\": \"worker\",\n  \"Kind\": \"pod\"\n}");
     },
     "\"test\" s=<\n\t{\n\t  \"Name\": \"worker\",\n\t  \"Kind\": \"pod\"\n\t}\n >"},
    {"row_29_value_that_fails", "common/20.3/29",
     [](const Logger& log) {
       log.Info("test", "value", []() -> std::string { throw std::runtime_error("fake"); });
     },
     R"("test" value="<panic: fake>")"},
    {"value_that_cannot_be_encoded", "",
     [](const Logger& log) {
       log.Info("test", "value", Result<std::string>(InternalError("cycle")));
     },
     R"("test" value="<internal error: cycle>")"},
    {"message_with_line_break_stays_one_line", "", [](const Logger& log) { log.Info("a\nb"); },
     R"("a\nb")"},
    {"json_is_html_escaped", "",
     [](const Logger& log) { log.Info("test", "s", RawJson{"{\"k\":\"<a&b>\u2028\"}"}); },
     R"("test" s={"k":"\u003ca\u0026b\u003e\u2028"})"},
    {"numbers", "",
     [](const Logger& log) {
       log.Info("test", "i", INT64_MIN, "u", UINT64_MAX, "f", 1.5, "z", 1e-7, "n", NAN);
     },
     R"("test" i=-9223372036854775808 u=18446744073709551615 f=1.5 z=1e-7 )"
     R"(n="<internal error: json: unsupported value: NaN>")"},
    {"time", "", [](const Logger& log) { log.Info("test", "t", kTestTime); },
     R"("test" t="2006-01-02 15:04:05.067890999 +0000 UTC")"},
    {"absent_optional_is_nil", "",
     [](const Logger& log) {
       log.Info("test", "a", std::optional<int>(), "b", std::optional<int>(3));
     },
     R"("test" a=null b=3)"},
    {"ok_status_as_value_is_nil", "",
     [](const Logger& log) { log.Info("GRPC response", "response", "{}", "err", Status()); },
     R"("GRPC response" response="{}" err=null)"},
    {"error_call_without_error", "", [](const Logger& log) { log.Error(nullptr, "test", "a", 1); },
     R"("test" a=1)"},
    {"error_comes_before_names_and_values", "",
     [](const Logger& log) {
       log.WithName("n").WithValues("a", 1).Error("whoops", "test", "b", 2);
     },
     R"("test" err="whoops" logger="n" a=1 b=2)"},
    {"error_of_several_lines", "", [](const Logger& log) { log.Error("a\nb", "test"); },
     "\"test\" err=<\n\ta\n\tb\n >"},
    {"unstructured", "", [](const Logger& log) { log.Infof("a {} b {}: {}", 1, "x\"y", kWhoops); },
     "a 1 b x\"y: whoops"},
    {"unstructured_keeps_line_breaks", "", [](const Logger& log) { log.Warningf("{}", "a\nb\n"); },
     "a\nb"},
    {"unstructured_values", "",
     [](const Logger& log) {
       log.Errorf("{} {} {} {} {} {}", nullptr, true, 1.5, std::chrono::seconds(90),
                  ObjectRef{"ns", "n"}, ObjectRefs{ObjectRef{"", "n"}, std::nullopt});
     },
     "<nil> true 1.5 1m30s ns/n [n <nil>]"},
    {"unstructured_ignores_names_and_values", "",
     [](const Logger& log) { log.WithName("n").WithValues("a", 1).Infof("text"); }, "text"},
    {"argument_may_contain_braces", "", [](const Logger& log) { log.Infof("{} {}", "{}", "b"); },
     "{} b"},
};

INSTANTIATE_TEST_SUITE_P(Common20_3, TextBodyTest, ::testing::ValuesIn(kRows),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(LoggerTest, SiblingsDoNotShareValues) {
  const oracle::Rows rows("common/20.3/12");
  TestLog test;
  const Logger parent = test.log.WithValues("firstKey", 1);
  parent.Info("test");
  parent.WithValues("secondKey", 2).Info("test");
  parent.Info("test");
  parent.WithValues("secondKey", 3).Info("test");
  std::string all;
  for (const std::string& record : test.output->Records()) {
    all += record.substr(record.find("] ") + 2) + "\n";
  }
  EXPECT_EQ(all,
            "\"test\" firstKey=1\n\"test\" firstKey=1 secondKey=2\n\"test\" firstKey=1\n"
            "\"test\" firstKey=1 secondKey=3\n");
}

TEST(TextHeaderTest, HasKlogsColumns) {
  TestLog test;
  const int line = __LINE__ + 1;
  test.log.Info("test");
  EXPECT_EQ(test.Take(), "I0102 15:04:05.067890    4711 text_format_test.cc:" +
                             std::to_string(line) + "] \"test\"");
}

TEST(TextHeaderTest, EachSeverityHasItsLetter) {
  TestLog test;
  test.log.Infof("x");
  EXPECT_EQ(test.Take()[0], 'I');
  test.log.Warningf("x");
  EXPECT_EQ(test.Take()[0], 'W');
  test.log.Errorf("x");
  EXPECT_EQ(test.Take()[0], 'E');
  test.log.Error(kWhoops, "x");
  EXPECT_EQ(test.Take()[0], 'E');
  test.log.Fatalf("x");
  EXPECT_EQ(test.Take()[0], 'F');
}

TEST(TextHeaderTest, LongProcessIdsLoseTheirFirstDigits) {
  ::setenv("TZ", "UTC", 1);
  const StoppedClock clock(kTestTime);
  const auto output = std::make_shared<CollectingOutput>();
  NewLogger(output, {.clock = &clock, .pid = 1234567890}).Info("x");
  EXPECT_EQ(output->Last().substr(0, 30), "I0102 15:04:05.067890 4567890 ");
}

TEST(TextHeaderTest, TimeIsLocal) {
  TestLog test;
  ::setenv("TZ", "XXX-05:30", 1);
  ::tzset();
  test.log.Info("x");
  EXPECT_EQ(test.Take().substr(0, 21), "I0102 20:34:05.067890");
  ::setenv("TZ", "UTC", 1);
  ::tzset();
}

TEST(TextHeaderTest, TimesBeforeTheEpochKeepPositiveMicroseconds) {
  TestLog test(Format::kText, WallTime(std::chrono::nanoseconds(-1)));
  test.log.Info("x");
  EXPECT_EQ(test.Take().substr(0, 21), "I1231 23:59:59.999999");
}

TEST(TextHeaderTest, ExplicitLocationWins) {
  const oracle::Rows rows("common/20.3/6");
  TestLog test;
  const std::source_location here = std::source_location::current();
  test.log.Info({"x", here});
  EXPECT_NE(test.Take().find("text_format_test.cc:" + std::to_string(here.line()) + "]"),
            std::string::npos);
  test.log.Info({"x", std::source_location()});
  EXPECT_NE(test.Take().find(" ???:1] "), std::string::npos);
  // The level of the caller's file counts too, not that of the file that logs.
  const std::source_location elsewhere = CallerLocation();
  test.log.backend()->SetVmodule({{"log_fixture", 3}});
  test.log.V(3, elsewhere).Info({"x", elsewhere});
  EXPECT_NE(test.Take().find(" log_fixture.h:"), std::string::npos);
  EXPECT_FALSE(test.log.V(3).enabled());
}

}  // namespace
}  // namespace csinative::log
