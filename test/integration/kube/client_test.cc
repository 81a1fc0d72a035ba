// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/client.h"

#include <gmock/gmock.h>

#include "apis/k8s.h"
#include "lib/base/base64.h"
#include "lib/base/strings.h"
#include "lib/kube/errors.h"
#include "test/integration/kube/api_fixture.h"
#include "test/support/certs.h"

namespace csinative::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

core::ConfigMap MapNamed(std::string name) {
  core::ConfigMap map;
  map.mutable_metadata()->set_namespace_("default");
  map.mutable_metadata()->set_name(std::move(name));
  auto* entry = map.add_data();
  entry->set_key("k");
  entry->set_value("v");
  return map;
}

class ClientIntegrationTest : public ApiFixture {};

class EncodingTest : public ApiFixture, public ::testing::WithParamInterface<bool> {
 protected:
  Client& client_ = NewClient({.qps = -1, .protobuf = GetParam()});
};

TEST_P(EncodingTest, LifeOfAnObject) {
  const Result<core::ConfigMap> made = Run(client_.Create(MapNamed("m")));
  ASSERT_TRUE(made.ok()) << made.status().ToString();
  EXPECT_FALSE(made->metadata().uid().empty());
  EXPECT_EQ(made->data(0).value(), "v");
  EXPECT_TRUE(IsAlreadyExists(Run(client_.Create(MapNamed("m"))).status()));

  const auto patched = Run(client_.Patch<core::ConfigMap>({"default", "m"}, PatchType::kMerge,
                                                          R"({"data":{"k":"w","l":null}})"));
  ASSERT_TRUE(patched.ok()) << patched.status().ToString();
  EXPECT_NE(patched->metadata().resourceversion(), made->metadata().resourceversion());
  const auto got = Run(client_.Get<core::ConfigMap>({"default", "m"}));
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(got->SerializeAsString(), patched->SerializeAsString());

  const Status conflict = Run(client_.Delete<core::ConfigMap>({"default", "m"}, {.uid = "other"}));
  EXPECT_TRUE(IsConflict(conflict)) << conflict.ToString();
  EXPECT_TRUE(
      Run(client_.Delete<core::ConfigMap>({"default", "m"}, {.uid = got->metadata().uid()})).ok());
  const Status missing = Run(client_.Get<core::ConfigMap>({"default", "m"})).status();
  EXPECT_TRUE(IsNotFound(missing));
  EXPECT_EQ(missing.message(), "configmaps \"m\" not found");
  EXPECT_EQ(missing.api_error()->kind, "configmaps");
}

TEST_P(EncodingTest, ListsInPages) {
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(Run(client_.Create(MapNamed(StrCat("m", i)))).ok());
  std::vector<std::string> names;
  ListOptions options{.ns = "default", .limit = 2};
  do {
    const auto page = Run(client_.List<core::ConfigMap>(options));
    ASSERT_TRUE(page.ok()) << page.status().ToString();
    for (const core::ConfigMap& map : page->items) names.push_back(map.metadata().name());
    options.continue_token = page->continue_token;
  } while (!options.continue_token.empty());
  EXPECT_THAT(names, ElementsAre("m0", "m1", "m2", "m3", "m4"));
}

