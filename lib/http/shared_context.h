// SPDX-License-Identifier: Apache-2.0
//
// One thread for the program's loop and for cpprestsdk.
#pragma once

namespace boost::asio {
class io_context;
}

namespace csinative::http {

// cpprestsdk's context without a thread of the library's, for a RealLoop to run: no request changes
// threads, which saves the switches and a thread's memory (docs/performance.md). Call it before the
// first client is made; one loop at a time. Throws std::logic_error if the library has threads
// already.
boost::asio::io_context& SharedContext();

}  // namespace csinative::http
