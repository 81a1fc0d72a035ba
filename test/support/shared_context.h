// SPDX-License-Identifier: Apache-2.0
//
// Runs tests of the HTTP client in both ways that cpprestsdk can run: on its own thread, and, with
// CSI_NATIVE_TEST_SHARED_CONTEXT set, on the loop's, as in the programs.
#pragma once

#include <cstdlib>

#include "lib/http/shared_context.h"

namespace csinative::test {

// For the loop of a test that makes HTTP clients.
inline boost::asio::io_context* ContextForLoop() {
  const bool shared = std::getenv("CSI_NATIVE_TEST_SHARED_CONTEXT") != nullptr;
  return shared ? &http::SharedContext() : nullptr;
}

}  // namespace csinative::test
