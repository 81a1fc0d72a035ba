// SPDX-License-Identifier: Apache-2.0
//
// Work queue of keys (kube-client 15): an item is never handed out twice at once, adds while it is
// processed are remembered and collapse into one more run, delayed adds keep the earliest time.
// Loop only.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/async/event_loop.h"
#include "lib/async/scope.h"
#include "lib/async/sync.h"
#include "lib/base/result.h"
#include "lib/kube/failure_memory.h"
#include "lib/kube/rate_limiter.h"
#include "lib/metrics/workqueue_metrics.h"

namespace csinative::kube {

class WorkQueue {
 public:
  struct Options {
    std::string name = {};  // metrics label; empty: not measured
    // Shared by queues whose counters are one (provisioner 4.2).
    std::shared_ptr<RateLimiter> limiter;
    metrics::WorkQueueMetrics* metrics = nullptr;  // borrowed; null: not measured
  };

  WorkQueue(async::EventLoop& loop, Options options);
  ~WorkQueue();
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  void Add(std::string item);
  // d <= 0: now. A pending later time is moved earlier, never the other way.
  void AddAfter(std::string item, Duration delay);
  void AddRateLimited(const std::string& item);
  void Forget(const std::string& item) {
    options_.limiter->Forget(item);
    failures_.Forget(item);
  }
  int Failures(const std::string& item) const { return options_.limiter->Failures(item); }

  // The oldest item; the caller must call Done(item). kCancelled when the queue is shut down and
  // empty, or when the caller is cancelled.
  async::Task<Result<std::string>> Get();
  void Done(const std::string& item);

  // Refuses further adds and drops delayed ones; what is queued is still handed out.
  void ShutDown();
  // The same, and waits until nothing is being processed, items included that were added while they
  // were. A later ShutDown() ends the wait. Fails only with the caller's cancellation.
  async::Task<Status> ShutDownWithDrain();
  bool shutting_down() const { return shutting_down_; }
  size_t size() const { return queue_.size(); }
  size_t processing() const { return processing_.size(); }
  // How long the item has waited that is handed out next; zero if none waits.
  Duration OldestWait() const;

  // When an item that waits for its time is added.
  std::optional<MonotonicTime> DelayedUntil(const std::string& item) const;

  // --- for /debug
  // ---------------------------------------------------------------------------------

  // Remembers why an item failed, until it is forgotten; only of the latest failures.
  void NoteFailure(const std::string& item, const Status& failure) {
    failures_.Remember(item, failure.message(), loop_.Now());
  }
  enum class ItemState { kProcessing, kWaiting, kDelayed };
  struct ItemInfo {
    std::string item;
    ItemState state = ItemState::kWaiting;
    MonotonicTime since{};               // the state began; kDelayed: unset
    std::optional<MonotonicTime> until;  // kDelayed: when it is added
    int failures = 0;
    std::optional<Failure> last_failure;
  };
  // At most `limit` items: those in work first, then those that wait in order, then the delayed
  // ones in the order of their time. A copy.
  std::vector<ItemInfo> Items(size_t limit) const;
  const std::string& name() const { return options_.name; }
  size_t delayed() const { return delayed_.size(); }

 private:
  using Delayed = std::multimap<MonotonicTime, std::string>;
  void Refuse();
  void ArmTimer();
  void OnTimer();

  async::EventLoop& loop_;
  const Options options_;
  std::deque<std::string> queue_;
  // Since when: the add that made an item dirty, and when it was handed out.
  using Times = std::unordered_map<std::string, MonotonicTime>;
  Times dirty_;
  Times processing_;
  Delayed delayed_;
  std::unordered_map<std::string, Delayed::iterator> delayed_by_item_;
  async::ScopedTimer timer_;
  std::optional<MonotonicTime> armed_;
  async::WaiterList waiters_;
  bool shutting_down_ = false;
  bool draining_ = false;
  FailureMemory failures_;
  async::WaiterList drained_;
  metrics::WorkQueueMetrics::Handle measure_;  // last: asks processing_ for ages
};

// Runs up to `workers` operations at a time until the queue is shut down: gets an item, runs
// `sync`, and then forgets it (Ok) or adds it rate-limited. A controller with another policy calls
// Get and Done itself.
async::Task<void> RunWorkers(WorkQueue* queue, int workers,
                             std::function<async::Task<Status>(std::string item)> sync);

}  // namespace csinative::kube
