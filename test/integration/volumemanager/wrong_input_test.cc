// SPDX-License-Identifier: Apache-2.0
//
// What a user sees who starts csi-volume-manager the wrong way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "lib/base/strings.h"
#include "test/integration/volumemanager/fixture.h"

namespace csinative {
namespace {

struct WrongRow {
  const char* name;
  std::vector<std::string> arguments;
  int code;
  std::string text;
};

class WrongInput : public VolumeManagerFixture, public ::testing::WithParamInterface<WrongRow> {};

TEST_P(WrongInput, EndsWithCodeAndText) {
  StartProgram(GetParam().arguments);
  EXPECT_EQ(ExitCode(), GetParam().code);
  EXPECT_TRUE(Logged(GetParam().text)) << Log();
}

INSTANTIATE_TEST_SUITE_P(
    WrongInputTest, WrongInput,
    ::testing::Values(
        WrongRow{"UnknownFlag", {"--no-such-flag"}, 2, "unknown flag: --no-such-flag"},
        WrongRow{"RelativeRoot", {"--root-dir=x"}, 1, "--root-dir must be a clean absolute path"},
        WrongRow{"BadDuration", {"--sync-frequency=soon"}, 2, "--sync-frequency"},
        WrongRow{"NegativeQps", {"--kube-api-qps=-1"}, 1, "--kube-api-qps must not be negative"},
        WrongRow{"AttachFromTheNode",
                 {"--enable-controller-attach-detach=false"},
                 1,
                 "--enable-controller-attach-detach must be true"},
        WrongRow{"UnknownGate", {"--feature-gates=NoSuch=true"}, 1, "NoSuch"},
        WrongRow{
            "LockedGate", {"--feature-gates=SELinuxChangePolicy=false"}, 1, "SELinuxChangePolicy"}),
    [](const auto& row) { return std::string(row.param.name); });

class WrongWorldTest : public VolumeManagerFixture {};

TEST_F(WrongWorldTest, RootThatIsAFileIsRefused) {
  std::ofstream(dir_.path() + "/file") << "x";
  StartProgram({StrCat("--root-dir=", dir_.path(), "/file"), "--hostname-override=n"});
  EXPECT_EQ(ExitCode(), 1);
  EXPECT_TRUE(Logged("Failed to open the root folder")) << Log();
}

TEST_F(WrongWorldTest, KubeconfigThatIsNotThereIsRefused) {
  StartProgram({"--root-dir=" + root(), "--kubeconfig=/no/such/file", "--hostname-override=n"});
  EXPECT_EQ(ExitCode(), 1);
  EXPECT_TRUE(Logged("/no/such/file")) << Log();
}

TEST_F(WrongWorldTest, SecondManagerOfARootIsRefused) {
  StartWorld();
  StartManager();
  ASSERT_TRUE(Until([this] { return Logged("Starting volume manager"); }));
  test::ChildProcess first = *std::move(manager_);
  manager_.reset();
  StartManager();
  EXPECT_EQ(ExitCode(), 1);
  EXPECT_TRUE(Logged("Another volume manager uses this root folder")) << Log();
}

TEST_F(WrongWorldTest, VersionIsPrinted) {
  StartProgram({"--version"});
  EXPECT_EQ(ExitCode(), 0);
  EXPECT_THAT(Read(dir_.path() + "/manager.out"), ::testing::HasSubstr("csi-volume-manager"));
}

}  // namespace
}  // namespace csinative
