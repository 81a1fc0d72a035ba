// SPDX-License-Identifier: Apache-2.0
//
// The page /debug of csi-node-driver-registrar.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "lib/base/strings.h"
#include "test/integration/registrar/fixture.h"

namespace csinative {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class RegistrarDebugTest : public RegistrarFixture {
 protected:
  std::string Debug() { return Get("/debug?format=json"); }
};

TEST_F(RegistrarDebugTest, TellsHowFarTheRegistrationIs) {
  StartAll({"--http-endpoint=127.0.0.1:0"});
  ASSERT_TRUE(Until([this] { return HttpPort() != 0; }));
  std::string page = Debug();
  EXPECT_THAT(page, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(page, HasSubstr("\r\nContent-Type: application/json\r\n"));
  EXPECT_THAT(page, HasSubstr("\"program\":\"csi-node-driver-registrar\""));
  EXPECT_THAT(page, HasSubstr(StrCat("\"driver\":\"", kDriver, "\"")));
  EXPECT_THAT(page, HasSubstr(StrCat("\"registration socket\":\"", socket(), "\"")));
  EXPECT_THAT(page, HasSubstr("\"registration server\":\"listening\""));
  EXPECT_THAT(page, HasSubstr("\"registration\":\"waiting for the kubelet\""));
  EXPECT_THAT(page, HasSubstr("\"last health check\":\"none\""));
  EXPECT_THAT(page, HasSubstr("\"calls\":[]"));

  ASSERT_TRUE(Register().ok());
  EXPECT_THAT(Debug(), HasSubstr("\"registration\":\"registered, "));
  std::filesystem::remove(socket());
  (void)Get("/healthz");
  page = Debug();
  EXPECT_THAT(page, HasSubstr("\"registration server\":\"listening, but its socket was removed\""));
  EXPECT_THAT(page, HasSubstr("\"last health check\":\"404 registration socket does not exist, "));
  EXPECT_THAT(Get("/debug"), HasSubstr("<th>registration</th><td>registered, "));
}

TEST_F(RegistrarDebugTest, IsNotThereWithTheOldPortFlag) {
  StartAll({StrCat("--health-port=", test::FreePort())});
  ASSERT_TRUE(Until([this] { return HttpPort() != 0; }));
  EXPECT_THAT(Get("/debug"), StartsWith("HTTP/1.1 404 "));
}

}  // namespace
}  // namespace csinative
