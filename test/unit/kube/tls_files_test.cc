// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/tls_files.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "lib/async/virtual_loop.h"
#include "test/support/certs.h"

namespace csinative::kube {
namespace {

using Change = TlsFiles::Change;

class TlsFilesTest : public ::testing::Test {
 protected:
  TlsFilesTest() {
    std::string name = std::filesystem::temp_directory_path() / "tls_files_test.XXXXXX";
    dir_ = ::mkdtemp(name.data());
  }
  ~TlsFilesTest() override { std::filesystem::remove_all(dir_); }

  std::string Path(const std::string& name) { return (dir_ / name).string(); }
  void Write(const std::string& name, const std::string& content) {
    std::ofstream(dir_ / name) << content;
  }
  Result<TlsFiles> Load(RestConfig config) { return TlsFiles::Load(loop_, config, {}); }
  Change CheckAfter(Duration pause, TlsFiles& files) {
    scheduler_.Advance(pause);
    return files.Check();
  }

  const std::string first_ = testing::CertificateAuthority("one").certificate_pem();
  const std::string second_ = testing::CertificateAuthority("two").certificate_pem();
  std::filesystem::path dir_;
  async::VirtualScheduler scheduler_;
  async::VirtualLoop loop_{scheduler_};
};

// kube-client 4.3 and 24.2 CA1.
TEST_F(TlsFilesTest, AuthoritiesAreCheckedEveryFiveMinutes) {
  Write("ca", first_);
  TlsFiles files = *Load({.ca_file = Path("ca")});
  EXPECT_EQ(files.settings().ca_pem, first_);
  Write("ca", second_);
  EXPECT_EQ(CheckAfter(std::chrono::seconds(299), files), Change::kNone);
  EXPECT_EQ(CheckAfter(std::chrono::seconds(1), files), Change::kAuthorities);
  EXPECT_EQ(files.settings().ca_pem, second_);
  EXPECT_EQ(CheckAfter(TlsFiles::kCheckPeriod, files), Change::kNone);
}

TEST_F(TlsFilesTest, UnusableAuthoritiesChangeNothing) {
  Write("ca", first_);
  TlsFiles files = *Load({.ca_file = Path("ca")});
  for (const char* content : {"panda", "", "-----BEGIN CERTIFICATE-----\nx"}) {
    Write("ca", content);
    EXPECT_EQ(CheckAfter(TlsFiles::kCheckPeriod, files), Change::kNone) << content;
  }
  std::filesystem::remove(dir_ / "ca");
  EXPECT_EQ(CheckAfter(TlsFiles::kCheckPeriod, files), Change::kNone);
  EXPECT_EQ(files.settings().ca_pem, first_);
}

TEST_F(TlsFilesTest, EmptyAuthorityFileTrustsNothingUntilItIsFilled) {
  Write("ca", "");
  TlsFiles files = *Load({.ca_file = Path("ca")});
  EXPECT_TRUE(files.trusts_nothing());
  Write("ca", first_);
  EXPECT_EQ(CheckAfter(TlsFiles::kCheckPeriod, files), Change::kAuthorities);
  EXPECT_FALSE(files.trusts_nothing());
}

// CA2, X1, X3.
TEST_F(TlsFilesTest, InlineDataBeatsTheFile) {
  Write("ca", first_);
  TlsFiles files = *Load({.tls = {.ca_pem = second_}, .ca_file = Path("ca")});
  EXPECT_EQ(files.settings().ca_pem, second_);
  EXPECT_EQ(CheckAfter(TlsFiles::kCheckPeriod, files), Change::kNone);
}

TEST_F(TlsFilesTest, ContradictionsAndGarbageAreRefused) {
  EXPECT_EQ(Load({.tls = {.ca_pem = first_, .insecure_skip_verify = true}}).status().message(),
            "specifying a root certificates file with the insecure flag is not allowed");
  EXPECT_EQ(Load({.tls = {.ca_pem = "panda"}}).status().message(),
            "unable to load root certificates: unable to parse bytes as PEM block");
  EXPECT_FALSE(Load({.tls = {.ca_pem = first_ + "-----BEGIN CERTIFICATE-----\nAAAA\n"
                                                "-----END CERTIFICATE-----\n"}})
                   .ok());
  EXPECT_FALSE(Load({.ca_file = Path("missing")}).ok());
}

// kube-client 4.4.
TEST_F(TlsFilesTest, ClientCertificatePairIsReplacedTogether) {
  Write("cert", "C1");
  Write("key", "K1");
  TlsFiles files = *Load({.client_certificate_file = Path("cert"), .client_key_file = Path("key")});
  EXPECT_TRUE(files.has_client_certificate_files());
  EXPECT_EQ(CheckAfter(TlsFiles::kCheckPeriod, files), Change::kNone);
  Write("cert", "C2");
  Write("key", "K2");
  EXPECT_EQ(CheckAfter(TlsFiles::kCheckPeriod, files), Change::kClientCertificate);
  EXPECT_EQ(files.settings().client_certificate_pem, "C2");
  EXPECT_EQ(files.settings().client_key_pem, "K2");
}

TEST_F(TlsFilesTest, PairWithAnInlinePartIsStatic) {
  Write("cert", "C1");
  TlsFiles files = *Load({.tls = {.client_key_pem = "K"}, .client_certificate_file = Path("cert")});
  EXPECT_FALSE(files.has_client_certificate_files());
  EXPECT_EQ(files.settings().client_certificate_pem, "C1");
}

}  // namespace
}  // namespace csinative::kube
