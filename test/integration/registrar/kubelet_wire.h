// SPDX-License-Identifier: Apache-2.0
//
// A unary gRPC call as bytes on a unix socket, so that the :authority can be the one that the
// kubelet's Go client sends: the percent-encoded path of the socket. Knows no Huffman codes and
// no flow control: for short messages.
#pragma once

#include <string>

#include "lib/base/result.h"

namespace csinative {

// The bytes of the response message. Blocks up to 10 s.
Result<std::string> CallWithAuthority(const std::string& socket, const std::string& authority,
                                      const std::string& method);

}  // namespace csinative
