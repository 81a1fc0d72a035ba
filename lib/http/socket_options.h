// SPDX-License-Identifier: Apache-2.0
//
// What every client socket is set to, whoever connects it. Internal to lib/http. Any thread.
#pragma once

#include "lib/base/unique_fd.h"

namespace csinative::http {

// A TCP socket of that family, close-on-exec; non-blocking. Invalid, with errno, on failure.
UniqueFd NewClientSocket(int family);

// TCP_NODELAY, keep-alive and TCP_USER_TIMEOUT: a dead peer is noticed after 25 s, whether bytes
// are under way or not.
void SetClientSocketOptions(int fd);

}  // namespace csinative::http
