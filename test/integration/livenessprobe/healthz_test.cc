// SPDX-License-Identifier: Apache-2.0
//
// /healthz of livenessprobe from outside, with a driver in all states (registrar 4.3).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <csignal>
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
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kHead[] = "HEAD /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

class HealthzTest : public LivenessprobeFixture {
 protected:
  void Serve(std::vector<std::string> driver_arguments = {}, const char* timeout = "3s") {
    StartDriver(std::move(driver_arguments));
    StartServing({"--http-endpoint=127.0.0.1:0", StrCat("--probe-timeout=", timeout)});
  }
  // Asks and measures.
  std::string Ask() {
    const MonotonicTime start = loop_.Now();
    std::string answer = Get("/healthz");
    took_ = loop_.Now() - start;
    return answer;
  }
  Duration took_{};
};

// H1, 12.2 row 3.
TEST_F(HealthzTest, AnyMethodGetsTheSameAnswer) {
  const oracle::Row row("registrar/12.2/3");
  Serve();
  ExpectHealthyForAnyMethod();
}

// H14.
TEST_F(HealthzTest, OtherPathsAreNotFoundAndUncleanOnesRedirected) {
  Serve();
  for (const char* path : {"/", "/healthz/", "/HEALTHZ", "/metrics/", "/debug/pprof/"}) {
    const std::string answer = Get(path);
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 404 ")) << path;
    EXPECT_THAT(answer, EndsWith("\r\n\r\n404 page not found\n"));
  }
  const std::string answer = Get("//healthz");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 307 Temporary Redirect\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nLocation: /healthz\r\n"));
}

// H2, 12.2 row 1.
TEST_F(HealthzTest, EachCheckIsOneProbe) {
  Serve();
  for (int i = 1; i <= 5; ++i) {
    EXPECT_THAT(Ask(), EndsWith("\r\n\r\nok"));
    EXPECT_EQ(Calls("/Probe"), i) << DriverLog();
  }
  EXPECT_EQ(Calls("/GetPluginInfo"), 1);
  EXPECT_TRUE(Logged("\"Sending probe request to CSI driver\" driver=\"sample.csi-native.io\""));
  EXPECT_TRUE(Logged("\"GRPC call\" method=\"/csi.v1.Identity/Probe\" request=\"{}\""));
}

struct AnswerRow {
  const char* name;
  std::vector<std::string> driver_arguments;
  const char* body;
  const char* code;      // of the sample
  const char* row = "";  // of the oracle
};
void PrintTo(const AnswerRow& row, std::ostream* out) { *out << row.name; }

class UnhealthyDriverTest : public HealthzTest, public ::testing::WithParamInterface<AnswerRow> {};

// H3, H4, H5.
TEST_P(UnhealthyDriverTest, IsA500WithItsTextAndASampleWithItsCode) {
  std::optional<oracle::Row> oracle_row;
  if (*GetParam().row != '\0') oracle_row.emplace(GetParam().row);
  Serve(GetParam().driver_arguments, "500ms");
  const std::string answer = Ask();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 500 "));
  EXPECT_THAT(answer, EndsWith(StrCat("\r\n\r\n", GetParam().body)));
  EXPECT_THAT(answer, HasSubstr("Content-Type: text/plain; charset=utf-8\r\n"));
  EXPECT_THAT(Get("/metrics"),
              HasSubstr(StrCat("csi_sidecar_operations_seconds_count{driver_name=\"sample."
                               "csi-native.io\",grpc_status_code=\"",
                               GetParam().code, "\",method_name=\"/csi.v1.Identity/Probe\"} 1\n")));
  EXPECT_LT(took_, seconds(3));
}

INSTANTIATE_TEST_SUITE_P(
    Rows, UnhealthyDriverTest,
    ::testing::Values(
        AnswerRow{"12_13_33_not_ready",
                  {"--not-ready"},
                  "driver responded but is not ready",
                  "OK",
                  "registrar/12.13/33"},
        AnswerRow{"12_13_34_failed_precondition",
                  {"--fail", "Probe=FailedPrecondition:not healthy"},
                  "rpc error: code = FailedPrecondition desc = not healthy",
                  "FailedPrecondition",
                  "registrar/12.13/34"},
        AnswerRow{"H4_unimplemented",
                  {"--fail", "Probe=Unimplemented:unknown service csi.v1.Identity"},
                  "rpc error: code = Unimplemented desc = unknown service csi.v1.Identity",
                  "Unimplemented"},
        AnswerRow{"H4_code_of_no_name",
                  {"--fail", "Probe=27:odd"},
                  "rpc error: code = Code(27) desc = odd",
                  "Code(27)"},
        AnswerRow{"12_13_35_hangs",
                  {"--hang", "Probe"},
                  "rpc error: code = DeadlineExceeded desc = context deadline exceeded",
                  "DeadlineExceeded",
                  "registrar/12.13/35"}),
    [](const auto& info) { return std::string(info.param.name); });

// H7, 12.2 row 2.
TEST_F(HealthzTest, RemovedSocketIsA500AfterTheTimeoutThoughTheDriverRuns) {
  const oracle::Row row("registrar/12.2/2");
  Serve({}, "400ms");
  EXPECT_THAT(Ask(), StartsWith("HTTP/1.1 200 "));
  fs::remove(driver_socket());
  const std::string answer = Ask();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 500 "));
  EXPECT_THAT(answer, EndsWith("\r\n\r\ncontext deadline exceeded"));
  EXPECT_GE(took_, milliseconds(400));
  EXPECT_TRUE(
      Logged("\"Failed to establish connection to CSI driver\" err=\"context deadline exceeded\""));
  EXPECT_THAT(Get("/metrics"), HasSubstr("Probe\"} 1\n"));
}

