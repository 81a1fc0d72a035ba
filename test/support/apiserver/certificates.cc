// SPDX-License-Identifier: Apache-2.0
#include "test/support/apiserver/certificates.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include "lib/base/strings.h"

namespace csinative::apiserver {
namespace {

struct FreeKey {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
struct FreeCertificate {
  void operator()(X509* certificate) const { X509_free(certificate); }
};
struct FreeBio {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
using Key = std::unique_ptr<EVP_PKEY, FreeKey>;
using Certificate = std::unique_ptr<X509, FreeCertificate>;
using Bio = std::unique_ptr<BIO, FreeBio>;

std::string Contents(BIO* bio) {
  char* data = nullptr;
  long size = BIO_get_mem_data(bio, &data);  // NOLINT: the type of OpenSSL
  return {data, static_cast<size_t>(size)};
}

std::string ToPem(X509* certificate) {
  Bio bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(bio.get(), certificate);
  return Contents(bio.get());
}

std::string ToPem(EVP_PKEY* key) {
  Bio bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
  return Contents(bio.get());
}

bool AddExtension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  if (extension == nullptr) return false;
  bool added = X509_add_ext(certificate, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  return added;
}

void AddName(X509_NAME* name, const char* field, const std::string& value) {
  X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(value.data()),
                             static_cast<int>(value.size()), -1, 0);
}

Certificate NewCertificate(EVP_PKEY* key, const std::string& common_name,
                           const std::vector<std::string>& organizations) {
  Certificate certificate(X509_new());
  X509_set_version(certificate.get(), 2);
  uint64_t serial = 0;
  RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial);
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate.get()), serial >> 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 10L * 365 * 24 * 3600);
  X509_set_pubkey(certificate.get(), key);
  X509_NAME* subject = X509_get_subject_name(certificate.get());
  for (const std::string& organization : organizations) AddName(subject, "O", organization);
  AddName(subject, "CN", common_name);
  return certificate;
}

}  // namespace

struct CertificateAuthority::Impl {
  Key key;
  Certificate certificate;

  Result<KeyPair> Issue(const std::string& common_name,
                        const std::vector<std::string>& organizations, const std::string& usage,
                        const std::string& names) const {
    Key own(EVP_EC_gen("P-256"));
    if (own == nullptr) return InternalError("no EC key could be made");
    Certificate issued = NewCertificate(own.get(), common_name, organizations);
    X509_set_issuer_name(issued.get(), X509_get_subject_name(certificate.get()));
    bool good =
        AddExtension(issued.get(), certificate.get(), NID_basic_constraints, "CA:FALSE") &&
        AddExtension(issued.get(), certificate.get(), NID_ext_key_usage, usage) &&
        AddExtension(issued.get(), certificate.get(), NID_authority_key_identifier, "keyid:always");
    if (!names.empty()) {
      good = good && AddExtension(issued.get(), certificate.get(), NID_subject_alt_name, names);
    }
    if (!good || X509_sign(issued.get(), key.get(), EVP_sha256()) == 0) {
      return InternalError("the certificate could not be made");
    }
    return KeyPair{ToPem(issued.get()), ToPem(own.get())};
  }
};

CertificateAuthority::CertificateAuthority(std::unique_ptr<Impl> impl, KeyPair pair)
    : impl_(std::move(impl)), pair_(std::move(pair)) {}
CertificateAuthority::CertificateAuthority(CertificateAuthority&&) noexcept = default;
CertificateAuthority& CertificateAuthority::operator=(CertificateAuthority&&) noexcept = default;
CertificateAuthority::~CertificateAuthority() = default;

Result<CertificateAuthority> CertificateAuthority::Create(const std::string& common_name) {
  auto impl = std::make_unique<Impl>();
  impl->key.reset(EVP_EC_gen("P-256"));
  if (impl->key == nullptr) return InternalError("no EC key could be made");
  impl->certificate = NewCertificate(impl->key.get(), common_name, {});
  X509* certificate = impl->certificate.get();
  X509_set_issuer_name(certificate, X509_get_subject_name(certificate));
  bool good = AddExtension(certificate, certificate, NID_basic_constraints, "critical,CA:TRUE") &&
              AddExtension(certificate, certificate, NID_key_usage,
                           "critical,keyCertSign,digitalSignature") &&
              AddExtension(certificate, certificate, NID_subject_key_identifier, "hash");
  if (!good || X509_sign(certificate, impl->key.get(), EVP_sha256()) == 0) {
    return InternalError("the CA certificate could not be made");
  }
  KeyPair pair{ToPem(certificate), ToPem(impl->key.get())};
  return CertificateAuthority(std::move(impl), std::move(pair));
}

Result<KeyPair> CertificateAuthority::IssueServer(const std::string& common_name,
                                                  const std::vector<std::string>& names) const {
  return impl_->Issue(common_name, {}, "serverAuth", Join(names, ","));
}

Result<KeyPair> CertificateAuthority::IssueClient(
    const std::string& common_name, const std::vector<std::string>& organizations) const {
  return impl_->Issue(common_name, organizations, "clientAuth", "");
}

}  // namespace csinative::apiserver
