// SPDX-License-Identifier: Apache-2.0
#include "lib/http/tls.h"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <ctime>

#include "lib/base/strings.h"
#include "lib/http/net_error.h"

namespace csinative::http {
namespace {

struct Deleter {
  void operator()(BIO* p) const { BIO_free_all(p); }
  void operator()(X509* p) const { X509_free(p); }
  void operator()(X509_STORE* p) const { X509_STORE_free(p); }
  void operator()(EVP_PKEY* p) const { EVP_PKEY_free(p); }
  void operator()(GENERAL_NAMES* p) const { GENERAL_NAMES_free(p); }
};
template <typename T>
using Owned = std::unique_ptr<T, Deleter>;

Owned<BIO> ReadOnly(const std::string& text) {
  return Owned<BIO>(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// Keys are never asked for interactively.
int NoPassword(char*, int, int, void*) { return 0; }

std::string LastErrorText() {
  const unsigned long code = ERR_peek_last_error();  // NOLINT: OpenSSL's type
  const char* reason = ERR_reason_error_string(code);
  ERR_clear_error();
  return reason == nullptr ? "unknown error" : reason;
}

struct ParsedPem {
  std::vector<Owned<X509>> certificates;
  bool any_block = false;
  std::string error;  // of the first certificate that could not be parsed
};

ParsedPem ParseCertificates(const std::string& pem) {
  ParsedPem out;
  Owned<BIO> bio = ReadOnly(pem);
  char* name = nullptr;
  char* header = nullptr;
  unsigned char* data = nullptr;
  long size = 0;  // NOLINT: OpenSSL's type
  while (PEM_read_bio(bio.get(), &name, &header, &data, &size) == 1) {
    out.any_block = true;
    if (std::string_view(name) == PEM_STRING_X509) {
      const unsigned char* at = data;
      if (X509* certificate = d2i_X509(nullptr, &at, size)) {
        out.certificates.emplace_back(certificate);
      } else if (out.error.empty()) {
        out.error = LastErrorText();
      }
    }
    OPENSSL_free(name);
    OPENSSL_free(header);
    OPENSSL_free(data);
  }
  ERR_clear_error();
  return out;
}

// Trusts exactly the given authorities. Texts: client-go transport.rootCertPool.
Status TrustOnly(SSL_CTX* context, const std::string& pem) {
  ParsedPem parsed = ParseCertificates(pem);
  if (parsed.certificates.empty()) {
    std::string why = "no valid certificate authority data seen";
    if (!parsed.any_block) why = "unable to parse bytes as PEM block";
    if (!parsed.error.empty()) why = StrCat("failed to parse certificate: ", parsed.error);
    return InvalidArgumentError(StrCat("unable to load root certificates: ", why));
  }
  Owned<X509_STORE> store(X509_STORE_new());
  for (const auto& certificate : parsed.certificates) {
    X509_STORE_add_cert(store.get(), certificate.get());
  }
  SSL_CTX_set_cert_store(context, store.release());
  return Status();
}

Status UseKeyPair(SSL_CTX* context, const std::string& certificate_pem,
                  const std::string& key_pem) {
  ParsedPem chain = ParseCertificates(certificate_pem);
  if (chain.certificates.empty()) {
    return InvalidArgumentError(StrCat("tls: failed to find any PEM data in certificate input",
                                       chain.error.empty() ? "" : StrCat(": ", chain.error)));
  }
  Owned<BIO> bio = ReadOnly(key_pem);
  Owned<EVP_PKEY> key(PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassword, nullptr));
  if (!key) {
    return InvalidArgumentError(
        StrCat("tls: failed to find any PEM data in key input: ", LastErrorText()));
  }
  if (X509_check_private_key(chain.certificates[0].get(), key.get()) != 1) {
    ERR_clear_error();
    return InvalidArgumentError("tls: private key does not match public key");
  }
  if (SSL_CTX_use_certificate(context, chain.certificates[0].get()) != 1 ||
      SSL_CTX_use_PrivateKey(context, key.get()) != 1) {
    return InvalidArgumentError(StrCat("tls: ", LastErrorText()));
  }
  for (size_t i = 1; i < chain.certificates.size(); ++i) {
    if (SSL_CTX_add1_chain_cert(context, chain.certificates[i].get()) != 1) {
      return InvalidArgumentError(StrCat("tls: ", LastErrorText()));
    }
  }
  return Status();
}

void SetCommonOptions(SSL_CTX* context) {
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  // Buffers only while bytes are in flight: an idle connection then costs a few KiB.
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  // A certificate in the pool is an anchor even if it is not self-signed, as in Go.
  X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context), X509_V_FLAG_PARTIAL_CHAIN);
}

int SelectHttp11(SSL*, const unsigned char** out, unsigned char* out_size, const unsigned char* in,
                 unsigned int in_size, void*) {
  static constexpr unsigned char kHttp11[] = "\x08http/1.1";
  unsigned char* selected = nullptr;
  if (SSL_select_next_proto(&selected, out_size, kHttp11, sizeof(kHttp11) - 1, in, in_size) !=
      OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_NOACK;
  }
  *out = selected;
  return SSL_TLSEXT_ERR_OK;
}

// A BIO over a socket with MSG_NOSIGNAL: OpenSSL's own raises SIGPIPE. The descriptor is carried
// as the BIO's data pointer.
int SocketOf(BIO* bio) { return static_cast<int>(reinterpret_cast<intptr_t>(BIO_get_data(bio))); }

bool WouldBlock(int error_number) {
  return error_number == EAGAIN || error_number == EWOULDBLOCK || error_number == EINTR;
}

int BioRead(BIO* bio, char* buffer, int size) {
  BIO_clear_retry_flags(bio);
  const ssize_t n = ::recv(SocketOf(bio), buffer, static_cast<size_t>(size), 0);
  if (n < 0 && WouldBlock(errno)) BIO_set_retry_read(bio);
  if (n == 0) errno = 0;
  return static_cast<int>(n);
}

int BioWrite(BIO* bio, const char* data, int size) {
  BIO_clear_retry_flags(bio);
  const ssize_t n = ::send(SocketOf(bio), data, static_cast<size_t>(size), MSG_NOSIGNAL);
  if (n < 0 && WouldBlock(errno)) BIO_set_retry_write(bio);
  return static_cast<int>(n);
}

long BioControl(BIO*, int command, long, void*) {  // NOLINT: OpenSSL's type
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

BIO_METHOD* SocketMethod() {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
    BIO_meth_set_read(m, BioRead);
    BIO_meth_set_write(m, BioWrite);
    BIO_meth_set_ctrl(m, BioControl);
    return m;
  }();
  return method;
}

bool IsIpAddress(const std::string& name) {
  unsigned char buffer[16];
  return inet_pton(AF_INET, name.c_str(), buffer) == 1 ||
         inet_pton(AF_INET6, name.c_str(), buffer) == 1;
}

std::string AddressText(const ASN1_OCTET_STRING* address) {
  const int size = ASN1_STRING_length(address);
  char text[INET6_ADDRSTRLEN] = {};
  if (size == 4 || size == 16) {
    inet_ntop(size == 4 ? AF_INET : AF_INET6, ASN1_STRING_get0_data(address), text, sizeof(text));
  }
  return text;
}

// crypto/x509 HostnameError.Error.
std::string HostMismatchText(X509_STORE_CTX* context) {
  X509_VERIFY_PARAM* param = X509_STORE_CTX_get0_param(context);
  std::string wanted;
  bool wants_ip = false;
  if (const char* host = X509_VERIFY_PARAM_get0_host(param, 0)) {
    wanted = host;
  } else if (char* ip = X509_VERIFY_PARAM_get1_ip_asc(param)) {
    wanted = ip;
    wants_ip = true;
    OPENSSL_free(ip);
  }
  std::vector<std::string> names;
  X509* certificate = X509_STORE_CTX_get0_cert(context);
  Owned<GENERAL_NAMES> alternatives(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; alternatives && i < sk_GENERAL_NAME_num(alternatives.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(alternatives.get(), i);
    if (wants_ip && name->type == GEN_IPADD) {
      names.push_back(AddressText(name->d.iPAddress));
    } else if (!wants_ip && name->type == GEN_DNS) {
      const auto* data = reinterpret_cast<const char*>(ASN1_STRING_get0_data(name->d.dNSName));
      names.emplace_back(data, static_cast<size_t>(ASN1_STRING_length(name->d.dNSName)));
    }
  }
  if (!names.empty()) {
    return StrCat("x509: certificate is valid for ", Join(names, ", "), ", not ", wanted);
  }
  if (wants_ip) {
    return StrCat("x509: cannot validate certificate for ", wanted,
                  " because it doesn't contain any IP SANs");
  }
  return StrCat("x509: certificate is not valid for any names, but wanted to match ", wanted);
}

std::string VerifyFailureText(X509_STORE_CTX* context) {
  const int result = X509_STORE_CTX_get_error(context);
  switch (result) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return "x509: certificate has expired or is not yet valid";
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return HostMismatchText(context);
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return "x509: certificate signed by unknown authority";
    case X509_V_ERR_INVALID_PURPOSE:
      return "x509: certificate specifies an incompatible key usage";
    default:
      return StrCat("x509: ", X509_verify_cert_error_string(result));
  }
}

void FreeText(void*, void* text, CRYPTO_EX_DATA*, int, long, void*) {  // NOLINT: OpenSSL's type
  delete static_cast<std::string*>(text);
}

// Where a session keeps the text of its verification failure.
int VerifyFailureIndex() {
  static const int index = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, FreeText);
  return index;
}

