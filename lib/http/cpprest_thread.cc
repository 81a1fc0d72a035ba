// SPDX-License-Identifier: Apache-2.0
//
// The only source that sees cpprestsdk's thread pool: its header needs the names of asio that the
// rest of lib/http does without (BOOST_ASIO_NO_DEPRECATED).
#include <pplx/threadpool.h>

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <exception>
#include <future>

namespace csinative::http {

boost::asio::io_context& CppRestThread();
void DrainCppRestThread();

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

void DrainCppRestThread() {
  constexpr int kRounds = 50;
  for (int i = 0; i < kRounds; ++i) {
    std::promise<void> ran;
    boost::asio::steady_timer timer(CppRestThread(), std::chrono::milliseconds(1));
    timer.async_wait([&ran](const boost::system::error_code&) { ran.set_value(); });
    ran.get_future().wait();
  }
}

}  // namespace csinative::http
