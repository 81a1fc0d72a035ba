// SPDX-License-Identifier: Apache-2.0
//
// A throw-away certificate authority for tests: EC keys, valid from an hour ago for ten years. Any
// thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lib/base/result.h"

namespace csinative::apiserver {

struct KeyPair {
  std::string certificate_pem;
  std::string key_pem;
};

class CertificateAuthority {
 public:
  static Result<CertificateAuthority> Create(const std::string& common_name);
  CertificateAuthority(CertificateAuthority&&) noexcept;
  CertificateAuthority& operator=(CertificateAuthority&&) noexcept;
  ~CertificateAuthority();

  const std::string& certificate_pem() const { return pair_.certificate_pem; }
  const std::string& key_pem() const { return pair_.key_pem; }

  // For a server under these names ("DNS:localhost", "IP:127.0.0.1", "IP:::1").
  Result<KeyPair> IssueServer(const std::string& common_name,
                              const std::vector<std::string>& names) const;
  // For a client: user and groups.
  Result<KeyPair> IssueClient(const std::string& common_name,
                              const std::vector<std::string>& organizations) const;

 private:
  struct Impl;
  explicit CertificateAuthority(std::unique_ptr<Impl> impl, KeyPair pair);

  std::unique_ptr<Impl> impl_;
  KeyPair pair_;
};

}  // namespace csinative::apiserver
