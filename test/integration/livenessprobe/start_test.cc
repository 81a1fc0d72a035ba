// SPDX-License-Identifier: Apache-2.0
//
// How livenessprobe starts, what it says and with which code it exits when its surroundings are
// wrong (registrar 4.1, 4.2, 4.4).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <optional>

#include "lib/base/strings.h"
#include "test/integration/livenessprobe/fixture.h"
#include "test/support/oracle.h"

namespace csinative {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

struct FlagRow {
  const char* name;
  std::vector<std::string> arguments;
  int code;
  const char* says;      // on stderr
  const char* row = "";  // of the oracle
};
void PrintTo(const FlagRow& row, std::ostream* out) { *out << row.name; }

class LivenessprobeFlagTest : public LivenessprobeFixture,
                              public ::testing::WithParamInterface<FlagRow> {};

// None of them looks for the driver, which is absent: the program would wait for it.
TEST_P(LivenessprobeFlagTest, ExitsWithTheCodeAndTheText) {
  std::optional<oracle::Row> oracle_row;
  if (*GetParam().row != '\0') oracle_row.emplace(GetParam().row);
  StartProgram(GetParam().arguments);
  EXPECT_EQ(ExitCode(), GetParam().code);
  EXPECT_TRUE(Logged(GetParam().says)) << Stderr();
  EXPECT_EQ(Stdout(), "");
}

INSTANTIATE_TEST_SUITE_P(
    Rows, LivenessprobeFlagTest,
    ::testing::Values(
        FlagRow{"A1_help", {"--help"}, 0, "--probe-timeout duration"},
        FlagRow{"12_13_23_version",
                {"--version"},
                2,
                "flag provided but not defined: -version\n",
                "registrar/12.13/23"},
        FlagRow{"A4_unknown_flag", {"-bogus"}, 2, "flag provided but not defined: -bogus\nUsage "},
        FlagRow{"A4_missing_value", {"-csi-address"}, 2, "flag needs an argument: -csi-address"},
        FlagRow{"A4_three_dashes", {"---x"}, 2, "bad flag syntax: ---x"},
        FlagRow{"A6_bad_verbosity", {"-v=2147483648"}, 2, "value out of range"},
        FlagRow{"A7_bad_duration", {"--probe-timeout=5"}, 2, "parse error"},
        FlagRow{"A9_bad_log_format",
                {"--logging-format=xml"},
                1,
                R"("LoggingConfiguration is invalid" err="format: Invalid value: \"xml\")"},
        FlagRow{"12_13_24_port_and_endpoint",
                {"--health-port=9899", "--http-endpoint=:1"},
                1,
                "\"Only one of `--health-port` and `--http-endpoint` can be set\"",
                "registrar/12.13/24"},
        FlagRow{"12_13_26_metrics_and_endpoint",
                {"--metrics-address=:8080", "--http-endpoint=:1"},
                1,
                "\"Only one of `--metrics-address` and `--http-endpoint` can be set\"",
                "registrar/12.13/26"},
        FlagRow{"G2_all_three",
                {"--metrics-address=:8080", "--http-endpoint=:1", "--health-port=9899"},
                1,
                "`--health-port` and"},
        FlagRow{"B5_empty_address",
                {"--csi-address="},
                1,
                "\"Failed to establish connection to CSI driver\" err=\"failed to exit idle mode"},
        FlagRow{"B5_address_with_host",
                {"--csi-address=unix://name/x"},
                1,
                "invalid (non-empty) authority: name"}),
    [](const auto& info) { return std::string(info.param.name); });

struct NameRow {
  const char* name;
  std::vector<std::string> driver_arguments;
  const char* error;
};
void PrintTo(const NameRow& row, std::ostream* out) { *out << row.name; }

class LivenessprobeNameTest : public LivenessprobeFixture,
                              public ::testing::WithParamInterface<NameRow> {};

// G8: one call, no retry.
TEST_P(LivenessprobeNameTest, DriverWithoutOneEndsTheProcess) {
  StartDriver(GetParam().driver_arguments);
  StartLivenessprobe({"--http-endpoint=127.0.0.1:0"});
  EXPECT_EQ(ExitCode(), 1);
  EXPECT_TRUE(Logged(StrCat("\"Failed to get CSI driver name\" err=\"", GetParam().error, "\"")))
      << Stderr();
  EXPECT_FALSE(Logged("listening"));
}

INSTANTIATE_TEST_SUITE_P(
    Rows, LivenessprobeNameTest,
    ::testing::Values(NameRow{"empty_name", {"--driver-name="}, "driver name is empty"},
                      NameRow{
                          "unimplemented",
                          {"--fail", "GetPluginInfo=Unimplemented:unknown service csi.v1.Identity"},
                          "rpc error: code = Unimplemented desc = unknown service csi.v1.Identity"},
                      NameRow{"deadline_of_the_driver",
                              {"--fail", "GetPluginInfo=DeadlineExceeded:busy:1"},
                              "rpc error: code = DeadlineExceeded desc = busy"}),
    [](const auto& info) { return std::string(info.param.name); });

class LivenessprobeStartTest : public LivenessprobeFixture {
 protected:
  static bool Refused(int port) { return !test::ConnectTo(port).valid(); }
};

// G8.
TEST_F(LivenessprobeStartTest, DriverThatDiesWhileItIsAskedEndsTheProcess) {
  StartDriver({"--hang", "GetPluginInfo"});
  StartLivenessprobe({"--http-endpoint=127.0.0.1:0"});
  ASSERT_TRUE(Until([this] { return Logged("\"GRPC call\""); }));
  driver_->Signal(SIGKILL);
  EXPECT_EQ(ExitCode(), 1);
  EXPECT_TRUE(
      Logged("\"Failed to get CSI driver name\" err=\"rpc error: code = Unavailable desc = "
             "error reading from server: EOF\""))
      << Stderr();
}

// G5, G6: no port before the driver has answered, so that the kubelet's probes are refused.
TEST_F(LivenessprobeStartTest, DriverIsWaitedForWithTheServerDown) {
  const int port = test::FreePort();
  StartLivenessprobe({StrCat("--http-endpoint=127.0.0.1:", port)});
  ASSERT_TRUE(Until([this] { return Logged("\"Connecting\" address="); }));
  EXPECT_TRUE(Refused(port));
  StartDriver();
  ASSERT_TRUE(Until([&] { return HttpPort() == port; }, seconds(5))) << Stderr();
  EXPECT_THAT(Get("/healthz"), EndsWith("\r\n\r\nok"));
}

// G7: there is no limit, and no word.
TEST_F(LivenessprobeStartTest, DriverThatDoesNotTellItsNameIsWaitedFor) {
  StartDriver({"--delay", "GetPluginInfo=4s"});
  StartLivenessprobe({"--http-endpoint=127.0.0.1:0"});
  ASSERT_TRUE(Until([this] { return Logged("\"GRPC call\""); }));
  EXPECT_FALSE(Until([this] { return HttpPort() != 0 || !Running(); }, seconds(3)));
  ASSERT_TRUE(Until([this] { return HttpPort() != 0; }, seconds(10))) << Stderr();
  EXPECT_THAT(Get("/metrics"), HasSubstr("_bucket{driver_name=\"unknown-driver\",grpc_status_code="
                                         "\"OK\",method_name=\"/csi.v1.Identity/GetPluginInfo\",le="
                                         "\"5\"} 1\n"));
}

// 12.13 row 27: in a network of its own, where the port is free.
TEST_F(LivenessprobeStartTest, WithoutFlagsItListensOnPort9808) {
  StartDriver();
  std::vector<std::string> wrapper = {"/usr/bin/unshare", "--net"};
  if (::geteuid() != 0) wrapper.insert(wrapper.end(), {"--user", "--map-root-user"});
  StartLivenessprobe({}, wrapper);
  ASSERT_TRUE(Until([this] { return HttpPort() != 0; })) << Stderr();
  EXPECT_THAT(Ports(), ElementsAre(9808));
  EXPECT_TRUE(Logged("\"ServeMux listening\" address=\"0.0.0.0:9808\"")) << Stderr();
}

// G4, G10, 12.13 row 27.
TEST_F(LivenessprobeStartTest, HealthPortIsOfAllAddressesAndHasNoMetrics) {
  const oracle::Row row("registrar/12.13/27");
  StartDriver();
  StartServing({"--health-port="});
  EXPECT_THAT(Get("/healthz"), EndsWith("\r\n\r\nok"));
  EXPECT_THAT(Get("/metrics"), StartsWith("HTTP/1.1 404 "));
  char local[48];
  std::snprintf(local, sizeof local, " 00000000000000000000000000000000:%04X ",
                static_cast<unsigned>(HttpPort()));
  EXPECT_THAT(Read("/proc/net/tcp6"), HasSubstr(local));
}

// 12.13 row 25 and 30.
TEST_F(LivenessprobeStartTest, EndpointHasBothAndTheDefaultPortIsNoContradiction) {
  const oracle::Row row("registrar/12.13/25");
  const oracle::Row row2("registrar/12.13/30");
  StartDriver();
  StartServing({"--http-endpoint=127.0.0.1:0", "--health-port=9808"});
  EXPECT_THAT(Get("/healthz"), EndsWith("\r\n\r\nok"));
  EXPECT_THAT(Get("/metrics"), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_TRUE(Logged("\"CSI driver name\" driver=\"sample.csi-native.io\""));
}

// Field report 75: on a host network the port of one pod is not reachable from outside.
TEST_F(LivenessprobeStartTest, EndpointOnTheLoopbackIsThereAlone) {
  StartDriver();
  StartServing();
  char local[24];
  std::snprintf(local, sizeof local, " 0100007F:%04X ", static_cast<unsigned>(HttpPort()));
  EXPECT_THAT(Read("/proc/net/tcp"), HasSubstr(local));
}

// G9, 12.13 row 31; field report 75: two pods of one host network. The address is in the text.
TEST_F(LivenessprobeStartTest, PortInUseIsToldAndExitsWithZero) {
  const oracle::Row row("registrar/12.13/31");
  StartDriver();
  StartServing({"--health-port="});
  const int port = HttpPort();
  auto first = std::move(program_);
  fs::remove(log_path());
  StartLivenessprobe({StrCat("--health-port=", port)});
  EXPECT_EQ(ExitCode(), 0);
  const std::string text = Stderr();
  const size_t listening =
      text.find(StrCat("\"ServeMux listening\" address=\"0.0.0.0:", port, "\""));
  const size_t failed =
      text.find(StrCat("\"Failed to start http server\" err=\"listen tcp 0.0.0.0:", port,
                       ": bind: address already in use\""));
  EXPECT_NE(failed, npos) << text;
  EXPECT_LT(listening, failed) << text;
}

struct ListenRow {
  const char* name;
  std::string argument;
  const char* error;
};
void PrintTo(const ListenRow& row, std::ostream* out) { *out << row.name; }

class LivenessprobeListenTest : public LivenessprobeFixture,
                                public ::testing::WithParamInterface<ListenRow> {};

// G10.
TEST_P(LivenessprobeListenTest, ImpossibleAddressIsToldAndExitsWithZero) {
  StartDriver();
  StartLivenessprobe({GetParam().argument});
  EXPECT_EQ(ExitCode(), 0);
  EXPECT_TRUE(Logged(StrCat("\"Failed to start http server\" err=\"", GetParam().error)))
      << Stderr();
}

INSTANTIATE_TEST_SUITE_P(
    Rows, LivenessprobeListenTest,
    ::testing::Values(ListenRow{"port_too_large", "--health-port=99999", "listen tcp: "},
                      ListenRow{"negative_port", "--health-port=-1", "listen tcp: "},
                      ListenRow{"unknown_service", "--health-port=abc", "listen tcp: lookup "},
                      ListenRow{"no_port", "--http-endpoint=localhost",
                                "listen tcp: address localhost: missing port in address"}),
    [](const auto& info) { return std::string(info.param.name); });

// G11.
TEST_F(LivenessprobeStartTest, MetricsAddressIsAServerOfItsOwn) {
  StartDriver();
  const int metrics = test::FreePort();
  StartLivenessprobe({"--health-port=0", StrCat("--metrics-address=127.0.0.1:", metrics)});
  ASSERT_TRUE(Until([this] { return Ports().size() == 2; })) << Stderr();
  const std::vector<int> ports = Ports();
  const int health = ports[0] == metrics ? ports[1] : ports[0];
  EXPECT_THAT(Get("/healthz", health), EndsWith("\r\n\r\nok"));
  EXPECT_THAT(Get("/metrics", health), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(Get("/metrics", metrics), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(Get("/healthz", metrics), StartsWith("HTTP/1.1 404 "));
  EXPECT_TRUE(
      Logged(StrCat("\"Separate metrics ServeMux listening\" address=\"127.0.0.1:", metrics, "\"")))
      << Stderr();
}

// G12, 12.13 row 32.
TEST_F(LivenessprobeStartTest, MetricsPortInUseExitsWithOne) {
  const oracle::Row row("registrar/12.13/32");
  StartDriver();
  StartServing();
  const int port = HttpPort();
  auto first = std::move(program_);
  fs::remove(log_path());
  StartLivenessprobe({"--health-port=0", StrCat("--metrics-address=127.0.0.1:", port)});
  EXPECT_EQ(ExitCode(), 1);
  EXPECT_TRUE(Logged(StrCat(
      "\"Failed to start prometheus metrics endpoint on specified address and path\" err=\"listen "
      "tcp 127.0.0.1:",
      port, ": bind: address already in use\" addr=\"127.0.0.1:", port, "\" path=\"/metrics\"")))
      << Stderr();
}

struct PathRow {
  const char* name;
  std::vector<std::string> arguments;
  const char* path = nullptr;  // serves metrics there; null: panics
  const char* row = "";        // of the oracle
};
void PrintTo(const PathRow& row, std::ostream* out) { *out << row.name; }

class LivenessprobePathTest : public LivenessprobeFixture,
                              public ::testing::WithParamInterface<PathRow> {};

// G13 to G15.
TEST_P(LivenessprobePathTest, ServesMetricsOrPanicsAfterTheDriverAnswered) {
  std::optional<oracle::Row> oracle_row;
  if (*GetParam().row != '\0') oracle_row.emplace(GetParam().row);
  StartDriver();
  StartLivenessprobe(GetParam().arguments);
  if (GetParam().path == nullptr) {
    EXPECT_EQ(ExitCode(), 2);
    EXPECT_TRUE(Logged("\"CSI driver name\"")) << Stderr();
    EXPECT_TRUE(Logged("\npanic: ")) << Stderr();
    return;
  }
  ASSERT_TRUE(Until([this] { return HttpPort() != 0; })) << Stderr();
  EXPECT_THAT(Get(GetParam().path), StartsWith("HTTP/1.1 200 OK\r\n"));
}

INSTANTIATE_TEST_SUITE_P(
    Rows, LivenessprobePathTest,
    ::testing::Values(
        PathRow{"G13_healthz", {"--http-endpoint=127.0.0.1:0", "--metrics-path=/healthz"}},
        PathRow{"12_13_29_empty",
                {"--http-endpoint=127.0.0.1:0", "--metrics-path="},
                nullptr,
                "registrar/12.13/29"},
        PathRow{"G13_no_slash", {"--http-endpoint=127.0.0.1:0", "--metrics-path=metrics"}},
        PathRow{"G13_unclosed", {"--http-endpoint=127.0.0.1:0", "--metrics-path=/{"}},
        PathRow{"G14_other", {"--http-endpoint=127.0.0.1:0", "--metrics-path=/m"}, "/m"},
        PathRow{"G14_method", {"--http-endpoint=127.0.0.1:0", "--metrics-path=GET /m"}, "/m"},
        PathRow{"G14_subtree", {"--http-endpoint=127.0.0.1:0", "--metrics-path=/m/"}, "/m/x"},
        PathRow{"12_13_28_not_looked_at_without_exposure",
                {"--health-port=0", "--metrics-path="},
                "/healthz",
                "registrar/12.13/28"}),
    [](const auto& info) { return std::string(info.param.name); });

// G15.
TEST_F(LivenessprobeStartTest, ServerForMetricsAloneMayHaveThemAtHealthz) {
  StartDriver();
  const int metrics = test::FreePort();
  StartLivenessprobe({"--health-port=0", StrCat("--metrics-address=127.0.0.1:", metrics),
                      "--metrics-path=/healthz"});
  ASSERT_TRUE(Until([this] { return Ports().size() == 2; })) << Stderr();
  EXPECT_THAT(Get("/healthz", metrics), HasSubstr("process_start_time_seconds"));
}

// registrar 3.8.
TEST_F(LivenessprobeStartTest, QuietLogHasOnlyWhatUpstreamWrites) {
  StartDriver();
  StartServing({"--http-endpoint=127.0.0.1:0", "-v=0"});
  EXPECT_THAT(Get("/healthz"), EndsWith("\r\n\r\nok"));
  const std::string text = Stderr();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3) << text;
  EXPECT_TRUE(Logged("\"Calling CSI driver to discover driver name\""));
}

// A18.
TEST_F(LivenessprobeStartTest, JsonLogIsOneObjectALine) {
  StartDriver();
  StartServing({"--http-endpoint=127.0.0.1:0", "--logging-format=json"});
  EXPECT_TRUE(Logged(R"("msg":"CSI driver name","v":0,"driver":"sample.csi-native.io")"))
      << Stderr();
}

}  // namespace
}  // namespace csinative
