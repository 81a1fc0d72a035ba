// SPDX-License-Identifier: Apache-2.0
//
// The only source that sees cpprestsdk's thread pool: its header needs the names of asio that the
// rest of lib/http does without (BOOST_ASIO_NO_DEPRECATED).
#include "lib/http/cpprest_context.h"

#include <pplx/threadpool.h>

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <exception>
#include <future>
#include <stdexcept>

#include "lib/http/shared_context.h"

namespace csinative::http {
namespace {

struct Pool {
  boost::asio::io_context& context;
  size_t threads;
};

// The first caller decides on the number of threads.
const Pool& PoolWith(size_t threads) {
  static const Pool pool = [threads]() -> Pool {
    try {
      crossplat::threadpool::initialize_with_threads(threads);
    } catch (const std::exception&) {
      // Somebody else in the process was first; the pool is theirs.
      return {crossplat::threadpool::shared_instance().service(), 1};
    }
    return {crossplat::threadpool::shared_instance().service(), threads};
  }();
  return pool;
}

}  // namespace

boost::asio::io_context& CppRestContext() { return PoolWith(1).context; }

boost::asio::io_context& SharedContext() {
  const Pool& pool = PoolWith(0);
  if (pool.threads != 0) throw std::logic_error("cpprestsdk already runs on threads of its own");
  return pool.context;
}

void DrainCppRestContext() {
  constexpr int kRounds = 50;
  const bool ours = PoolWith(1).threads == 0;
  for (int i = 0; i < kRounds; ++i) {
    std::promise<void> ran;
    boost::asio::steady_timer timer(CppRestContext(), std::chrono::milliseconds(1));
    timer.async_wait([&ran](const boost::system::error_code&) { ran.set_value(); });
    if (ours) {
      CppRestContext().restart();
      CppRestContext().run_one_for(std::chrono::milliseconds(2));
      CppRestContext().poll();
      timer.cancel();
      CppRestContext().poll();
    }
    ran.get_future().wait();
  }
}

}  // namespace csinative::http
