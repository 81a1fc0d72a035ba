// SPDX-License-Identifier: Apache-2.0
//
// The production event loop: one boost::asio::io_context and the machine's clocks. Sockets and
// servers of lib/http live on the same io_context.
#pragma once

#include <csignal>
#include <memory>
#include <vector>

#include "lib/async/event_loop.h"

namespace boost::asio {
class io_context;
}

namespace csinative::async {

class RealLoop final : public EventLoop {
 public:
  // `shared`, if not null, is a context that others put handlers on as well, so that these run
  // between the loop's steps. Nobody else may run it; it outlives the loop.
  explicit RealLoop(boost::asio::io_context* shared = nullptr);
  // Discards what is left; handlers that are ready on a shared context run.
  ~RealLoop();

  MonotonicTime Now() const override;
  WallTime WallNow() const override;
  void Post(Step step) override;
  TimerId PostAt(MonotonicTime when, Step step) override;
  void CancelTimer(TimerId id) override;

  // Runs steps on the calling thread until Stop(). May be called again after it returned.
  void Run();
  // Any thread. Run() returns after the step in progress.
  void Stop();

  // Drops all steps and timers and destroys all frames; Post() has no effect from then on. For the
  // end of a process: REQUIRES that Run() has returned.
  void Discard();

  // Loop only. Calls `handler` on the loop each time one of the signals arrives. The disposition is
  // restored when the loop is destroyed.
  void OnSignal(std::vector<int> signals, UniqueFunction<void(int)> handler);

  // For lib/http only.
  boost::asio::io_context& io();

 private:
  struct Impl;
  void Drain();
  void ArmTimer();
  std::unique_ptr<Impl> impl_;
};

}  // namespace csinative::async
