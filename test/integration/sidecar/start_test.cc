// SPDX-License-Identifier: Apache-2.0
//
// How the programs begin, and with which code and words they end when they cannot (common 2, 3.6,
// 4, 7.2, 10, 17.2). Not built yet and so not here: csi-resizer, csi-snapshotter and
// snapshot-controller.
#include <gmock/gmock.h>

#include <algorithm>
#include <csignal>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/strings.h"
#include "lib/cli/version.h"
#include "test/integration/sidecar/fixture.h"
#include "test/support/oracle_rows.h"

namespace csinative {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ContainsRegex;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

struct FlagRow {
  const char* name;
  const char* rows;  // of the oracle
  const char* program;
  std::vector<std::string> arguments;
  int code;
  const char* says;  // a regular expression of a line on stderr
};
void PrintTo(const FlagRow& row, std::ostream* out) { *out << row.name; }

class SidecarFlagTest : public SidecarsFixture, public ::testing::WithParamInterface<FlagRow> {};

TEST_P(SidecarFlagTest, EndsTheProgramWithTheCodeAndTheText) {
  const oracle::Rows rows(GetParam().rows);
  Program& program = Start(GetParam().program, GetParam().arguments);
  EXPECT_EQ(ExitCode(program), GetParam().code);
  EXPECT_THAT(program.Stderr(), ContainsRegex(GetParam().says));
  EXPECT_EQ(program.Stdout(), "");
}

INSTANTIATE_TEST_SUITE_P(
    Rows, SidecarFlagTest,
    ::testing::Values(
        FlagRow{"C19_no_version",
                "common/20.1/20",
                "livenessprobe",
                {"--version"},
                2,
                "^flag provided but not defined: -version\n"},
        FlagRow{"C21_attacher",
                "common/20.1/22",
                "csi-attacher",
                {"--version", "--feature-gates=Nope=true"},
                1,
                "^E.*\"failed to store flag gates\" err=\"unrecognized feature gate: Nope\" "
                "featureGates=\"Nope=true\"\n$"},
        FlagRow{"C23_provisioner",
                "common/20.1/24",
                "csi-provisioner",
                {"--feature-gates=Nope=true"},
                255,
                "^F[^\n]*\\] unrecognized feature gate: Nope\n$"},
        FlagRow{"C24b_attacher",
                "common/20.1/26",
                "csi-attacher",
                {"--log-text-info-buffer-size=1k"},
                1,
                "LoggingConfiguration is invalid\" err=\"options.text.infoBufferSize: Forbidden"},
        FlagRow{"C24b_registrar",
                "common/20.1/26",
                "csi-node-driver-registrar",
                {"--log-text-info-buffer-size=1k"},
                1,
                "LoggingConfiguration is invalid\" err=\"options.text.infoBufferSize: Forbidden"},
        FlagRow{"C26_attacher",
                "common/20.1/28",
                "csi-attacher",
                {"--metrics-address=:1", "--http-endpoint=:2"},
                1,
                "\nE[^\n]*`--metrics-address` and `--http-endpoint`"},
        FlagRow{"C26_provisioner",
                "common/20.1/28",
                "csi-provisioner",
                {"--metrics-address=:1", "--http-endpoint=:2"},
                1,
                "\nE[^\n]*`--metrics-address` and `--http-endpoint`"},
        FlagRow{"X2_attacher",
                "common/20.10/13",
                "csi-attacher",
                {"--automaxprocs=error"},
                2,
                "^invalid boolean value \"error\" for -automaxprocs: "},
        FlagRow{"X2_provisioner",
                "common/20.10/13",
                "csi-provisioner",
                {"--automaxprocs=error"},
                2,
                "\ninvalid argument \"error\" for \"--automaxprocs\" flag: "}),
    [](const auto& info) { return std::string(info.param.name); });

class SidecarStartTest : public SidecarsFixture {};

TEST_F(SidecarStartTest, VersionIsTheProgramAndItsVersionOnStdout) {
  const oracle::Rows rows("common/20.1/21");
  for (const char* name : {"csi-attacher", "csi-provisioner", "csi-node-driver-registrar"}) {
    Program& program = Start(name, {"--version"});
    EXPECT_EQ(ExitCode(program), 0);
    EXPECT_EQ(program.Stdout(), StrCat(Binaries().at(name), " ", cli::BuildVersion(), "\n"));
    EXPECT_EQ(program.Stderr(), "");
  }
}

TEST_F(SidecarStartTest, LeaseTimesThatMakeNoSensePanic) {
  const oracle::Row row("common/20.11/3");
  StartApi();
  StartDriver();
  for (const char* name : {"csi-attacher", "csi-provisioner"}) {
    Program& program = Start(
        name, ControllerArguments({"--leader-election", "--leader-election-renew-deadline=20s"}));
    EXPECT_EQ(ExitCode(program), 2);
    EXPECT_TRUE(program.Logged("\npanic: leaseDuration must be greater than renewDeadline\n"));
  }
}

TEST_F(SidecarStartTest, PortInUseEndsEachProgramWithItsOwnCode) {
  const oracle::Row row("common/20.11/7");
  StartApi();
  StartDriver();
  const std::string busy = StrCat("--http-endpoint=127.0.0.1:", api_->port());
  const std::string driver = "--csi-address=" + driver_socket();
  struct Entry {
    const char* program;
    std::vector<std::string> arguments;
    int code;
  };
  const Entry entries[] = {
      {"csi-attacher", ControllerArguments({busy}), 1},
      {"csi-provisioner", ControllerArguments({busy}), 255},
      {"csi-node-driver-registrar",
       {driver, "--kubelet-registration-path=/x", "--plugin-registration-path=" + dir_.path(),
        busy},
       1},
      {"livenessprobe", {driver, busy}, 0},
  };
  for (const Entry& entry : entries) {
    Program& program = Start(entry.program, entry.arguments);
    EXPECT_EQ(ExitCode(program), entry.code) << entry.program;
    EXPECT_TRUE(program.Logged("address already in use")) << entry.program;
  }
}

// Half a minute: the limit is not for tests to choose.
TEST_F(SidecarStartTest, WithoutADriverTheAttacherGivesUpAndTheProbeDoesNot) {
  const oracle::Rows rows("common/20.11/1 common/20.11/2");
  StartApi();
  const MonotonicTime start = loop_.Now();
  Program& attacher = Start("csi-attacher", ControllerArguments());
  Program& probe = Start("livenessprobe", {"--csi-address=" + driver_socket(),
                                           "--http-endpoint=127.0.0.1:0", "--v=5"});
  EXPECT_EQ(ExitCode(attacher, seconds(45)), 1);
  EXPECT_GE(loop_.Now() - start, seconds(29));
  EXPECT_TRUE(attacher.Logged("err=\"context deadline exceeded\""));
  const int warnings = attacher.Lines("connect: no such file or directory");
  EXPECT_GE(warnings, 20);
  EXPECT_LE(warnings, 36);
  const std::regex failed_dial("\nW[^\n]*: connect: no such file or directory");
  EXPECT_TRUE(std::regex_search(attacher.Stderr().substr(0, 4000), failed_dial));
  EXPECT_GE(attacher.Lines("\"Still connecting\" address="), 2);
  EXPECT_LE(attacher.Lines("\"Still connecting\" address="), 3);

  ASSERT_TRUE(
      Until([&] { return probe.Lines("\"Still connecting\" address=") >= 4; }, seconds(25)));
  EXPECT_GE(loop_.Now() - start, seconds(39));
  EXPECT_TRUE(probe.Running());
  EXPECT_EQ(probe.Port(), 0);
}

TEST_F(SidecarStartTest, DriverThatComesAfterTenSecondsIsFoundAtOnce) {
  const oracle::Row row("common/20.6/2");
  StartApi();
  Program& attacher = Start("csi-attacher", ControllerArguments());
  ASSERT_TRUE(Until([&] { return attacher.Logged("\"Connecting\""); }));
  EXPECT_FALSE(Until([&] { return !attacher.Running(); }, seconds(10)));
  const MonotonicTime start = loop_.Now();
  StartDriver();
  ASSERT_TRUE(Until([&] { return attacher.Logged("Probing CSI driver for readiness"); }));
  // One second and a fifth at most, and something for a busy machine. A wait that grew with each
  // attempt would be six by now.
  EXPECT_LE(loop_.Now() - start, seconds(4));
}

TEST_F(SidecarStartTest, MetricsAddressServesMetricsAndNoHealthOfTheElection) {
  const oracle::Rows rows("common/20.11/8 common/20.8/13");
  StartApi();
  StartDriver();
  for (const char* name : {"csi-attacher", "csi-provisioner"}) {
    Program& program =
        Start(name, ControllerArguments({"--metrics-address=127.0.0.1:0", "--leader-election"}));
    ASSERT_TRUE(Until([&] { return program.Logged("\"Successfully acquired lease\""); }));
    const std::string metrics = Get("/metrics", program.Port());
    EXPECT_THAT(metrics, StartsWith("HTTP/1.1 200 OK\r\n"));
    EXPECT_THAT(metrics, HasSubstr("\nprocess_start_time_seconds "));
    EXPECT_THAT(metrics,
                HasSubstr("\ncsi_sidecar_operations_seconds_count{driver_name=\"unknown-driver\","
                          "grpc_status_code=\"OK\",method_name=\"/csi.v1.Identity/GetPluginInfo\"} "
                          "1\n"));
    EXPECT_THAT(metrics, HasSubstr("\nleader_election_master_status{name=\"\"} 1\n"));
    EXPECT_THAT(Get("/healthz/leader-election", program.Port()), StartsWith("HTTP/1.1 404 "));
    programs_.pop_back();
  }
}

// Nothing is known of the Lease, and nothing of the objects; no reason to end.
TEST_F(SidecarStartTest, WithoutPermissionsControllersGoOn) {
  const oracle::Row row("common/20.11/13");
  StartApi();
  StartDriver({"--without", "LIST_VOLUMES_PUBLISHED_NODES"});
  api_->api().set_authorizer([](const apiserver::RequestInfo&) { return false; });
  std::vector<Program*> started;
  for (const char* name : {"csi-attacher", "csi-provisioner"}) {
    started.push_back(&Start(name, ControllerArguments({"--v=0"})));
    started.push_back(&Start(name, ControllerArguments({"--v=0", "--leader-election"})));
  }
  for (Program* program : started) {
    EXPECT_TRUE(Until([&] { return std::regex_search(program->Stderr(), std::regex("\nE")); }))
        << program->Stderr();
  }
  EXPECT_FALSE(Until(
      [&] {
        return std::any_of(started.begin(), started.end(),
                           [](Program* program) { return !program->Running(); });
      },
      seconds(3)));
  for (Program* program : started) {
    EXPECT_TRUE(program->Logged("forbidden")) << program->Stderr();
    EXPECT_FALSE(std::regex_search(program->Stderr(), std::regex("\n[WF]"))) << program->Stderr();
  }
}

TEST_F(SidecarStartTest, EitherTransportReachesTheApi) {
  StartApi();
  StartDriver();
  for (const char* transport : {"cpprestsdk", "beast"}) {
    for (const char* name : {"csi-attacher", "csi-provisioner"}) {
      Program& program =
          Start(name, ControllerArguments(), {.env = {{"CSI_NATIVE_API_TRANSPORT", transport}}});
      EXPECT_TRUE(Until([&] { return program.Logged("Caches populated"); })) << program.Stderr();
      program.child().Signal(SIGTERM);
      EXPECT_NE(ExitCode(program), -1);
    }
  }
}

TEST_F(SidecarStartTest, TransportThatIsNotThereEndsTheControllers) {
  StartApi();
  StartDriver();
  const std::pair<const char*, int> programs[] = {{"csi-attacher", 1}, {"csi-provisioner", 255}};
  for (const auto& [name, code] : programs) {
    Program& program =
        Start(name, ControllerArguments(), {.env = {{"CSI_NATIVE_API_TRANSPORT", "curl"}}});
    EXPECT_EQ(ExitCode(program), code);
    EXPECT_TRUE(program.Logged("CSI_NATIVE_API_TRANSPORT must be cpprestsdk or beast"))
        << program.Stderr();
  }
}

}  // namespace
}  // namespace csinative
