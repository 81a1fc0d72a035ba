// SPDX-License-Identifier: Apache-2.0
//
// A client without rate limit and log, for tests and simulation in virtual time.
#pragma once

#include <memory>

#include "lib/kube/client.h"

namespace csinative::testing {

// Borrowed: all outlive the client.
std::unique_ptr<kube::Client> NewUnlimitedClient(async::EventLoop& loop, Random& random,
                                                 kube::ApiTransport& transport);

}  // namespace csinative::testing
