// SPDX-License-Identifier: Apache-2.0
//
// --once: the check of a pod on the host network that must open no port (field report 75).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/integration/livenessprobe/fixture.h"

namespace csinative {
namespace {

struct OnceRow {
  const char* name;
  std::optional<std::vector<std::string>> driver;  // nullopt: there is none
  int code;
  const char* says;  // on stdout
};
void PrintTo(const OnceRow& row, std::ostream* out) { *out << row.name; }

class OnceTest : public LivenessprobeFixture, public ::testing::WithParamInterface<OnceRow> {};

TEST_P(OnceTest, TellsAndExitsByTheAnswerOfTheDriver) {
  if (GetParam().driver) StartDriver(*GetParam().driver);
  StartLivenessprobe({"--once", "--probe-timeout=500ms"});
  EXPECT_EQ(ExitCode(), GetParam().code) << Stderr();
  EXPECT_EQ(Stdout(), std::string(GetParam().says) + "\n");
  EXPECT_FALSE(Logged("listening"));
  EXPECT_EQ(Calls("/GetPluginInfo"), 0);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, OnceTest,
    ::testing::Values(OnceRow{"ready", std::vector<std::string>{}, 0, "ok"},
                      OnceRow{"not_ready", std::vector<std::string>{"--not-ready"}, 1,
                              "driver responded but is not ready"},
                      OnceRow{"fails", std::vector<std::string>{"--fail", "Probe=Internal:broken"},
                              1, "rpc error: code = Internal desc = broken"},
                      OnceRow{
                          "hangs", std::vector<std::string>{"--hang", "Probe"}, 1,
                          "rpc error: code = DeadlineExceeded desc = context deadline exceeded"},
                      OnceRow{"absent", std::nullopt, 1, "context deadline exceeded"}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace csinative
