// SPDX-License-Identifier: Apache-2.0
//
// The workqueue_* families (common 9.6). A queue with a name asks the provider for a handle and
// reports to it; queues of the same name share the series. Loop only.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>

#include "lib/base/clock.h"
#include "lib/metrics/registry.h"

namespace csinative::metrics {

// Ages of the items a queue has handed out and not got back.
struct InProgressAges {
  Duration sum{};
  Duration longest{};
};

class WorkQueueMetrics {
 public:
  // What one queue reports to. A default one is for queues without a name and does nothing.
  // Move-only; outlives nothing: the provider outlives it.
  class Handle {
   public:
    Handle() noexcept;
    Handle(Handle&& other) noexcept;
    Handle& operator=(Handle&& other) noexcept;
    ~Handle();

    // An add was accepted: the item was not waiting already.
    void Added();
    // The item was handed out, waited after the add that made it wait.
    void Started(Duration waited);
    // The item came back, worked after it was handed out.
    void Finished(Duration worked);
    // An item was added again with a delay.
    void Retried();

   private:
    friend class WorkQueueMetrics;
    struct Series;
    explicit Handle(std::unique_ptr<Series> series);
    std::unique_ptr<Series> series_;
  };

  // registry outlives the provider.
  explicit WorkQueueMetrics(Registry& registry);
  WorkQueueMetrics(const WorkQueueMetrics&) = delete;
  WorkQueueMetrics& operator=(const WorkQueueMetrics&) = delete;
  ~WorkQueueMetrics();

  // The series exist from now on. ages is asked at each exposition, while the handle lives: instead
  // of a timer that refreshes two gauges.
  Handle ForQueue(std::string_view name, std::function<InProgressAges()> ages);

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace csinative::metrics
