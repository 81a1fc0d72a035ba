// SPDX-License-Identifier: Apache-2.0
//
// Secrets are planted wherever a controller meets them, and looked for wherever it writes: its log
// at the highest verbosity in both formats, its metrics, and every object it leaves in the API.
// What the programs of a node meet is in test/integration/volumemanager.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>
#include <utility>
#include <vector>

#include "lib/base/base64.h"
#include "lib/base/strings.h"
#include "test/integration/sidecar/container.h"
#include "test/integration/sidecar/fixture.h"
#include "test/support/planted_secrets.h"

namespace csinative {
namespace {

using ::testing::HasSubstr;

class PlantedSecretsTest : public SidecarsFixture {
 protected:
  void ExpectNoneOf(Program& program) {
    planted_.ExpectNone(program.Stderr(), program.name() + "'s log");
    planted_.ExpectNone(program.Stdout(), program.name() + "'s stdout");
    if (program.Running() && program.Port() != 0) {
      const std::string metrics = Get("/metrics", program.Port());
      EXPECT_THAT(metrics, HasSubstr("csi_sidecar_operations_seconds_count"));
      planted_.ExpectNone(metrics, program.name() + "'s metrics");
    }
  }
  void ExpectNoneInTheApi() {
    int events = 0;
    for (const auto& [group, resource] :
         std::vector<std::pair<std::string, std::string>>{{"", "events"},
                                                          {"events.k8s.io", "events"},
                                                          {"", "persistentvolumes"},
                                                          {"", "persistentvolumeclaims"},
                                                          {"storage.k8s.io", "volumeattachments"},
                                                          {"storage.k8s.io", "csinodes"},
                                                          {"coordination.k8s.io", "leases"}}) {
      for (const apiserver::ObjectPtr& object : api_->api().ListObjects(group, resource)) {
        planted_.ExpectNone(object->json, resource);
        events += resource == "events";
      }
    }
    EXPECT_GT(events, 0);
    for (const apiserver::LoggedRequest& request : api_->api().log()) {
      planted_.ExpectNone(request.body, "a request");
      planted_.ExpectNone(request.target, "an URL");
      planted_.ExpectNone(request.user_agent, "a user agent");
    }
  }

  // A kubeconfig with the fields of `user`.
  std::string Kubeconfig(const std::string& user) {
    return WriteFile(
        "credentials",
        StrCat("apiVersion: v1\nkind: Config\nclusters: [{name: k, cluster: {server: '",
               api_->url(), "', certificate-authority-data: ", Base64Encode(api_->ca_pem()),
               "}}]\nusers: [{name: u, user: {", user,
               "}}]\ncontexts: [{name: c, context: {cluster: k, user: u}}]\ncurrent-context: c\n"));
  }
  std::vector<std::string> Arguments(const std::string& config, const std::string& format) const {
    return {"--csi-address=" + driver_socket(),
            "--kubeconfig=" + config,
            "-v=10",
            format,
            "--leader-election",
            "--http-endpoint=127.0.0.1:0",
            "--retry-interval-start=100ms"};
  }

  test::PlantedSecrets planted_;
};

constexpr char kClass[] = R"({"apiVersion":"storage.k8s.io/v1","kind":"StorageClass",
    "metadata":{"name":"sc"},"provisioner":"sample.csi-native.io","allowVolumeExpansion":true,
    "parameters":{
    "csi.storage.k8s.io/provisioner-secret-name":"provisioner",
    "csi.storage.k8s.io/provisioner-secret-namespace":"default",
    "csi.storage.k8s.io/controller-publish-secret-name":"publish",
    "csi.storage.k8s.io/controller-publish-secret-namespace":"default",
    "csi.storage.k8s.io/node-stage-secret-name":"stage",
    "csi.storage.k8s.io/node-stage-secret-namespace":"default",
    "csi.storage.k8s.io/node-publish-secret-name":"node-publish",
    "csi.storage.k8s.io/node-publish-secret-namespace":"default",
    "csi.storage.k8s.io/controller-expand-secret-name":"expand",
    "csi.storage.k8s.io/controller-expand-secret-namespace":"default"}})";
constexpr char kClaim[] = R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{
    "name":"c","namespace":"default","annotations":{
    "volume.kubernetes.io/storage-provisioner":"sample.csi-native.io"}},"spec":{
    "storageClassName":"sc","accessModes":["ReadWriteOnce"],
    "resources":{"requests":{"storage":"1Mi"}}}})";

