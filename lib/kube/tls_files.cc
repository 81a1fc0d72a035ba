// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/tls_files.h"

#include <utility>

#include "lib/kube/kubeconfig.h"
#include "lib/kube/pem.h"

namespace csinative::kube {
Result<TlsFiles> TlsFiles::Load(const Clock& clock, const RestConfig& config, log::Logger log,
                                TlsFileAges ages) {
  TlsFiles files(clock, std::move(log), ages);
  files.settings_ = config.tls;
  files.authorities_checked_ = clock.Now();
  files.certificate_checked_ = clock.Now();
  if (config.tls.insecure_skip_verify && (!config.ca_file.empty() || !config.tls.ca_pem.empty())) {
    return InvalidArgumentError(
        "specifying a root certificates file with the insecure flag is not allowed");
  }
  if (!config.ca_file.empty() && config.tls.ca_pem.empty()) {
    // Without reloading, an empty file means the system's authorities.
    if (config.reload_ca) files.ca_file_ = config.ca_file;
    CSI_ASSIGN_OR_RETURN(files.settings_.ca_pem, ReadFile(config.ca_file));
  }
  if (!files.settings_.ca_pem.empty()) {
    const Status usable = CheckCertificates(files.settings_.ca_pem);
    if (!usable.ok()) return usable.WithContext("unable to load root certificates");
  }
  if (config.tls.client_certificate_pem.empty() && !config.client_certificate_file.empty()) {
    CSI_ASSIGN_OR_RETURN(files.settings_.client_certificate_pem,
                         ReadFile(config.client_certificate_file));
    files.certificate_file_ = config.client_certificate_file;
  }
  if (config.tls.client_key_pem.empty() && !config.client_key_file.empty()) {
    CSI_ASSIGN_OR_RETURN(files.settings_.client_key_pem, ReadFile(config.client_key_file));
    files.key_file_ = config.client_key_file;
  }
  // Only a pair of files can be replaced together.
  if (files.certificate_file_.empty() || files.key_file_.empty()) {
    files.certificate_file_.clear();
    files.key_file_.clear();
  }
  return files;
}

TlsFiles::Change TlsFiles::Check() {
  const bool authorities = AuthoritiesChanged();
  if (ClientCertificateChanged()) return Change::kClientCertificate;
  return authorities ? Change::kAuthorities : Change::kNone;
}

bool TlsFiles::AuthoritiesChanged() {
  const MonotonicTime now = clock_->Now();
  if (ca_file_.empty() || now - authorities_checked_ < ages_.authorities) return false;
  authorities_checked_ = now;
  authority_check_ = CheckAuthorities();
  return authority_check_->reason == "updated";
}

TlsFiles::AuthorityCheck TlsFiles::CheckAuthorities() {
  Result<std::string> content = ReadFile(ca_file_);
  if (!content.ok()) {
    log_.Error(content.status(), "Failed to read the CA file, keeping the current one");
    return {"failure", "read_error"};
  }
  if (*content == settings_.ca_pem) return {"success", "unchanged"};
  if (content->empty()) return {"failure", "empty"};
  const Status usable = CheckCertificates(*content);
  if (!usable.ok()) {
    log_.Error(usable, "Failed to parse the CA file, keeping the current one", "path", ca_file_);
    return {"failure", "ca_parse_error"};
  }
  settings_.ca_pem = *std::move(content);
  return {"success", "updated"};
}

bool TlsFiles::UseClientCertificate(const std::string& certificate_pem,
                                    const std::string& key_pem) {
  if (certificate_pem == settings_.client_certificate_pem && key_pem == settings_.client_key_pem) {
    return false;
  }
  settings_.client_certificate_pem = certificate_pem;
  settings_.client_key_pem = key_pem;
  return true;
}

bool TlsFiles::ClientCertificateChanged() {
  const MonotonicTime now = clock_->Now();
  if (certificate_file_.empty() || now - certificate_checked_ < ages_.client_certificate)
    return false;
  certificate_checked_ = now;
  Result<std::string> certificate = ReadFile(certificate_file_);
  Result<std::string> key = ReadFile(key_file_);
  if (!certificate.ok() || !key.ok()) {
    log_.Error(certificate.ok() ? key.status() : certificate.status(),
               "Failed to read the client certificate, keeping the current one");
    return false;
  }
  if (*certificate == settings_.client_certificate_pem && *key == settings_.client_key_pem) {
    return false;
  }
  settings_.client_certificate_pem = *std::move(certificate);
  settings_.client_key_pem = *std::move(key);
  return true;
}

}  // namespace csinative::kube
