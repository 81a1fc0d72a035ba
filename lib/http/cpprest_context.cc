// SPDX-License-Identifier: Apache-2.0
//
// The only source that sees cpprestsdk's thread pool: its header needs the names of asio that the
// rest of lib/http does without (BOOST_ASIO_NO_DEPRECATED).
#include "lib/http/cpprest_context.h"

#include <pplx/pplx.h>
#include <pplx/threadpool.h>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <deque>
#include <exception>
#include <future>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "lib/http/shared_context.h"

namespace csinative::http {
namespace {

// Runs the continuations of the library's tasks on its context, in order. The library's own
// scheduler posts each of them: a request is a chain of a dozen, and the context asks the kernel
// for sockets between any two. Here a chain runs in one go.
class ChainScheduler final : public pplx::scheduler_interface {
 public:
  explicit ChainScheduler(boost::asio::io_context& context) : context_(context) {}

  void schedule(pplx::TaskProc_t run, void* argument) override {
    {
      std::lock_guard lock(mutex_);
      ready_.emplace_back(run, argument);
      if (std::exchange(posted_, true)) return;
    }
    boost::asio::post(context_, [this] { Drain(); });
  }

 private:
  // So many in a row, for the sake of the sockets.
  static constexpr int kMost = 64;

  void Drain() {
    for (int i = 0; i < kMost; ++i) {
      std::pair<pplx::TaskProc_t, void*> next;
      {
        std::lock_guard lock(mutex_);
        if (ready_.empty()) {
          posted_ = false;
          return;
        }
        next = ready_.front();
        ready_.pop_front();
      }
      next.first(next.second);
    }
    boost::asio::post(context_, [this] { Drain(); });
  }

  boost::asio::io_context& context_;
  std::mutex mutex_;
  std::deque<std::pair<pplx::TaskProc_t, void*>> ready_;
  bool posted_ = false;
};

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
    boost::asio::io_context& context = crossplat::threadpool::shared_instance().service();
    pplx::set_ambient_scheduler(std::make_shared<ChainScheduler>(context));
    return {context, threads};
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
  constexpr std::chrono::milliseconds kRound(1);
  const Pool& pool = PoolWith(1);
  for (int i = 0; i < kRounds; ++i) {
    if (pool.threads == 0) {
      pool.context.restart();
      pool.context.run_for(kRound);
      continue;
    }
    std::promise<void> ran;
    boost::asio::steady_timer timer(pool.context, kRound);
    timer.async_wait([&ran](const boost::system::error_code&) { ran.set_value(); });
    ran.get_future().wait();
  }
}

}  // namespace csinative::http
