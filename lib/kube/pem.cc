// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/pem.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <memory>
#include <string>

#include "lib/base/strings.h"

namespace csinative::kube {
namespace {

struct FreeOpenSsl {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};

using BioPtr = std::unique_ptr<BIO, FreeOpenSsl>;

// A view: the text outlives it.
BioPtr Open(std::string_view pem) {
  return BioPtr(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

// Takes the text of the last OpenSSL error and clears the queue.
std::string LastError() {
  const unsigned long code = ERR_peek_last_error();  // NOLINT(google-runtime-int)
  const char* reason = ERR_reason_error_string(code);
  std::string text = reason == nullptr ? "unknown error" : reason;
  ERR_clear_error();
  return text;
}

}  // namespace

Status CheckCertificates(std::string_view pem) {
  const BioPtr bio = Open(pem);
  for (int count = 0;; ++count) {
    const std::unique_ptr<X509, FreeOpenSsl> certificate(
        PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
    if (certificate != nullptr) continue;
    const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
    const std::string error = LastError();
    if (!at_end) {
      return InvalidArgumentError(StrCat("failed to parse certificate: ", error));
    }
    return count > 0 ? Status() : InvalidArgumentError("unable to parse bytes as PEM block");
  }
}

Status CheckKeyPair(std::string_view certificate_pem, std::string_view key_pem) {
  const BioPtr certificate_bio = Open(certificate_pem);
  const std::unique_ptr<X509, FreeOpenSsl> certificate(
      PEM_read_bio_X509(certificate_bio.get(), nullptr, nullptr, nullptr));
  if (certificate == nullptr) {
    return InvalidArgumentError(
        StrCat("tls: failed to find certificate PEM data in certificate input: ", LastError()));
  }
  const BioPtr key_bio = Open(key_pem);
  // An encrypted key asks nobody for its password.
  const auto no_password = [](char*, int, int, void*) { return -1; };
  const std::unique_ptr<EVP_PKEY, FreeOpenSsl> key(
      PEM_read_bio_PrivateKey(key_bio.get(), nullptr, no_password, nullptr));
  if (key == nullptr) {
    return InvalidArgumentError(
        StrCat("tls: failed to find a private key in key input: ", LastError()));
  }
  if (X509_check_private_key(certificate.get(), key.get()) == 1) return Status();
  LastError();
  return InvalidArgumentError("tls: private key does not match public key");
}

}  // namespace csinative::kube
