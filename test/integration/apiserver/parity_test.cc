// SPDX-License-Identifier: Apache-2.0
//
// The embedded API server answers the parity script as the real one did when golden.jsonl was
// recorded. test/cluster/parity/README.md says what is compared.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "test/cluster/parity/compare.h"
#include "test/cluster/parity/normalize.h"
#include "test/cluster/parity/servers.h"

namespace csinative::parity {
namespace {

// Tests run in the source folder.
std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream contents;
  contents << file.rdbuf();
  EXPECT_TRUE(file) << path;
  return contents.str();
}

TEST(ParityTest, EmbeddedServerAnswersAsTheRealOneDid) {
  Result<std::vector<Step>> steps = ParseScript(ReadFile("test/cluster/parity/requests.jsonl"));
  ASSERT_TRUE(steps.ok()) << steps.status().ToString();
  Result<Answers> golden = ParseGolden(ReadFile("test/cluster/parity/golden.jsonl"));
  ASSERT_TRUE(golden.ok()) << golden.status().ToString();
  EXPECT_GE(steps->size(), 150u);
  Answers ours;
  std::unique_ptr<Server> embedded = NewEmbeddedServer();
  Status ran = RunScript(*steps, *embedded,
                         [&](const Step& step, const Answer& answer) { ours[step.name] = answer; });
  EXPECT_TRUE(ran.ok()) << ran.ToString();
  for (const Difference& difference : Compare(*steps, ours, *golden)) {
    ADD_FAILURE() << difference.step << "\n    " << difference.text;
  }
}

TEST(ParityTest, EverythingElseIsCompared) {
  EXPECT_NE(Differences(R"({"a":1})", R"({"a":2})"), "");
  EXPECT_NE(Differences(R"({"a":[1,2]})", R"({"a":[2,1]})"), "");
  EXPECT_NE(Differences(R"({})", R"({"a":null})"), "");
  EXPECT_EQ(Differences(R"({"a":1,"b":2})", R"({"b":2,"a":1})"), "");
}

TEST(NormalizeTest, TakesOutWhatServersChoose) {
  EXPECT_EQ(
      NormalizeBody(
          R"({"metadata":{"uid":"0a1b2c3d-0000-0000-0000-000000000000","resourceVersion":"5",)"
          R"("creationTimestamp":"2024-01-01T00:00:00Z","managedFields":[{}],"name":"a"}})",
          {}),
      R"({"metadata":{"creationTimestamp":"<time>","name":"a","resourceVersion":"<version>",)"
      R"("uid":"<uid>"}})");
}

TEST(NormalizeTest, KeepsWhatClientsChoose) {
  EXPECT_EQ(NormalizeBody(R"({"lastTimestamp":"2024-01-01T00:00:00Z","count":2})", {}),
            R"({"count":2,"lastTimestamp":"2024-01-01T00:00:00Z"})");
}

TEST(NormalizeTest, StreamsBecomeArrays) {
  EXPECT_EQ(NormalizeBody("{\"a\":1}\n{\"b\":2}\n", {}), R"([{"a":1},{"b":2}])");
  EXPECT_EQ(NormalizeBody("{\"type\":\"ADDED\",\"object\":{}}\n", {}),
            R"([{"object":{},"type":"ADDED"}])");
}

TEST(NormalizeTest, OtherTextsBecomeStrings) {
  EXPECT_EQ(NormalizeBody("", {}), R"("")");
  EXPECT_EQ(NormalizeBody("ok", {}), R"("ok")");
}

TEST(NormalizeTest, SubsetsFollowOurOrder) {
  EXPECT_EQ(Project(R"({"r":[{"name":"x","v":1},{"name":"a","v":2,"w":3}],"t":1})",
                    R"({"r":[{"name":"a","v":0}]})"),
            R"({"r":[{"name":"a","v":2}]})");
}

}  // namespace
}  // namespace csinative::parity
