// SPDX-License-Identifier: Apache-2.0
//
// Name resolution and TCP connect as tasks. Internal to lib/http. Loop only.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "lib/async/task.h"
#include "lib/base/result.h"
#include "lib/base/unique_fd.h"

namespace csinative::http {

using Endpoints = std::vector<boost::asio::ip::tcp::endpoint>;

// The host's addresses in the resolver's order, at least one; an address stands for itself. The
// resolver's thread is that of `io`. kResolve or kTimeout.
async::Task<Result<Endpoints>> ResolveHost(boost::asio::io_context& io, std::string host,
                                           uint16_t port, Duration timeout);

// Connects to the first of the addresses that answers; the time left is shared out among them, as
// Go does. kRefused, kTimeout or kOther with the first address's failure. REQUIRES: not empty.
async::Task<Result<UniqueFd>> Dial(boost::asio::io_context& io, Endpoints endpoints,
                                   Duration timeout);

}  // namespace csinative::http
