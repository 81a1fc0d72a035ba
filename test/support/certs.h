// SPDX-License-Identifier: Apache-2.0
//
// Certificates for tests, made when the test runs. ECDSA P-256 keys: making one takes less than a
// millisecond. Any thread, one at a time.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace csinative::testing {

struct KeyPair {
  std::string certificate_pem;
  std::string key_pem;
};

struct CertificateOptions {
  std::string common_name;
  std::vector<std::string> organizations;
  // Subject alternative names of a server: DNS names and IP addresses, told apart by their form.
  std::vector<std::string> names;
  // Validity relative to now.
  std::chrono::seconds not_before = -std::chrono::hours(1);
  std::chrono::seconds not_after = std::chrono::hours(24);
};

// A self-signed authority.
class CertificateAuthority {
 public:
  explicit CertificateAuthority(const std::string& common_name = "test-ca");
  ~CertificateAuthority();
  CertificateAuthority(const CertificateAuthority&) = delete;
  CertificateAuthority& operator=(const CertificateAuthority&) = delete;

  const std::string& certificate_pem() const;
  // For server authentication.
  KeyPair IssueServer(const CertificateOptions& options) const;
  // For client authentication: user common_name in groups organizations.
  KeyPair IssueClient(const CertificateOptions& options) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace csinative::testing
