// SPDX-License-Identifier: Apache-2.0
//
// What csi-node-driver-registrar says, and with which code it exits, when its surroundings are
// wrong (registrar 1.1, 3.2, 3.3, 3.7).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/strings.h"
#include "test/integration/registrar/fixture.h"
#include "test/support/oracle.h"

namespace csinative {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;

struct FlagRow {
  const char* name;
  std::vector<std::string> arguments;
  int code;
  const char* says;                 // on stderr
  const char* never_says = "\x01";  // nor this
  const char* row = "";             // of the oracle
};
void PrintTo(const FlagRow& row, std::ostream* out) { *out << row.name; }

class WrongFlagTest : public RegistrarFixture, public ::testing::WithParamInterface<FlagRow> {};

TEST_P(WrongFlagTest, ExitsWithTheCodeAndTheText) {
  std::optional<oracle::Row> oracle_row;
  if (*GetParam().row != '\0') oracle_row.emplace(GetParam().row);
  StartProgram(GetParam().arguments);
  EXPECT_EQ(ExitCode(), GetParam().code);
  EXPECT_TRUE(Logged(GetParam().says)) << Stderr();
  EXPECT_FALSE(Logged(GetParam().never_says)) << Stderr();
  EXPECT_EQ(Stdout(), "");
  EXPECT_TRUE(fs::is_empty(folder()));
}

INSTANTIATE_TEST_SUITE_P(
    Rows, WrongFlagTest,
    ::testing::Values(
        FlagRow{
            "A4_unknown_flag", {"-bogus"}, 2, "flag provided but not defined: -bogus\nUsage of "},
        FlagRow{"A4_missing_value", {"-csi-address"}, 2, "flag needs an argument: -csi-address"},
        FlagRow{"A4_three_dashes", {"---x"}, 2, "bad flag syntax: ---x"},
        FlagRow{"A4_no_name", {"--=x"}, 2, "bad flag syntax: --=x"},
        FlagRow{"A6_bad_verbosity", {"-v=-1"}, 2, "invalid value \"-1\" for flag -v"},
        FlagRow{"A7_bad_duration", {"--timeout=5"}, 2, "parse error"},
        FlagRow{"A3_bad_boolean",
                {"-version=yes"},
                2,
                "invalid boolean value \"yes\" for -version: parse error"},
        FlagRow{"klog_flag", {"--logtostderr"}, 2, "flag provided but not defined"},
        FlagRow{"A1_help", {"-help"}, 0, "--kubelet-registration-path string"},
        FlagRow{"A9_bad_log_format",
                {"--logging-format=xml"},
                1,
                R"("LoggingConfiguration is invalid" err="format: Invalid value: \"xml\")"},
        FlagRow{"12_13_3_bad_log_format_beats_version",
                {"--version", "--logging-format=xml"},
                1,
                "Unsupported log format",
                "\x01",
                "registrar/12.13/3"},
        FlagRow{"A13_all_logging_errors",
                {"--log-flush-frequency=0s", "--logging-format=xml", "--log-text-split-stream"},
                1,
                "err=\"[flushFrequency: "},
        FlagRow{"B1_no_registration_path",
                {},
                1,
                "\"kubelet-registration-path is a required parameter\"",
                "\"Version\"",
                "registrar/12.13/1"},
        FlagRow{"A5_flags_end_at_a_dash", {"-", "-bogus"}, 1, "is a required parameter"},
        FlagRow{"B2_probe_without_path",
                {"--mode=kubelet-registration-probe"},
                1,
                "is a required parameter"},
        FlagRow{"B2_probe_with_bad_log_format",
                {"--mode=kubelet-registration-probe", "--kubelet-registration-path=/x",
                 "--logging-format=xml"},
                1,
                "Unsupported log format"},
        FlagRow{"B4_both_listeners",
                {"--kubelet-registration-path=/x", "--health-port=9809", "--http-endpoint=:9809"},
                1,
                "\"Only one of `--health-port` and `--http-endpoint` can be set\"",
                "Attempting",
                "registrar/12.13/9"},
        FlagRow{"B5_empty_address",
                {"--kubelet-registration-path=/x", "--csi-address="},
                1,
                "\"Error connecting to CSI driver\" err=\"failed to exit idle mode: failed to "
                "start resolver: passthrough: received empty target in Build()\""},
        FlagRow{"B5_address_with_host",
                {"--kubelet-registration-path=/x", "--csi-address=unix://name/x"},
                1,
                "invalid (non-empty) authority: name"}),
    [](const auto& info) { return std::string(info.param.name); });

class WrongInputTest : public RegistrarFixture {};

// A2, 12.13 row 2.
TEST_F(WrongInputTest, VersionIsTheOnlyThingOnStdout) {
  const oracle::Row row("registrar/12.13/2");
  StartProgram({"--version", "x", "-bogus"});
  EXPECT_EQ(ExitCode(), 0);
  EXPECT_TRUE(Stdout().starts_with(REGISTRAR_BINARY " v")) << Stdout();
  EXPECT_TRUE(Stdout().ends_with("\n"));
  EXPECT_EQ(Stderr(), "");
}

// B2, B21, 12.13 row 4, and what broke in the field: no file is written, no socket opened.
TEST_F(WrongInputTest, ProbeModeSucceedsSilentlyWhateverTheSurroundings) {
  const oracle::Row row("registrar/12.13/4");
  const std::string kubelet_folder = dir_.path() + "/plugins";
  fs::create_directory(kubelet_folder);
  std::ofstream(kubelet_folder + "/registration") << "left over";
  StartProgram({"--mode=kubelet-registration-probe", "-v=5",
                "--kubelet-registration-path=" + kubelet_folder + "/csi.sock",
                "--plugin-registration-path=" + folder(), "--health-port=1", "--http-endpoint=:1"});
  EXPECT_EQ(ExitCode(seconds(5)), 0);
  EXPECT_EQ(Stderr(), "");
  EXPECT_EQ(Stdout(), "");
  EXPECT_EQ(Read(kubelet_folder + "/registration"), "left over");
  EXPECT_TRUE(fs::is_empty(folder()));
  StartProgram({"--mode=kubelet-registration-probe", "--kubelet-registration-path=/x"});
  EXPECT_EQ(ExitCode(seconds(5)), 0);
  EXPECT_EQ(Stderr(), "");
  StartProgram({"--mode=kubelet-registration-probe"});
  EXPECT_EQ(ExitCode(seconds(5)), 1);
}

// The same where nothing can be written at all.
TEST_F(WrongInputTest, ProbeModeSucceedsWithAReadOnlyRoot) {
  std::vector<std::string> wrapper = {"/usr/bin/unshare", "--mount"};
  if (::geteuid() != 0) wrapper.insert(wrapper.end(), {"--user", "--map-root-user"});
  // Proves that it is so: a file that could be made would end it with another code.
  wrapper.insert(wrapper.end(),
                 {"/bin/sh", "-c",
                  "mount -o remount,bind,ro / && cd / && ! touch /written 2>/dev/null "
                  "|| exit 77; exec \"$0\" \"$@\""});
  StartProgram(
      {"--mode=kubelet-registration-probe", "--kubelet-registration-path=/nowhere/csi.sock",
       "--plugin-registration-path=/nowhere"},
      wrapper);
  EXPECT_EQ(ExitCode(seconds(5)), 0);
  EXPECT_EQ(Stderr(), "");
}

// B13, 12.13 row 7.
TEST_F(WrongInputTest, HangingDriverEndsTheProcessAfterTheTimeout) {
  const oracle::Row row("registrar/12.13/7");
  StartDriver({"--delay", "GetPluginInfo=2s"});
  const MonotonicTime start = loop_.Now();
  StartProgram(UsualArguments());
  EXPECT_EQ(ExitCode(seconds(10)), 1);
  EXPECT_GE(loop_.Now() - start, seconds(1));
  EXPECT_TRUE(
      Logged("\"Error retreiving CSI driver name\" err=\"rpc error: code = "
             "DeadlineExceeded desc = context deadline exceeded\""))
      << Stderr();
  EXPECT_FALSE(Exists(socket()));
}

TEST_F(WrongInputTest, SlowDriverIsWaitedForAsLongAsTheTimeoutSays) {
  StartDriver({"--delay", "GetPluginInfo=1500ms"});
  StartProgram(UsualArguments({"--timeout=15s"}));
  WaitForSocket();
  EXPECT_TRUE(Running());
}

// B14.
TEST_F(WrongInputTest, WithoutAnyTimeTheDriverIsNotAsked) {
  for (const char* timeout : {"--timeout=0", "--timeout=-1s"}) {
    StartDriver();
    StartProgram(UsualArguments({timeout}));
    EXPECT_EQ(ExitCode(seconds(5)), 1);
    EXPECT_TRUE(Logged("code = DeadlineExceeded desc = context deadline exceeded")) << Stderr();
    EXPECT_EQ(DriverLog().find("GetPluginInfo"), npos) << DriverLog();
    StopDriver();
  }
}

struct AnswerRow {
  const char* name;
  std::vector<std::string> driver_arguments;
  std::string error;
};
void PrintTo(const AnswerRow& row, std::ostream* out) { *out << row.name; }

class WrongAnswerTest : public RegistrarFixture, public ::testing::WithParamInterface<AnswerRow> {};

// B15: one call, no retry.
TEST_P(WrongAnswerTest, EndsTheProcess) {
  StartDriver(GetParam().driver_arguments);
  StartProgram(UsualArguments());
  EXPECT_EQ(ExitCode(), 1);
  EXPECT_TRUE(Logged(StrCat("\"Error retreiving CSI driver name\" err=\"", GetParam().error, "\"")))
      << Stderr();
  EXPECT_TRUE(fs::is_empty(folder()));
}

INSTANTIATE_TEST_SUITE_P(
    Rows, WrongAnswerTest,
    ::testing::Values(
        AnswerRow{"unimplemented",
                  {"--fail", "GetPluginInfo=Unimplemented:unknown service csi.v1.Identity"},
                  "rpc error: code = Unimplemented desc = unknown service csi.v1.Identity"},
        AnswerRow{"failed_once",
                  {"--fail", "GetPluginInfo=FailedPrecondition:not yet:1"},
                  "rpc error: code = FailedPrecondition desc = not yet"},
        AnswerRow{"unavailable",
                  {"--fail", "GetPluginInfo=Unavailable:later:1"},
                  "rpc error: code = Unavailable desc = later"},
        AnswerRow{"empty_name", {"--driver-name="}, "driver name is empty"}),
    [](const auto& info) { return std::string(info.param.name); });

// C11: the name is not checked, it only leads nowhere.
TEST_F(WrongInputTest, NameWithASlashNeedsThatFolder) {
  StartDriver({"--driver-name=sub/n"});
  StartProgram(UsualArguments());
  EXPECT_EQ(ExitCode(), 1);
  EXPECT_TRUE(Logged("bind: no such file or directory")) << Stderr();
}

// B7 to B10. All at once, because each waits for half a minute.
TEST_F(WrongInputTest, DriverThatNeverAnswersEndsTheProcessAfterThirtySeconds) {
  const oracle::Row row("registrar/12.13/6");
  struct Case {
    std::string address;
    std::string log;
    std::optional<test::ChildProcess> process;
  };
  std::vector<Case> cases;
  const std::string& base = dir_.path();
  auto mute = test::ListenMute(base + "/mute.sock");
  ASSERT_TRUE(mute.ok());
  {
    auto stale = test::ListenMute(base + "/stale.sock");
  }
  std::ofstream(base + "/file") << "text";
  for (const std::string& address :
       {base + "/absent.sock", base + "/stale.sock", base + "/mute.sock", base + "/file",
        std::string("tcp://127.0.0.1:1"), std::string("csi.sock"), std::string("unix://")}) {
    const std::string log = StrCat(base, "/log", cases.size());
    auto child = test::ChildProcess::Start(
        {.command = {REGISTRAR_BINARY, "--csi-address=" + address, "--kubelet-registration-path=/x",
                     "--plugin-registration-path=" + folder()},
         .stderr_file = log});
    ASSERT_TRUE(child.ok());
    cases.push_back({address, log, std::move(child).value()});
  }
  const MonotonicTime start = loop_.Now();
  for (Case& each : cases) {
    ASSERT_TRUE(Until([&] { return each.process->Poll().has_value(); }, seconds(60)))
        << each.address;
    EXPECT_GE(loop_.Now() - start, seconds(29)) << each.address;
    EXPECT_EQ(*each.process->Poll(), 1 << 8) << each.address;  // exit code 1
    const std::string text = Read(each.log);
    EXPECT_NE(text.find("\"Error connecting to CSI driver\" err=\"context deadline exceeded\""),
              npos)
        << each.address << "\n"
        << text;
    const std::string waiting = StrCat("\"Still connecting\" address=\"", each.address, "\"");
    const size_t first = text.find(waiting);
    ASSERT_NE(first, npos) << text;
    EXPECT_NE(text.find(waiting, first + 1), npos) << text;
    // A listener that never speaks is lost at each new dial, others never.
    EXPECT_EQ(text.find("Lost connection") != npos, each.address == base + "/mute.sock") << text;
  }
}

// C8.
TEST_F(WrongInputTest, MissingRegistrationFolderIsNotMade) {
  fs::remove(folder());
  StartDriver();
  StartProgram(UsualArguments());
  EXPECT_EQ(ExitCode(), 1);
  EXPECT_TRUE(Logged(StrCat("\"Failed to listen on socket\" err=\"listen unix ", socket(),
                            ": bind: no such file or directory\" socketPath=\"", socket(), "\"")))
      << Stderr();
  EXPECT_FALSE(Exists(folder()));
}

// C4.
TEST_F(WrongInputTest, PathThatIsTakenByAFileStaysAndEndsTheProcess) {
  std::ofstream(socket()) << "text";
  StartDriver();
  StartProgram(UsualArguments());
  EXPECT_EQ(ExitCode(), 1);
  EXPECT_TRUE(Logged(
      StrCat("] \"\" err=\"file exists in socketPath ", socket(), " but it's not a socket.: &{")))
      << Stderr();
  EXPECT_EQ(Read(socket()), "text");
}

// C5.
TEST_F(WrongInputTest, DanglingLinkAtThePathEndsTheProcess) {
  fs::create_symlink(dir_.path() + "/nowhere", socket());
  StartDriver();
  StartProgram(UsualArguments());
  EXPECT_EQ(ExitCode(), 1);
  EXPECT_TRUE(Logged("bind: address already in use")) << Stderr();
  EXPECT_TRUE(fs::is_symlink(socket()));
}

// C3.
TEST_F(WrongInputTest, LinkToALiveSocketIsReplacedAndItsTargetStays) {
  const std::string target = dir_.path() + "/target.sock";
  auto listener = test::ListenMute(target);
  ASSERT_TRUE(listener.ok());
  fs::create_symlink(target, socket());
  StartAll();
  EXPECT_TRUE(IsSocket(socket()));
  EXPECT_TRUE(IsSocket(target));
  EXPECT_TRUE(GetInfo().ok());
}

// C9.
TEST_F(WrongInputTest, PathOf108BytesIsTooLong) {
  StartDriver();
  const size_t fixed =
      folder().size() + 2 + std::string_view("-reg.sock").size() + std::string_view(kDriver).size();
  for (const size_t length : {107u, 108u}) {
    const std::string deep = folder() + "/" + std::string(length - fixed, 'd');
    fs::create_directory(deep);
    fs::remove(log_path());
    StartProgram({"--csi-address=" + driver_socket(), "--kubelet-registration-path=/x",
                  "--plugin-registration-path=" + deep});
    if (length == 107) {
      WaitForSocket();
    } else {
      EXPECT_EQ(ExitCode(), 1);
      EXPECT_TRUE(Logged("bind: invalid argument")) << Stderr();
    }
  }
}

// B16.
TEST_F(WrongInputTest, ConnectionTimeoutIsOnlyNoted) {
  StartAll({"--connection-timeout=5s"});
  EXPECT_TRUE(Logged("\"--connection-timeout is deprecated and will have no effect\""));
}

// B3, 12.13 row 5.
TEST_F(WrongInputTest, OtherModesRegister) {
  const oracle::Row row("registrar/12.13/5");
  StartDriver();
  for (const std::string mode : {"KUBELET-REGISTRATION-PROBE", "registration", "node-register"}) {
    fs::remove(log_path());
    StartProgram(UsualArguments({"--mode=" + mode}));
    WaitForSocket();
    EXPECT_TRUE(Logged(StrCat("\"Running node-driver-registrar\" mode=\"", mode, "\"")));
    EXPECT_TRUE(GetInfo().ok());
  }
}

struct ListenRow {
  const char* name;
  const char* argument;
  const char* says;
};
void PrintTo(const ListenRow& row, std::ostream* out) { *out << row.name; }

class WrongListenTest : public RegistrarFixture, public ::testing::WithParamInterface<ListenRow> {};

// E15: the socket was there first, and stays.
TEST_P(WrongListenTest, EndsTheProcessAndLeavesTheSocket) {
  StartDriver();
  StartProgram(UsualArguments({GetParam().argument}));
  EXPECT_EQ(ExitCode(), 1);
  EXPECT_TRUE(Logged(StrCat("] \"\" err=\"", GetParam().says))) << Stderr();
  EXPECT_TRUE(IsSocket(socket()));
}

INSTANTIATE_TEST_SUITE_P(
    Rows, WrongListenTest,
    ::testing::Values(ListenRow{"port_too_large", "--health-port=70000", "listen tcp"},
                      ListenRow{"no_port", "--http-endpoint=localhost",
                                "listen tcp: address localhost: missing port in address"},
                      ListenRow{"no_colon", "--http-endpoint=9809",
                                "listen tcp: address 9809: missing port in address"},
                      ListenRow{"unknown_service", "--http-endpoint=:nope", "listen tcp"},
                      ListenRow{"unix_path", "--http-endpoint=/tmp/x.sock",
                                "listen tcp: address /tmp/x.sock: missing port in address"}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace csinative
