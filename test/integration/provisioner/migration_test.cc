// SPDX-License-Identifier: Apache-2.0
//
// A driver that replaces an in-tree plugin: a second connection at start, calls told apart in
// metrics, and the plugin's claims (provisioner 3 step 14, 16, 18).
#include <gmock/gmock.h>

#include <string>

#include "lib/base/strings.h"
#include "lib/http/client.h"
#include "test/integration/provisioner/fixture.h"

namespace csinative {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class MigrationProgramTest : public ProvisionerFixture {
 protected:
  std::string Metrics() {
    const auto ports = test::ListeningPorts(provisioner_->pid());
    if (ports.empty()) return "";
    auto client = http::NewClient(loop_, {.base_url = StrCat("http://127.0.0.1:", ports[0]),
                                          .transport = http::ClientConfig::Transport::kBeast});
    if (!client.ok()) return "";
    auto response = async::RunTask(loop_, (*client)->Do({.target = "/metrics"}));
    return response.ok() ? response->body : "";
  }
  size_t CallsOfTheDriver(const std::string& method) const {
    const std::string log = Read(dir_.path() + "/calls");
    size_t count = 0;
    for (size_t at = log.find(method); at != npos; at = log.find(method, at + 1)) ++count;
    return count;
  }
};

TEST_F(MigrationProgramTest, ClaimOfThePluginGetsAVolumeOfThePlugin) {
  const std::string kubeconfig = StartApi();
  StartDriver({"--driver-name=cinder.csi.openstack.org", "--log=" + dir_.path() + "/calls"});
  auto arguments = UsualArguments(kubeconfig);
  arguments.emplace_back("--http-endpoint=127.0.0.1:0");
  StartProvisioner(arguments);
  ASSERT_TRUE(Until([this] { return Logged("Started provisioner controller"); }));
  EXPECT_TRUE(Logged("Supports migration from in-tree plugin: kubernetes.io/cinder"));
  EXPECT_EQ(CallsOfTheDriver("Identity/Probe\""), 2u);
  EXPECT_EQ(CallsOfTheDriver("Identity/GetPluginInfo\""), 1u);
  ASSERT_TRUE(api_->api()
                  .CreateObject(R"({"apiVersion":"storage.k8s.io/v1","kind":"StorageClass",
                       "metadata":{"name":"sc"},"provisioner":"kubernetes.io/cinder"})")
                  .ok());
  ASSERT_TRUE(api_->api()
                  .CreateObject(R"({"apiVersion":"v1","kind":"PersistentVolumeClaim",
                       "metadata":{"name":"c","namespace":"default","annotations":{
                       "volume.kubernetes.io/storage-provisioner":"kubernetes.io/cinder",
                       "pv.kubernetes.io/migrated-to":"cinder.csi.openstack.org"}},
                       "spec":{"storageClassName":"sc","accessModes":["ReadWriteOnce"],
                       "resources":{"requests":{"storage":"1Gi"}}}})")
                  .ok());
  ASSERT_TRUE(Until([this] { return !api_->api().ListObjects("", "persistentvolumes").empty(); }));
  const std::string volume = api_->api().ListObjects("", "persistentvolumes")[0]->json;
  EXPECT_THAT(volume, HasSubstr(R"("cinder":{)"));
  EXPECT_THAT(volume, Not(HasSubstr(R"("csi":{)")));
  EXPECT_THAT(volume, HasSubstr(R"("pv.kubernetes.io/provisioned-by":"kubernetes.io/cinder")"));
  const std::string metrics = Metrics();
  const auto has = [&](const char* method, const char* migrated) {
    for (size_t at = metrics.find(method); at != npos; at = metrics.find(method, at + 1)) {
      const std::string line = metrics.substr(at, metrics.find('\n', at) - at);
      if (line.find(StrCat("migrated=\"", migrated, "\"")) != npos) return true;
    }
    return false;
  };
  EXPECT_TRUE(has("/csi.v1.Controller/CreateVolume", "true")) << metrics;
  EXPECT_TRUE(has("/csi.v1.Controller/ControllerGetCapabilities", "false"));
  // The first connection is not exported.
  EXPECT_FALSE(has("/csi.v1.Identity/GetPluginInfo", "false"));
  EXPECT_FALSE(has("/csi.v1.Identity/GetPluginInfo", ""));
}

}  // namespace
}  // namespace csinative
