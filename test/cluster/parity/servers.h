// SPDX-License-Identifier: Apache-2.0
//
// The two servers that the script runs against.
#pragma once

#include <memory>
#include <string>

#include "lib/base/result.h"
#include "lib/http/client.h"
#include "test/cluster/parity/script.h"

namespace csinative::parity {

// The embedded API server in virtual time and without a socket: a watch of a minute costs nothing.
std::unique_ptr<Server> NewEmbeddedServer();

struct RemoteConfig {
  std::string url;
  http::TlsConfig tls;
  std::string token;  // empty: none
};
Result<std::unique_ptr<Server>> NewRemoteServer(RemoteConfig config);

}  // namespace csinative::parity