INSTANTIATE_TEST_SUITE_P(Encodings, EncodingTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Protobuf" : "Json"; });

TEST_F(ClientIntegrationTest, LeaseIsUpdatedByPutAndConflictsWhenStale) {
  Client& client = NewClient();
  coordination::Lease lease;
  lease.mutable_metadata()->set_namespace_("kube-system");
  lease.mutable_metadata()->set_name("l");
  lease.mutable_spec()->set_holderidentity("a");
  const Result<coordination::Lease> made = Run(client.Create(lease));
  ASSERT_TRUE(made.ok()) << made.status().ToString();
  coordination::Lease next = *made;
  next.mutable_spec()->set_holderidentity("b");
  const Result<coordination::Lease> updated = Run(client.Update(next));
  ASSERT_TRUE(updated.ok()) << updated.status().ToString();
  EXPECT_EQ(updated->spec().holderidentity(), "b");
  EXPECT_TRUE(IsConflict(Run(client.Update(next)).status()));
}

TEST_F(ClientIntegrationTest, DocumentsAreReplacedWhole) {
  Client& client = NewClient();
  ASSERT_TRUE(Run(client.Create(MapNamed("m"))).ok());
  const ResourceInfo* maps = &ResourceOf<core::ConfigMap>();
  auto document = Run(client.GetDocument(maps, {"default", "m"}));
  ASSERT_TRUE(document.ok()) << document.status().ToString();
  (**document)["data"]["k"].SetString("new");
  ASSERT_TRUE(Run(client.ReplaceDocument(maps, {"default", "m"}, *document)).ok());
  EXPECT_EQ(Run(client.Get<core::ConfigMap>({"default", "m"}))->data(0).value(), "new");
  EXPECT_TRUE(IsConflict(Run(client.ReplaceDocument(maps, {"default", "m"}, *document)).status()));
}

TEST_F(ClientIntegrationTest, DiscoveryIsJson) {
  const auto resources = Run(NewClient().GetPath("/apis/storage.k8s.io/v1"));
  ASSERT_TRUE(resources.ok()) << resources.status().ToString();
  EXPECT_STREQ((**resources)["kind"].GetString(), "APIResourceList");
}

// common 6.
TEST_F(ClientIntegrationTest, ServerSeesAgentAndUser) {
  ASSERT_TRUE(Run(NewClient().Get<core::Namespace>({"", "default"})).ok());
  ASSERT_THAT(api().log(), SizeIs(1));
  EXPECT_EQ(api().log()[0].user_agent, "kube-test/v0 (linux/amd64) kubernetes/x");
  EXPECT_EQ(api().log()[0].target, "/api/v1/namespaces/default");
  EXPECT_NE(api().log()[0].user, "system:anonymous");
}

TEST_F(ClientIntegrationTest, ThrottlingServerIsAskedAgain) {
  int refused = 0;
  api().set_fault_hook([&](const apiserver::RequestInfo&) {
    return ++refused > 2 ? apiserver::Fault{}
                         : apiserver::Fault{.code = 429, .retry_after_seconds = 0};
  });
  EXPECT_TRUE(Run(NewClient().Create(MapNamed("m"))).ok());
  EXPECT_THAT(api().log(), SizeIs(3));
}

TEST_F(ClientIntegrationTest, DroppedAnswerOfAWriteIsNotRepeated) {
  Client& client = NewClient();
  api().set_fault_hook([](const apiserver::RequestInfo&) {
    return apiserver::Fault{.drop = apiserver::Fault::Drop::kAfter};
  });
  const Status failure = Run(client.Create(MapNamed("m"))).status();
  api().set_fault_hook(nullptr);
  ASSERT_NE(failure.transport_error(), nullptr) << failure.ToString();
  EXPECT_THAT(failure.message(), HasSubstr(StrCat("Post \"", server_.url(),
                                                  "/api/v1/namespaces/default/configmaps\": ")));
  EXPECT_THAT(api().log(), SizeIs(1));
  EXPECT_TRUE(Run(client.Get<core::ConfigMap>({"default", "m"})).ok());
}

TEST_F(ClientIntegrationTest, DroppedAnswerOfAReadIsRepeated) {
  Client& client = NewClient();
  int dropped = 0;
  api().set_fault_hook([&](const apiserver::RequestInfo&) {
    return ++dropped > 1 ? apiserver::Fault{}
                         : apiserver::Fault{.drop = apiserver::Fault::Drop::kAfter};
  });
  EXPECT_TRUE(Run(client.Get<core::Namespace>({"", "default"})).ok());
}

TEST_F(ClientIntegrationTest, CallerDeadlineEndsASlowCall) {
  Client& client = NewClient();
  api().set_fault_hook([](const apiserver::RequestInfo&) {
    return apiserver::Fault{.delay = std::chrono::hours(1)};
  });
  const auto got = Run(async::WithTimeout(std::chrono::milliseconds(50),
                                          client.Get<core::Namespace>({"", "default"})));
  EXPECT_TRUE(IsDeadlineExceeded(got.status())) << got.status().ToString();
}

TEST_F(ClientIntegrationTest, UnknownAuthorityIsATlsFailure) {
  const std::string config = StrCat(
      "clusters: [{name: k, cluster: {server: '", server_.url(), "', certificate-authority-data: ",
      Base64Encode(testing::CertificateAuthority("other").certificate_pem()),
      "}}]\nusers: [{name: u, user: {token: '", server_.admin_token(),
      "'}}]\ncontexts: [{name: c, context: {cluster: k, user: u}}]\ncurrent-context: c\n");
  const Status failure =
      Run(NewClient({.qps = -1}, config).Get<core::Namespace>({"", "default"})).status();
  ASSERT_NE(failure.transport_error(), nullptr) << failure.ToString();
  EXPECT_EQ(failure.transport_error()->kind, TransportError::Kind::kTls);
  EXPECT_THAT(failure.message(), HasSubstr("x509: certificate signed by unknown authority"));
}

TEST_F(ClientIntegrationTest, NobodyListeningIsRefused) {
  const Status failure =
      Run(NewClient({.qps = -1},
                    "clusters: [{name: k, cluster: {server: 'https://127.0.0.1:1'}}]\ncontexts: "
                    "[{name: c, context: {cluster: k}}]\ncurrent-context: c\n")
              .Get<core::Namespace>({"", "default"}))
          .status();
  EXPECT_TRUE(IsConnectionRefused(failure)) << failure.ToString();
  EXPECT_EQ(failure.message(),
            "Get \"https://127.0.0.1:1/api/v1/namespaces/default\": dial tcp 127.0.0.1:1: "
            "connect: connection refused");
}

TEST_F(ClientIntegrationTest, RevokedTokenIsUnauthorizedUntilTheFileHasANewOne) {
  api().tokens().Add("first", {.name = "me"});
  const std::string token_file = Write("token", "first");
  const std::string config =
      StrCat("clusters: [{name: k, cluster: {server: '", server_.url(),
             "', certificate-authority-data: ", Base64Encode(server_.ca_pem()),
             "}}]\nusers: [{name: u, user: {tokenFile: '", token_file,
             "'}}]\ncontexts: [{name: c, context: {cluster: k, user: u}}]\ncurrent-context: c\n");
  Client& client = NewClient({.qps = -1}, config);
  EXPECT_TRUE(Run(client.Get<core::Namespace>({"", "default"})).ok());
  EXPECT_EQ(api().log().back().user, "me");
  api().tokens().Revoke("first");
  EXPECT_TRUE(IsUnauthorized(Run(client.Get<core::Namespace>({"", "default"})).status()));
  api().tokens().Add("second", {.name = "me"});
  Write("token", "second");
  EXPECT_TRUE(Run(client.Get<core::Namespace>({"", "default"})).ok());
}

TEST_F(ClientIntegrationTest, ClientCertificateLogsIn) {
  const Result<apiserver::KeyPair> pair = server_.ClientCertificate("scheduler", {"g"});
  ASSERT_TRUE(pair.ok()) << pair.status().ToString();
  const std::string certificate = Write("client.crt", pair->certificate_pem);
  const std::string key = Write("client.key", pair->key_pem);
  const std::string config = StrCat(
      "clusters: [{name: k, cluster: {server: '", server_.url(),
      "', certificate-authority-data: ", Base64Encode(server_.ca_pem()),
      "}}]\nusers: [{name: u, user: {client-certificate: '", certificate, "', client-key: '", key,
      "'}}]\ncontexts: [{name: c, context: {cluster: k, user: u}}]\ncurrent-context: c\n");
  EXPECT_TRUE(Run(NewClient({.qps = -1}, config).Get<core::Namespace>({"", "default"})).ok());
  EXPECT_EQ(api().log().back().user, "scheduler");
}

}  // namespace
}  // namespace csinative::kube