class PlantedCallsTest : public PlantedSecretsTest,
                         public ::testing::WithParamInterface<const char*> {};

// A volume is made, attached, detached and deleted; each call with secrets fails once, so that
// errors and events are written too.
TEST_P(PlantedCallsTest, AreNowhere) {
  const std::string format = StrCat("--logging-format=", GetParam());
  StartApi();
  StartDriver({"--fail", "CreateVolume=Internal:not now:1", "--fail",
               "ControllerPublishVolume=Internal:not now:1", "--fail",
               "ControllerUnpublishVolume=Internal:not now:1", "--fail",
               "DeleteVolume=Internal:not now:1"});
  planted_.Plant("token of the kubeconfig", api_->admin_token());
  for (const char* name : {"provisioner", "publish", "stage", "node-publish", "expand"}) {
    Add(planted_.PlantedSecret(name));
  }
  Add(kClass);
  Add(R"({"apiVersion":"storage.k8s.io/v1","kind":"CSINode","metadata":{"name":"node"},"spec":{
        "drivers":[{"name":"sample.csi-native.io","nodeID":"node-1","topologyKeys":[]}]}})");
  Program& provisioner = Start("csi-provisioner", Arguments(kubeconfig(), format));
  Program& attacher = Start("csi-attacher", Arguments(kubeconfig(), format));
  Program& probe = Start("livenessprobe", {"--csi-address=" + driver_socket(), "-v=10", format,
                                           "--http-endpoint=127.0.0.1:0"});
  Program& registrar = Start("csi-node-driver-registrar",
                             {"--csi-address=" + driver_socket(), "--kubelet-registration-path=/x",
                              "-v=10", format, "--plugin-registration-path=" + dir_.path()});
  Add(kClaim);
  ASSERT_TRUE(Until([&] { return !api_->api().ListObjects("", "persistentvolumes").empty(); }));
  const std::string volume =
      "pvc-" + std::string(api_->api().ListObjects("", "persistentvolumeclaims")[0]->uid);
  Add(StrCat(R"({"apiVersion":"storage.k8s.io/v1","kind":"VolumeAttachment","metadata":{
        "name":"va"},"spec":{"attacher":"sample.csi-native.io","nodeName":"node","source":{
        "persistentVolumeName":")",
             volume, R"("}}})"));
  const auto attachment = [&] { return Find("storage.k8s.io", "volumeattachments", "", "va"); };
  ASSERT_TRUE(Until([&] { return attachment().find(R"("attached":true)") != npos; }));
  EXPECT_EQ(Delete("/apis/storage.k8s.io/v1/volumeattachments/va"), 200);
  ASSERT_TRUE(Until([&] { return attachment().empty(); }));
  EXPECT_EQ(Delete("/api/v1/namespaces/default/persistentvolumeclaims/c"), 200);
  EXPECT_EQ(Patch(StrCat("/api/v1/persistentvolumes/", volume, "/status"),
                  R"({"status":{"phase":"Released"}})"),
            200);
  // The last finalizer is the control plane's.
  ASSERT_TRUE(Until(
      [&] { return Find("", "persistentvolumes", "", volume).find("deletionTimestamp") != npos; }));

  // They were there.
  const auto calls = [&](Program& program, const std::string& method) {
    const std::string text = ReplaceAll(program.Stderr(), "\\", "");
    const size_t at = text.find(StrCat("/csi.v1.Controller/", method));
    return at == npos ? "no call" : text.substr(at, text.find('\n', at) - at);
  };
  constexpr char kStripped[] = R"("secrets":"***stripped***")";
  EXPECT_THAT(calls(provisioner, "CreateVolume"), HasSubstr(kStripped));
  EXPECT_THAT(calls(provisioner, "DeleteVolume"), HasSubstr(kStripped));
  EXPECT_THAT(calls(attacher, "ControllerPublishVolume"), HasSubstr(kStripped));
  EXPECT_THAT(calls(attacher, "ControllerUnpublishVolume"), HasSubstr(kStripped));
  EXPECT_TRUE(provisioner.Logged("Authorization: Bearer <masked>"));
  for (Program* program : {&provisioner, &attacher, &probe, &registrar}) ExpectNoneOf(*program);
  ExpectNoneInTheApi();
}

