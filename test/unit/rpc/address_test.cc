// SPDX-License-Identifier: Apache-2.0
#include "lib/rpc/address.h"

#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "lib/rpc/channel.h"
#include "test/support/oracle_rows.h"
#include "test/unit/rpc/temp_dir.h"

namespace csinative::rpc {
namespace {

constexpr char kOnlyUnix[] = "OnConnectionLoss callback only supported for unix:// addresses";
constexpr char kAuthority[] =
    "failed to exit idle mode: failed to start resolver: invalid (non-empty) authority: rel";

struct FormRow {
  const char* name;
  const char* address;
  const char* loss_aware;  // the normal form, or the error text
  const char* plain;
  bool loss_aware_ok = true;
  bool plain_ok = true;
  const char* rows = "";  // of the oracle
};
std::ostream& operator<<(std::ostream& out, const FormRow& row) { return out << row.name; }

class AddressFormTest : public ::testing::TestWithParam<FormRow> {};

TEST_P(AddressFormTest, NormalizesOrFails) {
  const FormRow& row = GetParam();
  const oracle::Rows rows(row.rows);
  Result<std::string> aware = NormalizeAddress(row.address, true);
  EXPECT_EQ(aware.ok(), row.loss_aware_ok);
  EXPECT_EQ(aware.ok() ? *aware : aware.status().message(), row.loss_aware);
  Result<std::string> plain = NormalizeAddress(row.address, false);
  EXPECT_EQ(plain.ok(), row.plain_ok);
  EXPECT_EQ(plain.ok() ? *plain : plain.status().message(), row.plain);
}

// common 7.1
INSTANTIATE_TEST_SUITE_P(
    Common7_1, AddressFormTest,
    ::testing::Values(
        FormRow{"absolute", "/run/csi.sock", "unix:///run/csi.sock", "unix:///run/csi.sock"},
        FormRow{"unix", "unix:///run/csi.sock", "unix:///run/csi.sock", "unix:///run/csi.sock"},
        FormRow{"authority", "unix://rel/path", kAuthority, kAuthority, false, false},
        FormRow{"K10_one_slash", "unix:/x", kOnlyUnix, "unix:/x", false, true, "common/20.6/10"},
        FormRow{"unix_relative", "unix:x", kOnlyUnix, "unix:x", false},
        FormRow{"abstract", "unix-abstract:x", kOnlyUnix, "unix-abstract:x", false},
        FormRow{"K10_tcp", "localhost:1", kOnlyUnix, "localhost:1", false, true, "common/20.6/10"},
        FormRow{"dns", "dns:///localhost:1", kOnlyUnix, "dns:///localhost:1", false},
        FormRow{"passthrough", "passthrough:///h:1", kOnlyUnix, "passthrough:///h:1", false},
        FormRow{"unknown_scheme", "tcp://h:1", kOnlyUnix, "tcp://h:1", false},
        FormRow{"relative", "csi.sock", kOnlyUnix, "csi.sock", false},
        FormRow{"empty", "", kOnlyUnix,
                "failed to exit idle mode: failed to start resolver: passthrough: received empty "
                "target in Build()",
                false, false}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(ParseTargetTest, AuthorityIsLocalhostForUnixAndTheAddressForTcp) {
  EXPECT_EQ(ParseTarget("unix:///a", true)->authority, "localhost");
  EXPECT_EQ(ParseTarget("unix:a", false)->authority, "localhost");
  EXPECT_EQ(ParseTarget("unix-abstract:a", false)->authority, "localhost");
  EXPECT_EQ(ParseTarget("dns:///h:1", false)->authority, "h:1");
}

TEST(DialUnixTest, MissingSocketHasGoText) {
  TempDir dir;
  Result<UniqueFd> fd = DialUnix(Target{Target::Kind::kUnix, dir.path() + "/none", ""});
  ASSERT_FALSE(fd.ok());
  EXPECT_EQ(fd.status().message(),
            "dial unix " + dir.path() + "/none: connect: no such file or directory");
}

TEST(DialUnixTest, PathThatIsTooLongHasGoText) {
  const std::string path = "/" + std::string(200, 'x');
  Result<UniqueFd> fd = DialUnix(Target{Target::Kind::kUnix, path, ""});
  ASSERT_FALSE(fd.ok());
  EXPECT_EQ(fd.status().message(), "dial unix " + path + ": connect: invalid argument");
}

struct TcpRow {
  const char* name;
  const char* address;
  const char* error;
};
std::ostream& operator<<(std::ostream& out, const TcpRow& row) { return out << row.name; }

class DialTcpTest : public ::testing::TestWithParam<TcpRow> {};

TEST_P(DialTcpTest, BadAddressHasGoText) {
  const Result<UniqueFd> fd =
      DialTcp(Target{Target::Kind::kTcp, GetParam().address, ""}, std::chrono::seconds(1));
  ASSERT_FALSE(fd.ok());
  EXPECT_EQ(fd.status().message(), GetParam().error);
}

INSTANTIATE_TEST_SUITE_P(
    Go, DialTcpTest,
    ::testing::Values(
        TcpRow{"no_port", "csi.sock", "dial tcp: address csi.sock: missing port in address"},
        TcpRow{"scheme", "tcp://h:1", "dial tcp: address tcp://h:1: too many colons in address"},
        // Port 1 of the loopback address: reserved (tcpmux), nothing listens.
        TcpRow{"refused", "127.0.0.1:1", "dial tcp 127.0.0.1:1: connect: connection refused"}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace csinative::rpc
