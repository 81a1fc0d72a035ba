// SPDX-License-Identifier: Apache-2.0
//
// The embedded API server over TLS on a real socket.
#include "test/support/apiserver/api_server.h"

#include <gtest/gtest.h>

#include "lib/async/run.h"
#include "lib/async/timeout.h"
#include "lib/base/strings.h"
#include "lib/http/client.h"

namespace csinative::apiserver {
namespace {

constexpr char kMaps[] = "/api/v1/namespaces/default/configmaps";

class ApiServerTest : public ::testing::Test {
 protected:
  ApiServerTest() {
    Status started = server_.Start();
    EXPECT_TRUE(started.ok()) << started.ToString();
    client_ = NewClient({.ca_pem = server_.ca_pem()});
  }
  ~ApiServerTest() override {
    client_.reset();
    async::RunTask(loop_, server_.Close());
  }

  std::unique_ptr<http::Client> NewClient(http::TlsConfig tls) {
    http::ClientConfig config;
    config.base_url = server_.url();
    config.tls = std::move(tls);
    Result<std::unique_ptr<http::Client>> client = http::NewClient(loop_, std::move(config));
    EXPECT_TRUE(client.ok()) << client.status().ToString();
    return std::move(*client);
  }
  http::Request MakeRequest(std::string method, std::string target, std::string body = "") {
    http::Request request{.method = std::move(method), .target = std::move(target)};
    request.body = std::move(body);
    if (!token_.empty()) request.headers.Set("Authorization", "Bearer " + token_);
    if (!request.body.empty()) request.headers.Set("Content-Type", "application/json");
    return request;
  }
  Result<http::Response> Do(http::Client& client, http::Request request) {
    return async::RunTask(
        loop_, async::WithTimeout(std::chrono::seconds(30), client.Do(std::move(request))));
  }
  int Code(std::string method, std::string target, std::string body = "") {
    Result<http::Response> response =
        Do(*client_, MakeRequest(std::move(method), std::move(target), std::move(body)));
    EXPECT_TRUE(response.ok()) << response.status().ToString();
    return response.ok() ? response->status : 0;
  }
  // The next piece of a stream; empty at its end; the failure's text in brackets.
  std::string Read(http::StreamingResponse& stream) {
    Result<std::string> piece =
        async::RunTask(loop_, async::WithTimeout(std::chrono::seconds(30), stream.Read()));
    return piece.ok() ? *piece : StrCat("[", piece.status().ToString(), "]");
  }
  std::unique_ptr<http::StreamingResponse> Watch(std::string query) {
    auto stream = async::RunTask(
        loop_,
        client_->Stream(MakeRequest("GET", StrCat(kMaps, "?watch=true", query)), Duration(0)));
    EXPECT_TRUE(stream.ok()) << stream.status().ToString();
    return std::move(*stream);
  }

