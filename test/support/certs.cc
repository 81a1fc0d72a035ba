// SPDX-License-Identifier: Apache-2.0
#include "test/support/certs.h"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <cstdlib>

namespace csinative::testing {
namespace {

struct Deleter {
  void operator()(EVP_PKEY* p) const { EVP_PKEY_free(p); }
  void operator()(X509* p) const { X509_free(p); }
  void operator()(BIO* p) const { BIO_free_all(p); }
  void operator()(X509_EXTENSION* p) const { X509_EXTENSION_free(p); }
};
template <typename T>
using Owned = std::unique_ptr<T, Deleter>;

void Check(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "test certificates: %s failed\n", what);
  ERR_print_errors_fp(stderr);
  std::abort();
}

template <typename Write>
std::string ToPem(Write write) {
  Owned<BIO> bio(BIO_new(BIO_s_mem()));
  Check(write(bio.get()) == 1, "PEM");
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);  // NOLINT: OpenSSL's type
  return std::string(data, static_cast<size_t>(size));
}

std::string CertificatePem(X509* certificate) {
  return ToPem([&](BIO* bio) { return PEM_write_bio_X509(bio, certificate); });
}

bool IsIp(const std::string& name) {
  unsigned char buffer[16];
  return inet_pton(AF_INET, name.c_str(), buffer) == 1 ||
         inet_pton(AF_INET6, name.c_str(), buffer) == 1;
}

void AddExtension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  Owned<X509_EXTENSION> extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  Check(extension != nullptr, value.c_str());
  Check(X509_add_ext(certificate, extension.get(), -1) == 1, "X509_add_ext");
}

Owned<EVP_PKEY> NewKey() {
  Owned<EVP_PKEY> key(EVP_EC_gen("P-256"));
  Check(key != nullptr, "key");
  return key;
}

// Everything but the extensions of the purpose and the signature.
Owned<X509> NewCertificate(EVP_PKEY* key, const CertificateOptions& options) {
  Owned<X509> certificate(X509_new());
  X509* c = certificate.get();
  X509_set_version(c, 2);
  unsigned char serial[8];
  Check(RAND_bytes(serial, sizeof(serial)) == 1, "RAND_bytes");
  uint64_t number = 0;
  for (unsigned char byte : serial) number = number << 8 | byte;
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(c), number >> 1);
  X509_gmtime_adj(X509_getm_notBefore(c), options.not_before.count());
  X509_gmtime_adj(X509_getm_notAfter(c), options.not_after.count());
  X509_set_pubkey(c, key);
  X509_NAME* subject = X509_get_subject_name(c);
  const auto add = [&](const char* field, const std::string& value) {
    X509_NAME_add_entry_by_txt(subject, field, MBSTRING_UTF8,
                               reinterpret_cast<const unsigned char*>(value.c_str()), -1, -1, 0);
  };
  for (const std::string& organization : options.organizations) add("O", organization);
  add("CN", options.common_name);
  return certificate;
}

}  // namespace

struct CertificateAuthority::Impl {
  Owned<EVP_PKEY> key;
  Owned<X509> certificate;
  std::string pem;

  KeyPair Issue(const CertificateOptions& options, const char* usage) const {
    Owned<EVP_PKEY> leaf_key = NewKey();
    Owned<X509> leaf = NewCertificate(leaf_key.get(), options);
    X509_set_issuer_name(leaf.get(), X509_get_subject_name(certificate.get()));
    AddExtension(leaf.get(), certificate.get(), NID_basic_constraints, "critical,CA:FALSE");
    AddExtension(leaf.get(), certificate.get(), NID_key_usage, "critical,digitalSignature");
    AddExtension(leaf.get(), certificate.get(), NID_ext_key_usage, usage);
    AddExtension(leaf.get(), certificate.get(), NID_authority_key_identifier, "keyid");
    std::string alternatives;
    for (const std::string& name : options.names) {
      alternatives += alternatives.empty() ? "" : ",";
      alternatives += (IsIp(name) ? "IP:" : "DNS:") + name;
    }
    if (!alternatives.empty()) {
      AddExtension(leaf.get(), certificate.get(), NID_subject_alt_name, alternatives);
    }
    Check(X509_sign(leaf.get(), key.get(), EVP_sha256()) > 0, "X509_sign");
    KeyPair out;
    out.certificate_pem = CertificatePem(leaf.get());
    out.key_pem = ToPem([&](BIO* bio) {
      return PEM_write_bio_PrivateKey(bio, leaf_key.get(), nullptr, nullptr, 0, nullptr, nullptr);
    });
    return out;
  }
};

CertificateAuthority::CertificateAuthority(const std::string& common_name)
    : impl_(std::make_unique<Impl>()) {
  impl_->key = NewKey();
  impl_->certificate = NewCertificate(impl_->key.get(), {.common_name = common_name});
  X509* c = impl_->certificate.get();
  X509_set_issuer_name(c, X509_get_subject_name(c));
  AddExtension(c, c, NID_basic_constraints, "critical,CA:TRUE");
  AddExtension(c, c, NID_key_usage, "critical,keyCertSign,cRLSign");
  AddExtension(c, c, NID_subject_key_identifier, "hash");
  Check(X509_sign(c, impl_->key.get(), EVP_sha256()) > 0, "X509_sign");
  impl_->pem = CertificatePem(c);
}

CertificateAuthority::~CertificateAuthority() = default;

const std::string& CertificateAuthority::certificate_pem() const { return impl_->pem; }

KeyPair CertificateAuthority::IssueServer(const CertificateOptions& options) const {
  return impl_->Issue(options, "serverAuth");
}

KeyPair CertificateAuthority::IssueClient(const CertificateOptions& options) const {
  return impl_->Issue(options, "clientAuth");
}

}  // namespace csinative::testing
