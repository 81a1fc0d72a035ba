// SPDX-License-Identifier: Apache-2.0
#include "lib/sidecar/api_clients.h"

#include <gtest/gtest.h>

namespace csinative::sidecar {
namespace {

using Transport = http::ClientConfig::Transport;

Result<Transport> TransportWith(std::optional<std::string> value) {
  return TransportFromEnvironment([&value](const std::string& name) {
    return name == "CSI_NATIVE_API_TRANSPORT" ? value : std::nullopt;
  });
}

TEST(TransportFromEnvironment, KnowsTwoNames) {
  const struct {
    std::optional<std::string> value;
    Transport transport;
  } rows[] = {{std::nullopt, Transport::kAuto},
              {"", Transport::kAuto},
              {"cpprestsdk", Transport::kAuto},
              {"beast", Transport::kBeast}};
  for (const auto& row : rows) {
    const Result<Transport> transport = TransportWith(row.value);
    ASSERT_TRUE(transport.ok()) << row.value.value_or("not set");
    EXPECT_EQ(*transport, row.transport) << row.value.value_or("not set");
  }
}

TEST(TransportFromEnvironment, RefusesOthers) {
  for (const char* value : {"Beast", "curl", " beast"}) {
    const Result<Transport> transport = TransportWith(value);
    ASSERT_FALSE(transport.ok()) << value;
    EXPECT_NE(transport.status().message().find("CSI_NATIVE_API_TRANSPORT"), std::string::npos);
  }
}

}  // namespace
}  // namespace csinative::sidecar
