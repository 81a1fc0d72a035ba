// SPDX-License-Identifier: Apache-2.0
//
// Asks a SOCKS5 proxy for a connection (RFC 1928, 1929). Internal to lib/http. Loop only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "lib/async/task.h"
#include "lib/base/status.h"
#include "lib/http/stream.h"

namespace csinative::http {

struct SocksTarget {
  std::string host;  // resolved by the proxy
  uint16_t port = 0;
  std::string user;  // with the password: offered if not empty
  std::string password;
};

// On Ok the stream is the connection to the target. kOther with the proxy's reason, kReset if it
// hangs up.
async::Task<Status> SocksConnect(std::shared_ptr<Stream> stream, SocksTarget target);

}  // namespace csinative::http
