// SPDX-License-Identifier: Apache-2.0
//
// The page /debug of livenessprobe.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "lib/base/strings.h"
#include "lib/base/unique_fd.h"
#include "test/integration/livenessprobe/fixture.h"

namespace csinative {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class LivenessprobeDebugTest : public LivenessprobeFixture {
 protected:
  std::string Debug() { return Get("/debug?format=json"); }
};

TEST_F(LivenessprobeDebugTest, TellsTheLastAnswerOfTheDriver) {
  StartDriver({"--fail=Probe=Unavailable:the array <7> is away"});
  StartServing();
  std::string page = Debug();
  EXPECT_THAT(page, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(page, HasSubstr("\"program\":\"livenessprobe\""));
  EXPECT_THAT(page, HasSubstr(StrCat("\"driver\":\"", kDriver, "\"")));
  EXPECT_THAT(page, HasSubstr("\"checks\":\"0 run, 0 wait\""));
  EXPECT_THAT(page, HasSubstr("\"last check\":\"none\""));
  (void)Get("/healthz");
  EXPECT_THAT(Debug(), HasSubstr("\"last check\":\"500 rpc error: code = Unavailable desc = the "
                                 "array <7> is away, "));
  EXPECT_THAT(Get("/debug"), HasSubstr("the array &lt;7&gt; is away"));
}

TEST_F(LivenessprobeDebugTest, ShowsTheCheckThatTheDriverDoesNotAnswer) {
  StartDriver({"--delay=Probe=1h"});
  StartServing({"--http-endpoint=127.0.0.1:0", "--probe-timeout=1h"});
  const UniqueFd client = test::ConnectTo(HttpPort());
  const std::string request = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
  ASSERT_EQ(::write(client.get(), request.data(), request.size()),
            static_cast<ssize_t>(request.size()));
  std::string page;
  EXPECT_TRUE(Until([&] {
    page = Debug();
    return page.find("\"method\":\"/csi.v1.Identity/Probe\"") != npos;
  })) << page;
  EXPECT_THAT(page, HasSubstr("\"checks\":\"1 run, 0 wait\""));
  EXPECT_THAT(page, HasSubstr("\"deadlineInSeconds\":3"));
}

TEST_F(LivenessprobeDebugTest, IsNotThereWithTheOldPortFlag) {
  StartDriver();
  StartServing({StrCat("--health-port=", test::FreePort())});
  EXPECT_THAT(Get("/debug"), StartsWith("HTTP/1.1 404 "));
}

}  // namespace
}  // namespace csinative
