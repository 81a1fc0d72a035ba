// SPDX-License-Identifier: Apache-2.0
//
// The only source that sees cpprestsdk's thread pool: its header needs the names of asio that the
// rest of lib/http does without (BOOST_ASIO_NO_DEPRECATED).
#include <pplx/threadpool.h>

#include <exception>

namespace csinative::http {

boost::asio::io_context& CppRestThread();

boost::asio::io_context& CppRestThread() {
  static boost::asio::io_context& service = []() -> boost::asio::io_context& {
    try {
      crossplat::threadpool::initialize_with_threads(1);
    } catch (const std::exception&) {
      // Somebody else in the process was first; the pool is theirs.
    }
    return crossplat::threadpool::shared_instance().service();
  }();
  return service;
}

}  // namespace csinative::http