  async::RealLoop loop_;
  std::unique_ptr<Random> random_ = NewSystemRandom();
  EmbeddedApiServer server_{loop_, *random_};
  std::string token_ = server_.admin_token();
  std::unique_ptr<http::Client> client_;
};

TEST_F(ApiServerTest, AnswersOverTls) {
  EXPECT_EQ(Code("GET", "/readyz"), 200);
  EXPECT_EQ(Code("POST", kMaps, R"({"metadata":{"name":"a"}})"), 201);
  EXPECT_EQ(Code("GET", StrCat(kMaps, "/a")), 200);
}

TEST_F(ApiServerTest, ClientCertificateIsAUser) {
  Result<KeyPair> pair = server_.ClientCertificate("system:node:n", {"system:nodes"});
  ASSERT_TRUE(pair.ok());
  auto client = NewClient({.ca_pem = server_.ca_pem(),
                           .client_certificate_pem = pair->certificate_pem,
                           .client_key_pem = pair->key_pem});
  token_ = "";
  Result<http::Response> response = Do(*client, MakeRequest("GET", kMaps));
  ASSERT_TRUE(response.ok()) << response.status().ToString();
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(server_.api().log().back().user, "system:node:n");
}

TEST_F(ApiServerTest, OtherAuthorityIsNotTrusted) {
  Result<CertificateAuthority> other = CertificateAuthority::Create("other");
  ASSERT_TRUE(other.ok());
  auto client = NewClient({.ca_pem = other->certificate_pem()});
  Result<http::Response> response = Do(*client, MakeRequest("GET", "/readyz"));
  ASSERT_FALSE(response.ok());
  ASSERT_NE(response.status().transport_error(), nullptr);
  EXPECT_EQ(response.status().transport_error()->kind, TransportError::Kind::kTls);
}

TEST_F(ApiServerTest, WatchDeliversWhileItIsOpen) {
  std::unique_ptr<http::StreamingResponse> watch = Watch("");
  EXPECT_EQ(watch->status(), 200);
  ASSERT_EQ(Code("POST", kMaps, R"({"metadata":{"name":"a"}})"), 201);
  EXPECT_TRUE(Read(*watch).starts_with(R"({"type":"ADDED","object":{"kind":"ConfigMap")"));
  server_.api().EndWatches();
  EXPECT_EQ(Read(*watch), "");
}

TEST_F(ApiServerTest, CutWatchIsAnError) {
  std::unique_ptr<http::StreamingResponse> watch = Watch("");
  ASSERT_EQ(Code("POST", kMaps, R"({"metadata":{"name":"a"}})"), 201);
  Read(*watch);
  server_.api().CutWatches();
  EXPECT_TRUE(Read(*watch).starts_with("["));
}

TEST_F(ApiServerTest, ClosedWatchLeavesTheServer) {
  std::unique_ptr<http::StreamingResponse> watch = Watch("");
  ASSERT_EQ(Code("POST", kMaps, R"({"metadata":{"name":"a"}})"), 201);
  Read(*watch);
  EXPECT_EQ(server_.api().open_watches(), 1u);
  watch.reset();
  for (int i = 0; i < 1000 && server_.api().open_watches() > 0; ++i) Code("GET", "/readyz");
  EXPECT_EQ(server_.api().open_watches(), 0u);
}

TEST_F(ApiServerTest, DroppedConnectionsLeaveObjects) {
  ASSERT_EQ(Code("POST", kMaps, R"({"metadata":{"name":"a"}})"), 201);
  std::unique_ptr<http::StreamingResponse> watch = Watch("");
  Read(*watch);
  server_.DropConnections();
  EXPECT_TRUE(Read(*watch).starts_with("["));
  // A request on a kept connection may notice the drop; the next one connects anew.
  (void)Do(*client_, MakeRequest("GET", "/readyz")).ok();
  EXPECT_EQ(Code("GET", StrCat(kMaps, "/a")), 200);
}

TEST_F(ApiServerTest, DroppedAnswerIsATransportError) {
  server_.api().set_fault_hook([](const RequestInfo& info) {
    return Fault{.drop = info.verb == "create" ? Fault::Drop::kAfter : Fault::Drop::kNone};
  });
  Result<http::Response> response =
      Do(*client_, MakeRequest("POST", kMaps, R"({"metadata":{"name":"a"}})"));
  ASSERT_FALSE(response.ok());
  EXPECT_NE(response.status().transport_error(), nullptr);
  server_.api().set_fault_hook(nullptr);
  EXPECT_EQ(Code("GET", StrCat(kMaps, "/a")), 200);
  EXPECT_EQ(server_.api().ListObjects("", "configmaps").size(), 1u);
}

TEST_F(ApiServerTest, KubeconfigNamesServerAuthorityAndToken) {
  std::string text = server_.Kubeconfig();
  EXPECT_NE(text.find("server: " + server_.url()), std::string::npos);
  EXPECT_NE(text.find("certificate-authority-data: "), std::string::npos);
  EXPECT_NE(text.find("token: " + server_.admin_token()), std::string::npos);
}

}  // namespace
}  // namespace csinative::apiserver
