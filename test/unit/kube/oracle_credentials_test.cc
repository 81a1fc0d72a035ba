// SPDX-License-Identifier: Apache-2.0
//
// kube-client 24.2: tokens, header fields, TLS settings and what changes in them, the user agent.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "apis/k8s.h"
#include "lib/async/real_loop.h"
#include "lib/async/run.h"
#include "lib/async/timeout.h"
#include "lib/async/virtual_loop.h"
#include "lib/base/base64.h"
#include "lib/base/strings.h"
#include "lib/kube/client.h"
#include "lib/kube/credentials.h"
#include "lib/kube/http_log.h"
#include "lib/kube/http_transport.h"
#include "lib/kube/tls_files.h"
#include "lib/kube/token_cache.h"
#include "lib/kube/url.h"
#include "lib/kube/user_agent.h"
#include "test/support/certs.h"
#include "test/support/fake_api_transport.h"
#include "test/support/kube_wire.h"
#include "test/support/oracle.h"
#include "test/unit/kube/temp_folder.h"

namespace csinative::kube {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using Fields = std::vector<std::pair<std::string, std::string>>;

class CredentialsOracle : public ::testing::Test {
 protected:
  Fields HeaderOf(const RestConfig& config, http::Headers headers = {}) {
    Credentials::Create(loop_, config, {})->AddTo(&headers);
    return headers.fields();
  }