// crypto/tls alert texts where they differ from OpenSSL's reason strings.
std::string AlertText(int reason) {
  switch (reason) {
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
      return "certificate required";
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
      return "unknown certificate authority";
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
      return "bad certificate";
    case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
      return "handshake failure";
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
      return "expired certificate";
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
      return "unknown certificate";
    case SSL_R_TLSV1_UNRECOGNIZED_NAME:
      return "unrecognized name";
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
      return "protocol version not supported";
    case SSL_R_TLSV1_ALERT_INTERNAL_ERROR:
      return "internal error";
    default:
      return "";
  }
}

void AppendSubject(X509_NAME* subject, int nid, std::vector<std::string>* out) {
  for (int at = -1; (at = X509_NAME_get_index_by_NID(subject, nid, at)) >= 0;) {
    unsigned char* text = nullptr;
    const int size =
        ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
    if (size < 0) continue;
    out->emplace_back(reinterpret_cast<char*>(text), static_cast<size_t>(size));
    OPENSSL_free(text);
  }
}

}  // namespace

Result<SslContextPtr> NewServerTlsContext(const ServerTls& config) {
  SslContextPtr context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  SetCommonOptions(context.get());
  CSI_RETURN_IF_ERROR(UseKeyPair(context.get(), config.certificate_pem, config.key_pem));
  SSL_CTX_set_alpn_select_cb(context.get(), SelectHttp11, nullptr);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  if (!config.client_ca_pem.empty()) {
    CSI_RETURN_IF_ERROR(TrustOnly(context.get(), config.client_ca_pem));
    int mode = SSL_VERIFY_PEER;
    if (config.client_certificate == ServerTls::ClientCertificate::kRequired) {
      mode |= SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
    }
    SSL_CTX_set_verify(context.get(), mode, nullptr);
    // With verification, resumed sessions need an id context.
    static constexpr unsigned char kIdContext[] = "csi-native";
    SSL_CTX_set_session_id_context(context.get(), kIdContext, sizeof(kIdContext) - 1);
  }
  return context;
}

