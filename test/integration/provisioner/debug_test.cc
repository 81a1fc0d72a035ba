// SPDX-License-Identifier: Apache-2.0
//
// The page /debug of a provisioner whose driver refuses to work.
#include <rapidjson/document.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

#include "lib/base/strings.h"
#include "lib/http/client.h"
#include "test/integration/provisioner/fixture.h"

namespace csinative {
namespace {

constexpr int kClaims = 200;

class DebugPageTest : public ProvisionerFixture {
 protected:
  std::string Get(const std::string& target) {
    const auto ports = test::ListeningPorts(provisioner_->pid());
    if (ports.empty()) return "";
    auto client = http::NewClient(loop_, {.base_url = StrCat("http://127.0.0.1:", ports[0]),
                                          .transport = http::ClientConfig::Transport::kBeast});
    if (!client.ok()) return "";
    auto response = async::RunTask(loop_, (*client)->Do({.target = target}));
    if (!response.ok()) return "";
    EXPECT_EQ(response->status, 200) << target;
    return response->body;
  }

  void CreateClaims() {
    ASSERT_TRUE(api_->api()
                    .CreateObject(R"({"apiVersion":"storage.k8s.io/v1","kind":"StorageClass",
                         "metadata":{"name":"sc"},"provisioner":"sample.csi-native.io"})")
                    .ok());
    for (int i = 0; i < kClaims; ++i) {
      ASSERT_TRUE(
          api_->api()
              .CreateObject(StrCat(
                  R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":")",
                  "claim-", i, R"(","namespace":"default","annotations":{
                         "volume.kubernetes.io/storage-provisioner":"sample.csi-native.io"}},
                         "spec":{"storageClassName":"sc","accessModes":["ReadWriteOnce"],
                         "resources":{"requests":{"storage":"1Gi"}}}})"))
              .ok());
    }
  }
};

TEST_F(DebugPageTest, ShowsEveryStuckClaimWithItsError) {
  const std::string kubeconfig = StartApi();
  StartDriver({"--fail=CreateVolume=Unavailable:the array <7> is rebuilding"});
  auto arguments = UsualArguments(kubeconfig);
  for (const char* one :
       {"--http-endpoint=127.0.0.1:0", "--leader-election", "--leader-election-namespace=default",
        "--kube-api-qps=1000", "--kube-api-burst=1000"}) {
    arguments.emplace_back(one);
  }
  StartProvisioner(arguments);
  ASSERT_TRUE(Until([this] { return Logged("Started provisioner controller"); }));
  CreateClaims();

  rapidjson::Document json;
  std::map<std::string, std::string> errors;
  // Each look runs the loop, and with it the API server.
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (errors.size() < kClaims && std::chrono::steady_clock::now() < limit) {
    json.Parse(Get("/debug?format=json").c_str());
    ASSERT_FALSE(json.HasParseError());
    errors.clear();
    for (const auto& work : json["work"].GetArray()) {
      if (work.HasMember("lastError")) {
        errors[work["object"].GetString()] = work["lastError"].GetString();
      }
    }
  }
  ASSERT_EQ(errors.size(), kClaims);
  EXPECT_EQ(errors["default/claim-7"],
            "rpc error: code = Unavailable desc = the array <7> is rebuilding");
  EXPECT_STREQ(json["program"].GetString(), "csi-provisioner");
  EXPECT_STREQ(json["facts"]["driver"].GetString(), "sample.csi-native.io");
  EXPECT_TRUE(std::string(json["facts"]["leader election"].GetString())
                  .starts_with("this process leads, as "));
  std::map<std::string, int> objects;
  for (const auto& watch : json["watches"].GetArray()) {
    EXPECT_STREQ(watch["state"].GetString(), "watching");
    objects[watch["resource"].GetString()] = watch["objects"].GetInt();
  }
  EXPECT_EQ(objects["persistentvolumeclaims"], kClaims);
  EXPECT_EQ(objects["storageclasses.storage.k8s.io"], 1);

  const auto start = std::chrono::steady_clock::now();
  const std::string page = Get("/debug");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(100));
  EXPECT_NE(page.find("default/claim-199"), npos);
  EXPECT_NE(page.find("the array &lt;7&gt; is rebuilding"), npos);
  EXPECT_EQ(page.find("<7>"), npos);
  // For a look with a browser (docs/debug-page.md).
  if (const char* folder = std::getenv("CSI_NATIVE_KEEP_DEBUG_PAGE")) {
    std::ofstream(StrCat(folder, "/debug.html")) << page;
  }
}

TEST_F(DebugPageTest, IsNotThereWithTheOldMetricsFlag) {
  const std::string kubeconfig = StartApi();
  StartDriver();
  auto arguments = UsualArguments(kubeconfig);
  arguments.emplace_back("--metrics-address=127.0.0.1:0");
  StartProvisioner(arguments);
  ASSERT_TRUE(Until([this] { return Logged("Started provisioner controller"); }));
  const auto ports = test::ListeningPorts(provisioner_->pid());
  ASSERT_EQ(ports.size(), 1u);
  auto client = http::NewClient(loop_, {.base_url = StrCat("http://127.0.0.1:", ports[0]),
                                        .transport = http::ClientConfig::Transport::kBeast});
  ASSERT_TRUE(client.ok());
  auto response = async::RunTask(loop_, (*client)->Do({.target = "/debug"}));
  ASSERT_TRUE(response.ok());
  EXPECT_EQ(response->status, 404);
}

}  // namespace
}  // namespace csinative
