// SPDX-License-Identifier: Apache-2.0
//
// The page /debug of csi-volume-manager: volumes that are stuck, and no secret of theirs.
#include <gmock/gmock.h>
#include <rapidjson/document.h>

#include "lib/base/strings.h"
#include "test/integration/volumemanager/fixture.h"
#include "test/support/planted_secrets.h"

namespace csinative {
namespace {

using ::testing::HasSubstr;

class NodeDebugTest : public VolumeManagerFixture {
 protected:
  // The row about the object; null: there is none. Valid until the next call.
  const rapidjson::Value* Row(const std::string& object) {
    page_.Parse(Debug("/debug?format=json").c_str());
    if (page_.HasParseError() || !page_.HasMember("work")) return nullptr;
    for (const auto& row : page_["work"].GetArray()) {
      if (object == row["object"].GetString()) return &row;
    }
    return nullptr;
  }
  static std::string Text(const rapidjson::Value& row, const char* member) {
    return row.HasMember(member) ? row[member].GetString() : "";
  }

  rapidjson::Document page_;
};

TEST_F(NodeDebugTest, ShowsWhatEachStuckVolumeWaitsFor) {
  test::PlantedSecrets planted;
  StartWorld({"--fail=NodePublishVolume=Internal:the array <7> is away"});
  Add(planted.PlantedSecret("stage"));
  StartManager({"--http-endpoint=127.0.0.1:0"});
  const std::string handle =
      MakeVolume("pv1", false, R"(,"nodeStageSecretRef":{"name":"stage","namespace":"default"})");
  MakeVolume("pv2");
  Attach("pv1", handle);
  StartPod("p1", "pv1");
  StartPod("p2", "pv2");

  // The second failure has doubled the delay.
  ASSERT_TRUE(Until([this] {
    const rapidjson::Value* row = Row("pv1 in default/p1");
    return row != nullptr && (*row)["failures"].GetInt() >= 2;
  })) << Debug("/debug?format=json");
  const rapidjson::Value* failed = Row("pv1 in default/p1");
  ASSERT_NE(failed, nullptr);
  EXPECT_EQ(Text(*failed, "queue"), "volume_mount");
  EXPECT_THAT(Text(*failed, "lastError"),
              HasSubstr("MountVolume.SetUp failed for volume \"pv1\" : rpc error: code = Internal "
                        "desc = the array <7> is away"));
  if (Text(*failed, "state") == "delayed") {
    EXPECT_TRUE(failed->HasMember("nextTryInSeconds"));
  } else {
    EXPECT_EQ(Text(*failed, "state"), "in work");
  }
  ASSERT_TRUE(Until([this] {
    const rapidjson::Value* row = Row("pv2 in default/p2");
    return row != nullptr && Text(*row, "state") == "waits to be attached";
  })) << Debug("/debug?format=json");
  EXPECT_STREQ(page_["program"].GetString(), "csi-volume-manager");
  EXPECT_STREQ(page_["facts"]["node"].GetString(), kNode);
  EXPECT_TRUE(page_["facts"].HasMember(StrCat("driver ", kDriver).c_str()));
  for (const auto& watch : page_["watches"].GetArray()) {
    EXPECT_STREQ(watch["state"].GetString(), "watching");
  }
  const std::string html = Debug("/debug");
  EXPECT_THAT(html, HasSubstr("the array &lt;7&gt; is away"));
  planted.ExpectNone(html, "/debug");
}

TEST_F(NodeDebugTest, ShowsTheCallThatTheDriverDoesNotAnswer) {
  StartWorld({"--delay=NodeStageVolume=1h"});
  StartManager({"--http-endpoint=127.0.0.1:0"});
  Attach("pv1", MakeVolume("pv1"));
  StartPod("p1", "pv1");
  ASSERT_TRUE(Until([this] {
    const rapidjson::Value* row = Row("pv1 in default/p1");
    return row != nullptr && Text(*row, "state") == "in work" && page_["calls"].Size() == 1;
  })) << Debug("/debug?format=json");
  EXPECT_STREQ(page_["calls"][0]["method"].GetString(), "/csi.v1.Node/NodeStageVolume");
  EXPECT_TRUE(page_["calls"][0].HasMember("deadlineInSeconds"));
}

}  // namespace
}  // namespace csinative
