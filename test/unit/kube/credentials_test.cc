// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "lib/async/virtual_loop.h"

namespace csinative::kube {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

class CredentialsTest : public ::testing::Test {
 protected:
  CredentialsTest() {
    std::string name = std::filesystem::temp_directory_path() / "credentials_test.XXXXXX";
    dir_ = ::mkdtemp(name.data());
  }
  ~CredentialsTest() override { std::filesystem::remove_all(dir_); }

  void WriteToken(const std::string& token) { std::ofstream(dir_ / "token") << token; }
  void Use(RestConfig config) {
    credentials_ = *Credentials::Create(loop_, config, log::NewLogger(output_));
  }
  void UseTokenFile(const std::string& first) {
    Use({.bearer_token = first, .bearer_token_file = (dir_ / "token").string()});
  }
  std::vector<std::pair<std::string, std::string>> Fields() {
    http::Headers headers;
    credentials_->AddTo(&headers);
    return headers.fields();
  }
  std::string Authorization() {
    const auto fields = Fields();
    return fields.empty() ? "" : fields[0].second;
  }

  std::filesystem::path dir_;
  async::VirtualScheduler scheduler_;
  async::VirtualLoop loop_{scheduler_};
  std::shared_ptr<log::CollectingOutput> output_ = std::make_shared<log::CollectingOutput>();
  std::optional<Credentials> credentials_;
};

// kube-client 24.2 B1, B2.
TEST_F(CredentialsTest, TokenOrBasic) {
  Use({.bearer_token = "test"});
  EXPECT_THAT(Fields(), ElementsAre(Pair("Authorization", "Bearer test")));
  Use({.username = "user"});
  EXPECT_THAT(Fields(), ElementsAre(Pair("Authorization", "Basic dXNlcjo=")));
  EXPECT_EQ(
      Credentials::Create(loop_, {.bearer_token = "t", .username = "u"}, {}).status().message(),
      "username/password or bearer token may be set, but not both");
}

// kube-client 4.2.
TEST_F(CredentialsTest, TokenFileIsReadAgainAfterFiftySeconds) {
  WriteToken("one\n");
  UseTokenFile("configured");
  EXPECT_EQ(Authorization(), "Bearer one");
  WriteToken("two");
  scheduler_.Advance(seconds(49));
  EXPECT_EQ(Authorization(), "Bearer one");
  scheduler_.Advance(seconds(1));
  EXPECT_EQ(Authorization(), "Bearer two");
}

TEST_F(CredentialsTest, UnusableTokenFileKeepsTheLastToken) {
  UseTokenFile("configured\n");
  EXPECT_EQ(Authorization(), "Bearer configured");
  EXPECT_THAT(output_->Last(), HasSubstr("Unable to rotate token"));
  WriteToken("one");
  EXPECT_EQ(Authorization(), "Bearer one");
  WriteToken(" \n");
  scheduler_.Advance(seconds(50));
  EXPECT_EQ(Authorization(), "Bearer one");
  WriteToken("two");
  EXPECT_EQ(Authorization(), "Bearer two");
}

TEST_F(CredentialsTest, RejectedTokenIsReadAgainAtOnce) {
  WriteToken("one");
  UseTokenFile("");
  EXPECT_EQ(Authorization(), "Bearer one");
  WriteToken("two");
  credentials_->OnUnauthorized();
  EXPECT_EQ(Authorization(), "Bearer two");
}

// I1, I2.
TEST_F(CredentialsTest, Impersonation) {
  Use({.impersonate_user = "user",
       .impersonate_uid = "uid",
       .impersonate_groups = {"one", "two"},
       .impersonate_extra = {{"first", {"A", "a"}}}});
  EXPECT_THAT(
      Fields(),
      ElementsAre(Pair("Impersonate-User", "user"), Pair("Impersonate-Uid", "uid"),
                  Pair("Impersonate-Group", "one"), Pair("Impersonate-Group", "two"),
                  Pair("Impersonate-Extra-First", "A"), Pair("Impersonate-Extra-First", "a")));
  EXPECT_EQ(ImpersonateExtraHeader("test.example.com/thing.thing"),
            "Impersonate-Extra-Test.example.com%2fthing.thing");
  EXPECT_EQ(ImpersonateExtraHeader("thing%20another"), "Impersonate-Extra-Thing%2520another");
}

}  // namespace
}  // namespace csinative::kube
