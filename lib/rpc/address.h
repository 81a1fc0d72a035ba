// SPDX-License-Identifier: Apache-2.0
//
// Where to dial: the address forms of common 7.1, and connecting a socket with Go's error texts.
// Private to lib/rpc. Any thread.
#pragma once

#include <string>

#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/base/unique_fd.h"

namespace csinative::rpc {

struct Target {
  enum class Kind {
    kUnix,      // unix://, loss is detected
    kUnixPath,  // unix:path, absolute or relative
    kAbstract,  // unix-abstract:name
    kTcp,
  };
  Kind kind = Kind::kUnix;
  std::string name;       // path, abstract name or host:port
  std::string authority;  // the :authority header
};

Result<Target> ParseTarget(const std::string& address, bool loss_aware);

// Connects a unix socket without blocking; the descriptor is non-blocking and CLOEXEC. REQUIRES:
// not kTcp.
Result<UniqueFd> DialUnix(const Target& target);
// Resolves and connects, blocking for at most `limit` after the name is resolved. REQUIRES: kTcp.
Result<UniqueFd> DialTcp(const Target& target, Duration limit);

// Go's text of an errno.
std::string ErrnoText(int error_number);

}  // namespace csinative::rpc