// 12.2 row 4.
TEST_F(HealthzTest, KilledDriverIsA500) {
  const oracle::Row row("registrar/12.2/4");
  Serve();
  EXPECT_THAT(Http(kHead), StartsWith("HTTP/1.1 200 "));
  driver_->Signal(SIGKILL);
  ASSERT_TRUE(Until([this] { return driver_->Poll().has_value(); }));
  EXPECT_TRUE(IsSocket(driver_socket()));
  EXPECT_THAT(Http(kHead), StartsWith("HTTP/1.1 500 "));
}

// H7.
TEST_F(HealthzTest, DriverThatAcceptsAndNeverSpeaksIsA500) {
  Serve({}, "400ms");
  StopDriver();
  auto mute = test::ListenMute(driver_socket());
  ASSERT_TRUE(mute.ok());
  EXPECT_THAT(Ask(), EndsWith("\r\n\r\ncontext deadline exceeded"));
}

// H9.
TEST_F(HealthzTest, DriverThatComesBackDuringTheCheckIsA200) {
  Serve();
  StopDriver();
  const UniqueFd client = test::ConnectTo(HttpPort());
  ASSERT_TRUE(client.valid());
  const std::string request = "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  ASSERT_EQ(::write(client.get(), request.data(), request.size()),
            static_cast<ssize_t>(request.size()));
  // The second attempt to connect is a second after the first one.
  ASSERT_TRUE(Until([this] {
    const std::string text = Stderr();
    const size_t first = text.find("\"Connecting\" address=");
    return text.find("\"Connecting\" address=", first + 1) != npos;
  }));
  StartDriver();
  std::string answer(4096, '\0');
  const ssize_t got = ::read(client.get(), answer.data(), answer.size());
  ASSERT_GT(got, 0);
  EXPECT_THAT(answer.substr(0, static_cast<size_t>(got)), StartsWith("HTTP/1.1 200 OK\r\n"));
}

// H10.
TEST_F(HealthzTest, DriverThatDiesDuringTheProbeIsA500AtOnce) {
  Serve({"--hang", "Probe"}, "60s");
  const UniqueFd client = test::ConnectTo(HttpPort());
  const std::string request = "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  ASSERT_EQ(::write(client.get(), request.data(), request.size()),
            static_cast<ssize_t>(request.size()));
  ASSERT_TRUE(Until([this] { return Logged("Probe\" request="); }));
  driver_->Signal(SIGKILL);
  EXPECT_TRUE(Until([this] {
    return Logged(
        "\"Health check failed\" err=\"rpc error: code = Unavailable desc = error "
        "reading from server: EOF\"");
  })) << Stderr();
}

// H11.
TEST_F(HealthzTest, DriverUnderAnotherNameIsFineAndCountsUnderTheFirst) {
  Serve();
  StopDriver();
  StartDriver({"--driver-name=other.csi-native.io"});
  EXPECT_THAT(Ask(), EndsWith("\r\n\r\nok"));
  const std::string metrics = Get("/metrics");
  EXPECT_THAT(metrics, HasSubstr("driver_name=\"sample.csi-native.io\",grpc_status_code=\"OK\","
                                 "method_name=\"/csi.v1.Identity/Probe\"} 1\n"));
  EXPECT_THAT(metrics, Not(HasSubstr("other.csi-native.io")));
}

// H6.
TEST_F(HealthzTest, ClientThatLeavesCancelsTheProbe) {
  Serve({"--hang", "Probe"}, "60s");
  {
    const UniqueFd client = test::ConnectTo(HttpPort());
    const std::string request = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
    ASSERT_EQ(::write(client.get(), request.data(), request.size()),
              static_cast<ssize_t>(request.size()));
    ASSERT_TRUE(Until([this] { return Logged("Probe\" request="); }));
  }
  EXPECT_TRUE(Until([this] {
    return Logged(
        "\"Health check failed\" err=\"rpc error: code = Canceled desc = context "
        "canceled\"");
  })) << Stderr();
  EXPECT_THAT(Get("/metrics"), HasSubstr("grpc_status_code=\"Canceled\""));
}

// H13, 1.1.
TEST_F(HealthzTest, WithoutAnyTimeTheDriverIsNotProbed) {
  for (const char* timeout : {"0", "-1s", "1ns"}) {
    Serve({}, timeout);
    EXPECT_THAT(Ask(), EndsWith("\r\n\r\ncontext deadline exceeded")) << timeout;
    EXPECT_EQ(Calls("/Probe"), 0);
    program_.reset();
    StopDriver();
  }
}

// registrar 4.3: a driver that is slow, not dead.
TEST_F(HealthzTest, SlowDriverIsWaitedForAsLongAsTheTimeoutSays) {
  Serve({"--delay", "Probe=700ms"}, "20s");
  EXPECT_THAT(Ask(), EndsWith("\r\n\r\nok"));
  EXPECT_GE(took_, milliseconds(700));
}

}  // namespace
}  // namespace csinative
