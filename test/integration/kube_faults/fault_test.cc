// SPDX-License-Identifier: Apache-2.0
//
// Faults on real sockets that are over within seconds; lib/kube/README.md has the table of all. The
// bounds on requests are what the back-offs of reflector and exchange lead to, doubled for chance.
#include <gmock/gmock.h>

#include "apis/k8s.h"
#include "lib/base/strings.h"
#include "lib/kube/errors.h"
#include "test/integration/kube_faults/fault_fixture.h"

namespace csinative::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class FaultTest : public FaultFixture {
 protected:
  void FollowThroughProxy(Tls tls, bool watch_list = true) {
    Listen(tls);
    StartProxy();
    Follow(ConfigFor(ProxyUrl()), watch_list);
  }
};

TEST_F(FaultTest, ServerRestartsAndRefusesMeanwhile) {
  Listen(Tls::kOn);
  Follow(ConfigFor(ListenerUrl()));
  StopListening();
  Change();
  Sleep(milliseconds(1000));
  Listen(Tls::kOn);
  MarkRepaired();
  ExpectRecovery("server restarts, connections are refused", 5);
}

TEST_F(FaultTest, ServerRestartsAndConnectionsAreReset) {
  FollowThroughProxy(Tls::kOn);
  proxy_->set_mode(test::FaultProxy::Mode::kRefuse);
  proxy_->ResetConnections();
  Change();
  Sleep(milliseconds(1000));
  proxy_->set_mode(test::FaultProxy::Mode::kForward);
  MarkRepaired();
  ExpectRecovery("server restarts, connections are reset", 8);
}

TEST_F(FaultTest, HistoryIsCompactedDuringTheOutage) {
  FollowThroughProxy(Tls::kOn);
  proxy_->set_mode(test::FaultProxy::Mode::kRefuse);
  proxy_->ResetConnections();
  Change();
  Change();
  api().Compact();
  Sleep(milliseconds(200));
  proxy_->set_mode(test::FaultProxy::Mode::kForward);
  MarkRepaired();
  ExpectRecovery("etcd compaction, 410", 8);
}

class MidFrameTest : public FaultTest, public ::testing::WithParamInterface<Tls> {};