  testing::TempFolder folder_;
  async::VirtualScheduler scheduler_;
  async::VirtualLoop loop_{scheduler_};
};

TEST_F(CredentialsOracle, CachedTokens) {
  int calls = 0;
  const auto source = [&]() -> Result<TimedToken> {
    return TimedToken{StrCat("token", ++calls), loop_.Now() + minutes(10)};
  };
  {
    const oracle::Row row("kube-client/24.2/1");
    TokenCache cache(loop_, source, minutes(1));
    EXPECT_EQ(cache.Get()->token, "token1");
    EXPECT_EQ(cache.Get()->token, "token1");
    scheduler_.Advance(minutes(8));
    EXPECT_EQ(cache.Get()->token, "token1");
    scheduler_.Advance(minutes(2));
    EXPECT_EQ(cache.Get()->token, "token2");
  }
  {
    const oracle::Row row("kube-client/24.2/2");
    int failing_calls = 0;
    TokenCache cache(
        loop_,
        [&]() -> Result<TimedToken> {
          ++failing_calls;
          return UnavailableError("boom");
        },
        minutes(1));
    EXPECT_EQ(cache.Get().status().message(), "boom");
    EXPECT_EQ(failing_calls, 1);
  }
  {
    const oracle::Row row("kube-client/24.2/3");
    calls = 0;
    TokenCache cache(loop_, source, minutes(1));
    for (int i = 0; i < 100; ++i) EXPECT_EQ(cache.Get()->token, "token1");
    EXPECT_EQ(calls, 1);
  }
  {
    // The file is not there: whoever looked at it would complain.
    const oracle::Row row("kube-client/24.2/4");
    auto output = std::make_shared<log::CollectingOutput>();
    Credentials credentials = *Credentials::Create(
        loop_, {.bearer_token_file = folder_.Path("missing")}, log::NewLogger(output));
    http::Headers headers;
    headers.Add("Authorization", "Bearer mine");
    credentials.AddTo(&headers);
    EXPECT_THAT(headers.fields(), ElementsAre(Pair("Authorization", "Bearer mine")));
    EXPECT_TRUE(output->Records().empty());
  }
  {
    const oracle::Row row("kube-client/24.2/5");
    calls = 0;
    TokenCache cache(loop_, source, minutes(1));
    EXPECT_EQ(cache.Get()->token, "token1");
    cache.Expire();
    EXPECT_EQ(cache.Get()->token, "token2");
  }
}

TEST_F(CredentialsOracle, HeaderFields) {
  {
    const oracle::Row row("kube-client/24.2/6");
    EXPECT_THAT(HeaderOf({.bearer_token = "test"}),
                ElementsAre(Pair("Authorization", "Bearer test")));
  }
  {
    const oracle::Row row("kube-client/24.2/7");
    EXPECT_THAT(HeaderOf({.username = "user"}),
                ElementsAre(Pair("Authorization", "Basic " + Base64Encode("user:"))));
  }
  for (const char* preset : {"other", ""}) {
    const oracle::Row row("kube-client/24.2/8");
    http::Headers headers;
    if (*preset != '\0') headers.Add("User-Agent", preset);
    AddIfAbsent("User-Agent", "test", &headers);
    EXPECT_THAT(headers.fields(),
                ElementsAre(Pair("User-Agent", *preset != '\0' ? "other" : "test")));
  }
  {
    const oracle::Row row("kube-client/24.2/9");
    EXPECT_THAT(
        HeaderOf({.impersonate_user = "user",
                  .impersonate_uid = "uid-abc-123",
                  .impersonate_groups = {"one", "two"},
                  .impersonate_extra = {{"first", {"A", "a"}}, {"second", {"B", "b"}}}}),
        ElementsAre(Pair("Impersonate-User", "user"), Pair("Impersonate-Uid", "uid-abc-123"),
                    Pair("Impersonate-Group", "one"), Pair("Impersonate-Group", "two"),
                    Pair("Impersonate-Extra-First", "A"), Pair("Impersonate-Extra-First", "a"),
                    Pair("Impersonate-Extra-Second", "B"), Pair("Impersonate-Extra-Second", "b")));
  }
  const std::pair<const char*, const char*> kExtraKeys[] = {
      {"test.example.com/thing.thing", "Impersonate-Extra-Test.example.com%2fthing.thing"},
      {"test.example.com/thing.thing%20another.thing",
       "Impersonate-Extra-Test.example.com%2fthing.thing%2520another.thing"}};
  for (const auto& [key, header] : kExtraKeys) {
    const oracle::Row row("kube-client/24.2/10");
    EXPECT_EQ(ImpersonateExtraHeader(key), header);
  }
  for (const std::string key :
       {"alphabetical", "alph4num3r1c", "percent%20encoded", "almost%zzpercent%xxencoded",
        "example.com/percent%20encoded", "例え", "abc123!#$+.-_*\\^`~|'", "@=:"}) {
    const oracle::Row row("kube-client/24.2/11");
    const std::string escaped = EscapeHeaderKey(key);
    EXPECT_EQ(escaped.find_first_of("@=:\\/ "), std::string::npos) << escaped;
    std::string decoded;
    for (size_t i = 0; i < escaped.size(); ++i) {
      if (escaped[i] != '%') {
        decoded += escaped[i];
        continue;
      }
      decoded += static_cast<char>(std::stoi(escaped.substr(i + 1, 2), nullptr, 16));
      i += 2;
    }
    EXPECT_EQ(decoded, key);
  }
  const std::pair<const char*, const char*> kMasks[] = {{"Basic x", "Basic <masked>"},
                                                        {"basic", "basic"},
                                                        {"Bearer x", "Bearer <masked>"},
                                                        {"bearer ", "bearer"},
                                                        {"Negotiate x", "Negotiate <masked>"},
                                                        {"abc x", "<masked>"},
                                                        {"", ""}};
  for (const auto& [value, shown] : kMasks) {
    const oracle::Row row("kube-client/24.2/12");
    EXPECT_EQ(MaskedHeaderValue("Authorization", value), shown);
    EXPECT_EQ(MaskedHeaderValue("Other", value), value);
  }
}

class TlsOracle : public CredentialsOracle {
 protected:
  TlsOracle() {
    const testing::KeyPair pair = authority_.IssueClient({.common_name = "user"});
    certificate_ = pair.certificate_pem;
    key_ = pair.key_pem;
    ca_ = authority_.certificate_pem();
    other_ca_ = testing::CertificateAuthority("other").certificate_pem();
  }
  // What building a transport says; "" if it works.
  std::string Problem(RestConfig config) {
    config.host = "https://localhost:1";
    return NewHttpTransport(real_loop_, std::move(config), "test", {}).status().message();
  }
  Result<TlsFiles> Load(const RestConfig& config) { return TlsFiles::Load(loop_, config, {}); }

