// SPDX-License-Identifier: Apache-2.0
//
// TLS settings whose certificates come from files that are replaced while we run (kube-client 4.3,
// 4.4). Loop only; reads the files when it checks them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/http/client.h"
#include "lib/kube/config.h"
#include "lib/log/logger.h"

namespace csinative::kube {

// How old a copy of a file may be when a request is sent.
struct TlsFileAges {
  // client-go transport, CARotation.
  Duration authorities = std::chrono::minutes(5);
  // client-go looks at the pair on each handshake; we cannot see those, so a request looks now and
  // then: the new certificate is issued long before the old one ends.
  Duration client_certificate = std::chrono::minutes(1);
};

class TlsFiles {
 public:
  // How often the client certificate is looked at without a request.
  static constexpr Duration kCheckPeriod = std::chrono::minutes(5);

  // Reads the files. kInvalidArgument for an authority file that is neither empty nor readable as
  // certificates, and for settings that contradict each other. Borrowed: the clock.
  static Result<TlsFiles> Load(const Clock& clock, const RestConfig& config, log::Logger log,
                               TlsFileAges ages = {});

  enum class Change {
    kNone,
    kAuthorities,        // for new connections
    kClientCertificate,  // existing connections should end
  };
  // Looks at the files that are due. A file that became unusable changes nothing.
  Change Check();

  // A pair that did not come from files. True if it is another one than before.
  bool UseClientCertificate(const std::string& certificate_pem, const std::string& key_pem);

  // What the last look at the authority file found, as client-go's metric names it.
  struct AuthorityCheck {
    std::string_view result;  // "success", "failure"
    std::string_view reason;  // "unchanged", "updated", "read_error", "empty", "ca_parse_error"
    bool operator==(const AuthorityCheck&) const = default;
  };
  const std::optional<AuthorityCheck>& last_authority_check() const { return authority_check_; }

  const http::TlsConfig& settings() const { return settings_; }
  // The authority file is empty: no server is trusted until it is filled.
  bool trusts_nothing() const { return !ca_file_.empty() && settings_.ca_pem.empty(); }
  bool has_client_certificate_files() const { return !certificate_file_.empty(); }

 private:
  TlsFiles(const Clock& clock, log::Logger log, TlsFileAges ages)
      : clock_(&clock), log_(std::move(log)), ages_(ages) {}
  bool AuthoritiesChanged();
  AuthorityCheck CheckAuthorities();
  bool ClientCertificateChanged();

  const Clock* clock_;
  log::Logger log_;
  TlsFileAges ages_;
  http::TlsConfig settings_;
  std::string ca_file_;  // empty: does not change
  std::optional<AuthorityCheck> authority_check_;
  std::string certificate_file_;
  std::string key_file_;
  MonotonicTime authorities_checked_;
  MonotonicTime certificate_checked_;
};

}  // namespace csinative::kube
