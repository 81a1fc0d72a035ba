// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <cstdlib>
#include <fstream>

#include "lib/http/tls.h"
#include "test/support/certs.h"
#include "test/support/child_process.h"

namespace csinative::http {
namespace {

int Trusted(SSL_CTX* context) {
  return sk_X509_OBJECT_num(X509_STORE_get0_objects(SSL_CTX_get_cert_store(context)));
}

// cpprestsdk asks for the certificates of the system with each connection (tls.cc).
TEST(SystemTrustTest, CertificatesOfTheSystemAreReadOnlyForClientsWithoutTheirOwn) {
  const testing::CertificateAuthority system("the system's"), own("our own");
  test::TempDir dir;
  const std::string file = dir.path() + "/ca.crt";
  std::ofstream(file) << system.certificate_pem();
  ASSERT_EQ(::setenv("SSL_CERT_FILE", file.c_str(), 1), 0);
  ASSERT_EQ(::setenv("SSL_CERT_DIR", dir.path().c_str(), 1), 0);

  auto without = NewClientTlsContext({});
  ASSERT_TRUE(without.ok());
  EXPECT_EQ(Trusted(without->get()), 1);
  auto with = NewClientTlsContext({.ca_pem = own.certificate_pem()});
  ASSERT_TRUE(with.ok());
  EXPECT_EQ(Trusted(with->get()), 1);
  const SslContextPtr library(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  EXPECT_EQ(SSL_CTX_set_default_verify_paths(library.get()), 1);
  EXPECT_EQ(Trusted(library.get()), 0);

  ::unsetenv("SSL_CERT_FILE");
  ::unsetenv("SSL_CERT_DIR");
}

}  // namespace
}  // namespace csinative::http