// The frames of one change are some hundred bytes. In TLS the cut is within a record.
TEST_P(MidFrameTest, ConnectionIsReset) {
  FollowThroughProxy(GetParam());
  const char* const where = GetParam() == Tls::kOn ? "TLS record" : "frame";
  for (const size_t bytes : {1, 3, 20, 150, 400}) {
    BeginCount();
    proxy_->ResetAfter(bytes);
    MarkRepaired();
    Change();
    ExpectRecovery(StrCat("reset after ", bytes, " bytes of a ", where).c_str(), 4);
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, MidFrameTest, ::testing::Values(Tls::kOff, Tls::kOn),
                         [](const auto& info) { return info.param == Tls::kOn ? "Tls" : "Plain"; });

TEST_F(FaultTest, ServerOfAnIpv6LiteralOnly) {
  Listen(Tls::kOn, "::1");
  ASSERT_THAT(ListenerUrl(), ::testing::StartsWith("https://[::1]:"))
      << "this test needs an IPv6 loopback address";
  Follow(ConfigFor(ListenerUrl()));
  listener_->DropConnections();
  MarkRepaired();
  Change();
  ExpectRecovery("IPv6 literal, connections drop", 5);
}

struct Storm {
  const char* name;
  const char* fault;
  int code;
  std::optional<int> retry_after;
  bool compacted;
  size_t most_requests;
};

class StormTest : public FaultTest, public ::testing::WithParamInterface<Storm> {};

TEST_P(StormTest, IsSurvived) {
  FollowThroughProxy(Tls::kOn);
  FailListsAndWatches({.code = GetParam().code, .retry_after_seconds = GetParam().retry_after});
  api().CutWatches();
  WaitUntil([this] { return api().open_watches() == 0; }, seconds(5));
  Change();
  if (GetParam().compacted) api().Compact();
  Sleep(milliseconds(1500));
  api().set_fault_hook(nullptr);
  MarkRepaired();
  ExpectRecovery(GetParam().fault, GetParam().most_requests);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, StormTest,
    ::testing::Values(Storm{"TooManyRequests", "429 storm, Retry-After: 1", 429, 1, false, 8},
                      Storm{"TooManyRequestsAtOnce", "429 storm, Retry-After: 0, then 410", 429, 0,
                            true, 40},
                      Storm{"InternalErrors", "500s, then 410", 500, {}, true, 14}),
    [](const auto& info) { return std::string(info.param.name); });

TEST_F(FaultTest, ServerSendsByteByByte) {
  Listen(Tls::kOff);
  StartProxy();
  proxy_->set_pause(std::chrono::microseconds(50));
  Follow(ConfigFor(ProxyUrl()));
  MarkRepaired();
  Change();
  ExpectRecovery("slow loris: a byte at a time", 4, seconds(20));
}

class TruncationTest : public FaultTest, public ::testing::WithParamInterface<size_t> {};

TEST_P(TruncationTest, OfAWatch) {
  FollowThroughProxy(Tls::kOn);
  TruncateNext(GetParam());
  api().EndWatches();
  MarkRepaired();
  Change();
  ExpectRecovery(StrCat("truncated protobuf of a watch, ", GetParam(), " bytes").c_str(), 6);
}

// 3: within the first length; 60: within the first object.
INSTANTIATE_TEST_SUITE_P(Bytes, TruncationTest, ::testing::Values(3, 60));

TEST_F(FaultTest, TruncatedProtobufOfAList) {
  FollowThroughProxy(Tls::kOn, false);
  api().set_fault_hook([](const apiserver::RequestInfo& request) {
    return request.verb == "watch" ? apiserver::Fault{.code = 410, .reason = "Expired"}
                                   : apiserver::Fault{};
  });
  api().CutWatches();
  ASSERT_TRUE(WaitUntil([this] { return Requests() > 0; }, seconds(10)));
  api().set_fault_hook(nullptr);
  TruncateNext(100);
  MarkRepaired();
  Change();
  ExpectRecovery("410, then truncated protobuf of a list", 6);
}

TEST_F(FaultTest, AuthorityAndServerCertificateAreReplaced) {
  transport_options_ = {.ages = {.authorities = Duration::zero()}};
  Listen(Tls::kOn);
  RestConfig config = ConfigFor(ListenerUrl());
  config.tls.ca_pem.clear();
  config.ca_file = Write("ca", authority_->certificate_pem());
  Follow(config);
  StopListening();
  authority_ = std::make_unique<testing::CertificateAuthority>("the next one");
  Listen(Tls::kOn);
  Change();
  Sleep(milliseconds(500));
  Write("ca", authority_->certificate_pem());
  MarkRepaired();
  ExpectRecovery("server certificate and authority rotated on disk", 5);
}

TEST_F(FaultTest, ClientCertificateIsReplaced) {
  transport_options_ = {.ages = {.client_certificate = Duration::zero()}};
  Listen(Tls::kOn);
  const auto write_certificate = [this](const std::string& user) {
    const testing::KeyPair pair =
        authority_->IssueClient({.common_name = user, .organizations = {"system:masters"}});
    Write("client.crt", pair.certificate_pem);
    Write("client.key", pair.key_pem);
  };
  write_certificate("first");
  RestConfig config = ConfigFor(ListenerUrl());
  config.bearer_token.clear();
  config.client_certificate_file = (dir_ / "client.crt").string();
  config.client_key_file = (dir_ / "client.key").string();
  Follow(config);
  write_certificate("second");
  MarkRepaired();
  // A look at the files; without another request it would come within five minutes.
  EXPECT_TRUE(Run(client_->Get<core::Namespace>({"", "default"})).ok());
  Change();
  ExpectRecovery("client certificate rotated on disk", 5);
  for (const apiserver::LoggedRequest& request : api().log()) {
    if (request.user_agent == "informer" && request.code != 0) EXPECT_EQ(request.user, "second");
  }
}

TEST_F(FaultTest, TokenExpires) {
  Listen(Tls::kOn);
  api().tokens().Add("first", {.name = "me"});
  RestConfig config = ConfigFor(ListenerUrl());
  config.bearer_token.clear();
  config.bearer_token_file = Write("token", "first");
  Follow(config);
  api().tokens().Revoke("first");
  api().CutWatches();
  Change();
  Sleep(milliseconds(1000));
  api().tokens().Add("second", {.name = "me"});
  Write("token", "second");
  MarkRepaired();
  ExpectRecovery("token expired, the file has a new one later", 12);
}

}  // namespace
}  // namespace csinative::kube
