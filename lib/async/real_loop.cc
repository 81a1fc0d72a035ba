// SPDX-License-Identifier: Apache-2.0
#include "lib/async/real_loop.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <list>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "lib/async/timer_queue.h"

namespace csinative::async {
namespace {

// Steps that are posted by steps run in rounds, so many of them before sockets and timers get their
// turn: most chains of steps end within few, and each turn costs a call of the kernel.
constexpr int kRounds = 8;

std::chrono::steady_clock::time_point ToSteady(MonotonicTime when) {
  return std::chrono::steady_clock::time_point(
      std::chrono::duration_cast<std::chrono::steady_clock::duration>(when.time_since_epoch()));
}

}  // namespace

struct RealLoop::Impl {
  explicit Impl(boost::asio::io_context* shared) : io(shared ? *shared : own.emplace(1)) {}

  struct SignalWatch {
    SignalWatch(boost::asio::io_context& io, UniqueFunction<void(int)> h)
        : set(io), handler(std::move(h)) {}
    void Arm() {
      set.async_wait([this](const boost::system::error_code& error, int signal) {
        if (error) return;
        handler(signal);
        Arm();
      });
    }
    boost::asio::signal_set set;
    UniqueFunction<void(int)> handler;
  };

  // One thread runs the context; posts come from any thread.
  std::optional<boost::asio::io_context> own;
  boost::asio::io_context& io;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work{io.get_executor()};
  boost::asio::steady_timer timer{io};
  std::optional<MonotonicTime> armed;
  TimerQueue timers;
  std::list<SignalWatch> signals;

  // Steps wait here and not in the io_context, so that a run of steps costs one wake-up and the
  // order is ours.
  std::mutex mutex;
  std::deque<Step> ready;
  bool wake_posted = false;
  std::deque<Step> batch;  // loop only: the round in progress
};

RealLoop::RealLoop(boost::asio::io_context* shared) : impl_(std::make_unique<Impl>(shared)) {}

RealLoop::~RealLoop() {
  Discard();
  if (impl_->own) return;
  // Ours among them, which mean this object.
  impl_->timer.cancel();
  impl_->work.reset();
  impl_->io.restart();
  impl_->io.poll();
}

void RealLoop::Discard() {
  std::deque<Step> dropped;
  {
    std::lock_guard lock(impl_->mutex);
    set_discarding(true);
    dropped.swap(impl_->ready);
  }
  dropped.clear();
  impl_->batch.clear();
  impl_->timers.Clear();
  DiscardScopes();
  impl_->signals.clear();
}

MonotonicTime RealLoop::Now() const { return SystemClock().Now(); }
WallTime RealLoop::WallNow() const { return SystemClock().WallNow(); }

void RealLoop::Post(Step step) {
  {
    std::lock_guard lock(impl_->mutex);
    if (discarding()) return;
    impl_->ready.push_back(std::move(step));
    if (std::exchange(impl_->wake_posted, true)) return;
  }
  boost::asio::post(impl_->io, [this] { Drain(); });
}

void RealLoop::Drain() {
  for (int round = 0; round < kRounds; ++round) {
    if (impl_->batch.empty()) {
      std::lock_guard lock(impl_->mutex);
      impl_->batch.swap(impl_->ready);
      if (impl_->batch.empty()) {
        impl_->wake_posted = false;
        return;
      }
    }
    while (!impl_->batch.empty()) {
      // What is left is for the next Run().
      if (impl_->io.stopped()) return;
      Step current = std::move(impl_->batch.front());
      impl_->batch.pop_front();
      current();
    }
  }
  boost::asio::post(impl_->io, [this] { Drain(); });
}

EventLoop::TimerId RealLoop::PostAt(MonotonicTime when, Step step) {
  if (discarding()) return 0;
  const TimerId id = impl_->timers.Add(when, std::move(step));
  ArmTimer();
  return id;
}

void RealLoop::CancelTimer(TimerId id) {
  // The asio timer stays armed: a wake-up without a due timer re-arms, which is cheaper than
  // re-arming at each cancelled request deadline.
  impl_->timers.Cancel(id);
}

void RealLoop::ArmTimer() {
  auto next = impl_->timers.NextTime();
  if (!next || (impl_->armed && *impl_->armed <= *next)) return;
  impl_->armed = next;
  impl_->timer.expires_at(ToSteady(*next));
  impl_->timer.async_wait([this](const boost::system::error_code& error) {
    if (error) return;  // re-armed for an earlier time
    impl_->armed.reset();
    const MonotonicTime now = Now();
    while (Step step = impl_->timers.PopDue(now)) step();
    ArmTimer();
  });
}

void RealLoop::Run() {
  impl_->io.restart();
  // What Stop() left of the last round comes first.
  boost::asio::post(impl_->io, [this] { Drain(); });
  impl_->io.run();
}

void RealLoop::Stop() { impl_->io.stop(); }

void RealLoop::OnSignal(std::vector<int> signals, UniqueFunction<void(int)> handler) {
  auto& watch = impl_->signals.emplace_back(impl_->io, std::move(handler));
  for (int signal : signals) watch.set.add(signal);
  watch.Arm();
}

boost::asio::io_context& RealLoop::io() { return impl_->io; }

}  // namespace csinative::async
