// SPDX-License-Identifier: Apache-2.0
//
// Rows of common 20.4.
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

struct JsonRow {
  const char* name;
  const char* rows;  // of the oracle
  void (*call)(const Logger&);
  const char* remainder;  // without ts and caller
};

void PrintTo(const JsonRow& row, std::ostream* out) { *out << row.name; }

class JsonRecordTest : public ::testing::TestWithParam<JsonRow> {};

TEST_P(JsonRecordTest, Matches) {
  const oracle::Rows rows(GetParam().rows);
  TestLog test(Format::kJson);
  test.log.backend()->SetVerbosity(5);
  GetParam().call(test.log);
  EXPECT_EQ(test.Remainder(), GetParam().remainder);
}

constexpr JsonRow kRows[] = {

    {"row_1_pairs", "common/20.4/1",
     [](const Logger& log) { log.Info("test", "ns", "default", "podnum", 2); },
     R"("msg":"test","v":0,"ns":"default","podnum":2})"},
    {"row_2_durations", "common/20.4/2",
     [](const Logger& log) {
       log.Info("test", "duration", std::chrono::seconds(5), "time", std::chrono::microseconds(1));
     },
     R"("msg":"test","v":0,"duration":"5s","time":"1µs"})"},
    {"row_3_names", "common/20.4/3",
     [](const Logger& log) { log.WithName("hello").WithName("world").Info("test"); },
     R"("logger":"hello.world","msg":"test","v":0})"},
    {"row_4_duplicates_stay", "common/20.4/4",
     [](const Logger& log) { log.Info("test", "akey", "avalue", "akey", "anothervalue"); },
     R"("msg":"test","v":0,"akey":"avalue","akey":"anothervalue"})"},
    {"row_5_values_come_before_v", "common/20.4/5",
     [](const Logger& log) { log.WithValues("akey", "avalue").Info("test", "akey", "avalue2"); },
     R"("msg":"test","akey":"avalue","v":0,"akey":"avalue2"})"},
    {"row_6_reference", "common/20.4/6",
     [](const Logger& log) { log.Info("test", "obj", ObjectRef{"kube-system", "kube-proxy"}); },
     R"("msg":"test","v":0,"obj":{"name":"kube-proxy","namespace":"kube-system"}})"},
    {"row_6_reference_without_namespace", "common/20.4/6",
     [](const Logger& log) { log.Info("test", "obj", ObjectRef{"", "kube-proxy"}); },
     R"("msg":"test","v":0,"obj":{"name":"kube-proxy"}})"},
    {"row_7_level", "common/20.4/7", [](const Logger& log) { log.V(5).Info("test"); },
     R"("msg":"test","v":5})"},
    {"row_8_error_is_last_and_has_no_v", "common/20.4/8",
     [](const Logger& log) {
       log.Error("invalid namespace:default", "wrong namespace", "ns", "default");
     },
     R"("msg":"wrong namespace","ns":"default","err":"invalid namespace:default"})"},
    {"row_9_time", "common/20.4/9",
     [](const Logger& log) { log.Info("test", "t", WallTime(std::chrono::nanoseconds(123))); },
     R"("msg":"test","v":0,"t":0.000123})"},
    {"row_10_no_html_escapes", "common/20.4/10",
     [](const Logger& log) { log.Info("test", "akey", "<&>"); },
     R"("msg":"test","v":0,"akey":"<&>"})"},
    {"row_11_unstructured", "common/20.4/11", [](const Logger& log) { log.Infof("test {}", 1); },
     R"("msg":"test 1","v":0})"},
    {"row_11_unstructured_level", "common/20.4/11",
     [](const Logger& log) { log.V(1).Infof("test {}\n", 1); }, R"("msg":"test 1","v":1})"},
    {"row_12_warning", "common/20.4/12", [](const Logger& log) { log.Warningf("test {}", 1); },
     R"("msg":"test 1","v":0})"},
    {"fatal", "", [](const Logger& log) { log.Fatalf("test {}", 1); }, R"("msg":"test 1","v":0})"},
    {"row_13_unstructured_error", "common/20.4/13",
     [](const Logger& log) { log.Errorf("test {}", 1); }, R"("msg":"test 1"})"},
    {"row_14_references", "common/20.4/14",
     [](const Logger& log) {
       log.Info("test", "pods", ObjectRefs{ObjectRef{"kube-system", "pod-1"}, std::nullopt}, "none",
                nullptr);
     },
     R"("msg":"test","v":0,"pods":[{"name":"pod-1","namespace":"kube-system"},null],)"
     R"("none":null})"},
    {"value_that_fails", "",
     [](const Logger& log) {
       log.Info("test", "stringer", []() -> std::string { throw std::runtime_error("fake"); });
     },
     R"("msg":"test","v":0,"stringerError":"PANIC=fake"})"},
    {"row_16_value_that_cannot_be_encoded", "common/20.4/16",
     [](const Logger& log) {
       log.Info("test", "list", Result<std::string>(InternalError("cycle")));
     },
     R"("msg":"test","v":0,"listError":"cycle"})"},
    {"escapes", "", [](const Logger& log) { log.Info("a\"b\\", "k\n", "\r\t\x01\xff\x7f\u2028"); },
     "\"msg\":\"a\\\"b\\\\\",\"v\":0,\"k\\n\":\"\\r\\t\\u0001\\ufffd\x7f\u2028\"}"},
    {"numbers", "",
     [](const Logger& log) {
       log.Info("test", "i", INT64_MIN, "u", UINT64_MAX, "f", 1e21, "n", NAN, "b", false);
     },
     R"("msg":"test","v":0,"i":-9223372036854775808,"u":18446744073709551615,)"
     R"("f":1000000000000000000000,"n":"NaN","b":false})"},
    {"json_stays_as_it_is", "",
     [](const Logger& log) { log.Info("test", "s", RawJson{R"({"k":"<a>"})"}); },
     R"("msg":"test","v":0,"s":{"k":"<a>"}})"},
    {"bytes_are_base64", "", [](const Logger& log) { log.Info("test", "b", Bytes{"foob"}); },
     R"("msg":"test","v":0,"b":"Zm9vYg=="})"},
    {"nil_error_pair", "", [](const Logger& log) { log.Info("test", "err", Status()); },
     R"("msg":"test","v":0,"err":null})"},
    {"error_call_without_error", "", [](const Logger& log) { log.Error(Status(), "test"); },
     R"("msg":"test"})"},
    {"error_with_causes", "",
     [](const Logger& log) { log.Error(ErrorText{"[a, b]", {"a", "b"}}, "test"); },
     R"("msg":"test","err":"[a, b]","errCauses":[{"error":"a"},{"error":"b"}]})"},
};

INSTANTIATE_TEST_SUITE_P(Common20_4, JsonRecordTest, ::testing::ValuesIn(kRows),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(JsonRecordTest, TimeIsInMillisecondsAndCallerHasOneDirectory) {
  TestLog test(Format::kJson, WallTime(std::chrono::nanoseconds(1717171717171123800)));
  const int line = __LINE__ + 1;
  test.log.Info("test");
  EXPECT_EQ(test.Take(), R"({"ts":1717171717171.1238,"caller":"log/json_format_test.cc:)" +
                             std::to_string(line) + R"(","msg":"test","v":0})");
}

TEST(JsonRecordTest, RecordsUpToTheVerbosityAreWritten) {
  const oracle::Rows rows("common/20.4/7 common/20.4/17");
  TestLog test(Format::kJson);
  size_t expected = 0;
  for (int verbosity = 0; verbosity <= 10; ++verbosity) {
    test.log.backend()->SetVerbosity(verbosity);
    for (int level = 0; level <= 10; ++level) test.log.V(level).Info("test");
    expected += static_cast<size_t>(verbosity) + 1;
    EXPECT_EQ(test.output->Records().size(), expected);
  }
  EXPECT_EQ(expected, 66u);
}

}  // namespace
}  // namespace csinative::log
