// SPDX-License-Identifier: Apache-2.0
//
// Secrets that csi-volume-manager hands to the driver, and its own credentials, are looked for in
// its log at the highest verbosity, in both formats, and in what it leaves in the API.
#include <gmock/gmock.h>

#include "lib/base/strings.h"
#include "test/integration/volumemanager/fixture.h"
#include "test/support/planted_secrets.h"

namespace csinative {
namespace {

using ::testing::HasSubstr;

class PlantedNodeSecretsTest : public VolumeManagerFixture,
                               public ::testing::WithParamInterface<const char*> {
 protected:
  // The line of the log with the request of this call.
  std::string Request(const std::string& method) const {
    const std::string text = ReplaceAll(Log(), "\\", "");
    const size_t at = text.find(StrCat("/csi.v1.Node/", method));
    return at == npos ? "no call" : text.substr(at, text.find('\n', at) - at);
  }
};

TEST_P(PlantedNodeSecretsTest, AreNowhere) {
  test::PlantedSecrets planted;
  StartWorld();
  planted.Plant("token of the kubeconfig", api_->admin_token());
  Add(planted.PlantedSecret("stage"));
  Add(planted.PlantedSecret("publish"));
  StartManager({"--v=10", StrCat("--logging-format=", GetParam())});
  const std::string handle =
      MakeVolume("pv1", false,
                 R"(,"nodeStageSecretRef":{"name":"stage","namespace":"default"})"
                 R"(,"nodePublishSecretRef":{"name":"publish","namespace":"default"})");
  Attach("pv1", handle);
  const std::string uid = StartPod("p1", "pv1");
  ASSERT_TRUE(Until([&] { return Mounted(paths_.PublishTarget(uid, "pv1")); }));
  EndPod("p1");
  ASSERT_TRUE(Until([&] { return Mounts().empty() && Left().empty(); }));

  // They were there.
  constexpr char kStripped[] = R"("secrets":"***stripped***")";
  EXPECT_THAT(Request("NodeStageVolume"), HasSubstr(kStripped));
  EXPECT_THAT(Request("NodePublishVolume"), HasSubstr(kStripped));
  EXPECT_TRUE(Logged("Authorization: Bearer <masked>"));
  planted.ExpectNone(Log(), "the log");
  planted.ExpectNone(Read(dir_.path() + "/manager.out"), "stdout");
  for (const auto& request : api_->api().log()) planted.ExpectNone(request.body, "a request");
  for (const char* resource : {"events", "nodes", "pods", "persistentvolumes"}) {
    for (const auto& object : api_->api().ListObjects("", resource)) {
      planted.ExpectNone(object->json, resource);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, PlantedNodeSecretsTest, ::testing::Values("text", "json"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace csinative