  async::RealLoop real_loop_;
  testing::CertificateAuthority authority_;
  std::string certificate_, key_, ca_, other_ca_;
};

TEST_F(TlsOracle, Settings) {
  struct Entry {
    const char* name;
    RestConfig config;
    bool works;
  };
  const std::string bad = folder_.Write("bad", "bad");
  // A callback for certificates does not exist here.
  const Entry kEntries[] = {
      {"garbage after the authority",
       {.tls = {.ca_pem = ca_ + "-----BEGIN CERTIFICATE-----\nAA"}},
       false},
      {"authority data over a bad file", {.tls = {.ca_pem = ca_}, .ca_file = bad}, true},
      {"certificate with a bad key",
       {.tls = {.client_certificate_pem = certificate_, .client_key_pem = "bad"}},
       false},
      {"certificate without its key file",
       {.tls = {.client_certificate_pem = certificate_}, .client_key_file = folder_.Path("no")},
       false},
      {"key data over a bad file",
       {.tls = {.client_certificate_pem = certificate_, .client_key_pem = key_},
        .client_key_file = bad},
       true},
  };
  for (const Entry& entry : kEntries) {
    const oracle::Row row("kube-client/24.2/14");
    EXPECT_EQ(Problem(entry.config).empty(), entry.works) << entry.name << Problem(entry.config);
  }
  {
    const oracle::Row row("kube-client/24.2/15");
    EXPECT_EQ(Load({})->settings(), http::TlsConfig());
  }
  {
    const oracle::Row row("kube-client/24.2/16");
    EXPECT_EQ(Problem({.tls = {.ca_pem = ca_, .insecure_skip_verify = true}}),
              "specifying a root certificates file with the insecure flag is not allowed");
  }
  for (const bool reload : {true, false}) {
    const oracle::Row row("kube-client/24.2/17");
    const Result<TlsFiles> files =
        Load({.ca_file = folder_.Write("empty", ""), .reload_ca = reload});
    EXPECT_EQ(files->trusts_nothing(), reload);
    EXPECT_EQ(files->settings().ca_pem, "");  // of lib/http: the system's authorities
  }
}

struct AuthorityEntry {
  const char* name;
  std::string before;
  const char* after;  // null: the file is gone
  bool rotates;
  TlsFiles::AuthorityCheck check;
};

TEST_F(TlsOracle, AuthorityFiles) {
  const AuthorityEntry kEntries[] = {
      {"same", ca_, ca_.c_str(), false, {"success", "unchanged"}},
      {"changed", ca_, other_ca_.c_str(), true, {"success", "updated"}},
      {"panda", ca_, "panda", false, {"failure", "ca_parse_error"}},
      {"missing", ca_, nullptr, false, {"failure", "read_error"}},
      {"emptied", ca_, "", false, {"failure", "empty"}},
      {"filled", "", ca_.c_str(), true, {"success", "updated"}},
  };
  for (const AuthorityEntry& entry : kEntries) {
    const oracle::Row rotates("kube-client/24.2/18");
    const std::string path = folder_.Write("ca", entry.before);
    TlsFiles files = *Load({.ca_file = path});
    if (entry.after == nullptr) {
      std::filesystem::remove(path);
    } else {
      folder_.Write("ca", entry.after);
    }
    scheduler_.Advance(minutes(5));
    EXPECT_EQ(files.Check() == TlsFiles::Change::kAuthorities, entry.rotates) << entry.name;
    const oracle::Row outcome("kube-client/24.2/21");
    ASSERT_TRUE(files.last_authority_check()) << entry.name;
    EXPECT_EQ(*files.last_authority_check(), entry.check) << entry.name;
  }
  struct SourceEntry {
    RestConfig config;
    bool reloads;
  };
  const std::string path = folder_.Write("ca", ca_);
  const SourceEntry kSources[] = {{{.ca_file = path}, true},
                                  {{.tls = {.ca_pem = ca_}, .ca_file = path}, false},
                                  {{.tls = {.ca_pem = ca_}}, false},
                                  {{}, false}};
  for (const SourceEntry& entry : kSources) {
    const oracle::Row row("kube-client/24.2/19");
    TlsFiles files = *Load(entry.config);
    scheduler_.Advance(minutes(5));
    files.Check();
    EXPECT_EQ(files.last_authority_check().has_value(), entry.reloads);
  }
}

TEST(UserAgentOracle, Parts) {
  struct Entry {
    UserAgentParts parts;
    const char* text;
  };
  const Entry kParts[] = {
      {{"home/bob/Downloads/beans", "1.2.3-alpha4", "1234567890", "o", "a"},
       "beans/1.2.3 (o/a) kubernetes/1234567"},
      {{"beans", "1.2.3", "123456", "o", "a"}, "beans/1.2.3 (o/a) kubernetes/123456"},
      {{"", "", "", "o", "a"}, "unknown/unknown (o/a) kubernetes/unknown"},
  };
  for (const Entry& entry : kParts) {
    const oracle::Row row("kube-client/24.2/26");
    EXPECT_EQ(UserAgentText(entry.parts), entry.text);
  }
  const oracle::Row row("kube-client/24.2/27");
  EXPECT_EQ(JoinUserAgent({"lynx", "nicest", "baaaaaaaaad", "beos", "itanium"}),
            "lynx/nicest (beos/itanium) kubernetes/baaaaaaaaad");
}

class ClientLimitsOracle : public CredentialsOracle {
 protected:
  // How long `requests` requests take.
  Duration Take(const ClientOptions& options, int requests) {
    std::unique_ptr<Client> client =
        *Client::Create(loop_, *random_, transport_, {}, ClientOptions(options));
    transport_.AnswerAlways(
        [](const ApiRequest&) { return testing::ProtobufAnswer(core::Node()); });
    const MonotonicTime start = loop_.Now();
    for (int i = 0; i < requests; ++i) {
      EXPECT_TRUE(async::RunTask(scheduler_, loop_, client->Get<core::Node>({"", "n"})).ok());
    }
    return loop_.Now() - start;
  }
  std::unique_ptr<Random> random_ = NewSeededRandom(1);
  testing::FakeApiTransport transport_{loop_};
};

TEST_F(ClientLimitsOracle, QpsAndTimeout) {
  struct Entry {
    float qps;
    int burst;
    Duration time;  // of 21 requests
  };
  // A limiter given from outside does not exist here.
  const Entry kEntries[] = {{0, 0, std::chrono::milliseconds(2200)},
                            {10, 10, std::chrono::milliseconds(1100)},
                            {-1, 0, {}}};
  for (const Entry& entry : kEntries) {
    const oracle::Row row("kube-client/24.2/28");
    EXPECT_EQ(Take({.qps = entry.qps, .burst = entry.burst}, 21), entry.time) << entry.qps;
  }
  {
    const oracle::Row row("kube-client/24.2/25");
    std::unique_ptr<Client> client = *Client::Create(loop_, *random_, transport_, {}, {.qps = -1});
    transport_.Answer(testing::ProtobufAnswer(core::Node()), seconds(2));
    const auto got = async::RunTask(
        scheduler_, loop_, async::WithTimeout(seconds(1), client->Get<core::Node>({"", "n"})));
    EXPECT_THAT(got.status().message(), HasSubstr("deadline exceeded"));
  }
}

}  // namespace
}  // namespace csinative::kube