Result<SslContextPtr> NewClientTlsContext(const TlsConfig& config) {
  SslContextPtr context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  SetCommonOptions(context.get());
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  if (!config.ca_pem.empty()) {
    CSI_RETURN_IF_ERROR(TrustOnly(context.get(), config.ca_pem));
  } else {
    X509_STORE_set_default_paths(SSL_CTX_get_cert_store(context.get()));
  }
  if (!config.client_certificate_pem.empty() || !config.client_key_pem.empty()) {
    CSI_RETURN_IF_ERROR(
        UseKeyPair(context.get(), config.client_certificate_pem, config.client_key_pem));
  }
  return context;
}

void CopyClientTls(SSL_CTX* from, SSL_CTX* to) {
  SetCommonOptions(to);
  SSL_CTX_set_session_cache_mode(to, SSL_SESS_CACHE_OFF);
  SSL_CTX_set1_cert_store(to, SSL_CTX_get_cert_store(from));
  X509* certificate = SSL_CTX_get0_certificate(from);
  if (certificate == nullptr) return;
  SSL_CTX_use_certificate(to, certificate);
  SSL_CTX_use_PrivateKey(to, SSL_CTX_get0_privatekey(from));
  STACK_OF(X509)* chain = nullptr;
  SSL_CTX_get0_chain_certs(from, &chain);
  if (chain != nullptr) SSL_CTX_set1_chain(to, chain);
}

Result<SslPtr> NewServerSession(const SslContextPtr& context) {
  SslPtr ssl(SSL_new(context.get()));
  if (!ssl) return InternalError("SSL_new failed");
  SSL_set_accept_state(ssl.get());
  return ssl;
}