INSTANTIATE_TEST_SUITE_P(Formats, PlantedCallsTest, ::testing::Values("text", "json"),
                         [](const auto& info) { return std::string(info.param); });

TEST_F(PlantedSecretsTest, TokenOfTheServiceAccountIsNowhere) {
  const Status entered = EnterContainer();
  ASSERT_TRUE(entered.ok()) << entered.message();
  StartApi();
  StartDriver();
  planted_.Plant("token of the service account", api_->admin_token());
  for (const char* name : {"csi-attacher", "csi-provisioner"}) {
    Program& program = Start(name,
                             {"--csi-address=" + driver_socket(), "-v=10", "--leader-election",
                              "--http-endpoint=127.0.0.1:0"},
                             {.env = InCluster()});
    EXPECT_TRUE(Until([&] { return program.Logged("\"Successfully renewed lease\""); }));
    EXPECT_TRUE(program.Logged("Authorization: Bearer <masked>"));
    ExpectNoneOf(program);
  }
}

struct CredentialRow {
  const char* name;
  const char* sign;  // in the log: what came of it
};
void PrintTo(const CredentialRow& row, std::ostream* out) { *out << row.name; }

class PlantedCredentialsTest : public PlantedSecretsTest,
                               public ::testing::WithParamInterface<CredentialRow> {
 protected:
  // The user's fields of a kubeconfig of the kind.
  std::string User(const std::string& kind) {
    if (kind == "wrong_token") {
      planted_.Plant("wrong token", "planted-wrong-token-5512");
      return "token: planted-wrong-token-5512";
    }
    if (kind == "token_file") {
      planted_.Plant("token of a file", api_->admin_token());
      return "tokenFile: " + WriteFile("token", api_->admin_token());
    }
    if (kind == "password") {
      planted_.Plant("password", "planted-password-6620");
      planted_.Plant("password in a header", "planted-user-6620:planted-password-6620");
      return "username: planted-user-6620, password: planted-password-6620";
    }
    if (kind == "client_key") {
      const auto pair = api_->ClientCertificate("admin", {"system:masters"});
      EXPECT_TRUE(pair.ok());
      planted_.PlantKey("client key", pair->key_pem);
      return StrCat("client-certificate-data: ", Base64Encode(pair->certificate_pem),
                    ", client-key-data: ", Base64Encode(pair->key_pem));
    }
    // A credential plugin that is told a secret and prints another.
    EXPECT_EQ(kind, "exec");
    planted_.Plant("environment of a plugin", "planted-plugin-secret-8841");
    planted_.Plant("token of a plugin", api_->admin_token());
    const std::string plugin = WriteFile(
        "plugin.sh",
        StrCat("#!/bin/sh\n[ \"$PLUGIN_SECRET\" = planted-plugin-secret-8841 ] || exit 1\n"
               "echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/"
               "v1\",\"status\":{\"token\":\"",
               api_->admin_token(), "\"}}'\n"));
    ::chmod(plugin.c_str(), 0755);
    return StrCat("exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, ",
                  "command: ", plugin,
                  ", env: [{name: PLUGIN_SECRET, value: planted-plugin-secret-8841}]}");
  }
};

TEST_P(PlantedCredentialsTest, AreNowhere) {
  StartApi();
  StartDriver();
  const std::string config = Kubeconfig(User(GetParam().name));
  std::vector<Program*> started;
  for (const char* name : {"csi-attacher", "csi-provisioner"}) {
    for (const char* format : {"--logging-format=text", "--logging-format=json"}) {
      started.push_back(&Start(name, Arguments(config, format)));
    }
  }
  for (Program* program : started) {
    EXPECT_TRUE(Until([&] { return program->Logged(GetParam().sign); })) << program->Stderr();
    EXPECT_TRUE(program->Running());
    ExpectNoneOf(*program);
  }
  for (Program* program : started) ExpectNoneOf(*program);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, PlantedCredentialsTest,
    ::testing::Values(CredentialRow{"wrong_token", "Unauthorized"},
                      CredentialRow{"token_file", "Successfully acquired lease"},
                      CredentialRow{"password", "system:anonymous"},
                      CredentialRow{"client_key", "Successfully acquired lease"},
                      CredentialRow{"exec", "Successfully acquired lease"}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace csinative
