// SPDX-License-Identifier: Apache-2.0
//
// Where cpprestsdk does its work. Internal to lib/http, but for the end of tests.
#pragma once

#include <boost/asio/io_context.hpp>

namespace csinative::http {

// Everything of cpprestsdk runs on this context, on one thread, so that its sockets need no locks:
// a thread of the library's, started with its companion for name resolution by the first call, or,
// if SharedContext() came first, the thread of the loop.
boost::asio::io_context& CppRestContext();

// Waits until cpprestsdk has cleaned up after clients that were destroyed: its contexts live a few
// handlers longer, and a process that ends before is reported to leak them. For tests. Any thread
// but the library's own; blocks for about 50 ms. REQUIRES: no loop runs on the context.
void DrainCppRestContext();

}  // namespace csinative::http