Status ExpectServer(SSL* ssl, const std::string& name) {
  const bool is_ip = IsIpAddress(name);
  if (!is_ip) SSL_set_tlsext_host_name(ssl, name.c_str());
  static constexpr unsigned char kHttp11[] = "\x08http/1.1";
  SSL_set_alpn_protos(ssl, kHttp11, sizeof(kHttp11) - 1);
  X509_VERIFY_PARAM* param = SSL_get0_param(ssl);
  X509_VERIFY_PARAM_set_hostflags(
      param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  const int ok = is_ip ? X509_VERIFY_PARAM_set1_ip_asc(param, name.c_str())
                       : X509_VERIFY_PARAM_set1_host(param, name.c_str(), name.size());
  return ok == 1 ? Status() : InvalidArgumentError(StrCat("invalid server name \"", name, "\""));
}

Result<SslPtr> NewClientSession(const SslContextPtr& context, const std::string& name,
                                bool verify) {
  SslPtr ssl(SSL_new(context.get()));
  if (!ssl) return InternalError("SSL_new failed");
  SSL_set_connect_state(ssl.get());
  CSI_RETURN_IF_ERROR(ExpectServer(ssl.get(), name));
  if (verify) {
    SSL_set_verify(ssl.get(), SSL_VERIFY_PEER, RecordVerifyFailure);
  } else {
    SSL_set_verify(ssl.get(), SSL_VERIFY_NONE, nullptr);
  }
  return ssl;
}

int RecordVerifyFailure(int ok, X509_STORE_CTX* context) {
  if (ok == 1) return ok;
  auto* ssl =
      static_cast<SSL*>(X509_STORE_CTX_get_ex_data(context, SSL_get_ex_data_X509_STORE_CTX_idx()));
  if (RecordedVerifyFailure(ssl).empty()) {
    SSL_set_ex_data(ssl, VerifyFailureIndex(), new std::string(VerifyFailureText(context)));
  }
  return ok;
}

std::string RecordedVerifyFailure(SSL* ssl) {
  const auto* text = static_cast<std::string*>(SSL_get_ex_data(ssl, VerifyFailureIndex()));
  return text == nullptr ? "" : *text;
}

void AttachSession(SSL* ssl, SslPtr below) {
  BIO* bio = BIO_new(BIO_f_ssl());
  BIO_set_ssl(bio, below.release(), BIO_CLOSE);
  SSL_set_bio(ssl, bio, bio);
}

void AttachSocket(SSL* ssl, int fd) {
  BIO* bio = BIO_new(SocketMethod());
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<intptr_t>(fd)));
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl, bio, bio);  // takes the one reference
}

Status TlsFailure(SSL* ssl) {
  const unsigned long code = ERR_peek_error();  // NOLINT: OpenSSL's type
  ERR_clear_error();
  return TlsFailureOf(code, RecordedVerifyFailure(ssl));
}

Status TlsFailureOf(unsigned long code, const std::string& verify_failure) {  // NOLINT
  const int reason = ERR_GET_REASON(code);
  const char* reason_text = ERR_reason_error_string(code);
  std::string text = reason_text == nullptr ? "unknown error" : reason_text;
  if (ERR_GET_LIB(code) == ERR_LIB_SSL) {
    if (reason == SSL_R_UNEXPECTED_EOF_WHILE_READING) {
      return TransportStatus(TransportError::Kind::kReset, "unexpected EOF");
    }
    if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED) {
      text = StrCat("failed to verify certificate: ", verify_failure);
    } else if (reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_HTTP_REQUEST) {
      text = "first record does not look like a TLS handshake";
    } else if (std::string alert = AlertText(reason); !alert.empty()) {
      return TransportStatus(TransportError::Kind::kTls, StrCat("remote error: tls: ", alert));
    }
  }
  return TransportStatus(TransportError::Kind::kTls, StrCat("tls: ", text));
}

PeerSubject VerifiedPeerSubject(SSL* ssl) {
  PeerSubject subject;
  X509* certificate = SSL_get0_peer_certificate(ssl);
  if (certificate == nullptr || SSL_get_verify_result(ssl) != X509_V_OK) return subject;
  X509_NAME* name = X509_get_subject_name(certificate);
  std::vector<std::string> common_names;
  AppendSubject(name, NID_commonName, &common_names);
  if (!common_names.empty()) subject.common_name = common_names.back();
  AppendSubject(name, NID_organizationName, &subject.organizations);
  return subject;
}

}  // namespace csinative::http

// Instead of the one in libssl, for all of the program: cpprestsdk calls it for each new
// connection, which reads and parses some 140 certificates of the system (30 ms on a busy machine,
// and 1 MiB that stays in the heap), only for CopyClientTls to throw them away. Who wants them
// asks the store, as NewClientTlsContext does.
extern "C" __attribute__((visibility("default"))) int SSL_CTX_set_default_verify_paths(SSL_CTX*) {
  return 1;
}
