// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/work_queue.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace csinative::kube {

WorkQueue::WorkQueue(async::EventLoop& loop, Options options)
    : loop_(loop), options_(std::move(options)) {
  if (options_.metrics == nullptr || options_.name.empty()) return;
  measure_ = options_.metrics->ForQueue(options_.name, [this] {
    metrics::InProgressAges ages;
    for (const auto& [item, start] : processing_) {
      const Duration age = loop_.Now() - start;
      ages.sum += age;
      ages.longest = std::max(ages.longest, age);
    }
    return ages;
  });
}

WorkQueue::~WorkQueue() = default;

void WorkQueue::Add(std::string item) {
  if (shutting_down_ || !dirty_.emplace(item, loop_.Now()).second) return;
  measure_.Added();
  if (processing_.contains(item)) return;  // Done() queues it
  queue_.push_back(std::move(item));
  waiters_.WakeOne();
}

void WorkQueue::AddAfter(std::string item, Duration delay) {
  if (shutting_down_) return;
  measure_.Retried();
  if (delay <= Duration::zero()) {
    Add(std::move(item));
    return;
  }
  const MonotonicTime now = loop_.Now();
  const MonotonicTime when =
      delay > MonotonicTime::max() - now ? MonotonicTime::max() : now + delay;
  auto known = delayed_by_item_.find(item);
  if (known != delayed_by_item_.end()) {
    if (known->second->first <= when) return;
    delayed_.erase(known->second);
    delayed_by_item_.erase(known);
  }
  auto it = delayed_.emplace(when, item);
  delayed_by_item_.emplace(std::move(item), it);
  ArmTimer();
}

void WorkQueue::AddRateLimited(const std::string& item) {
  AddAfter(item, options_.limiter->When(item));
}

void WorkQueue::ArmTimer() {
  if (delayed_.empty()) return;
  const MonotonicTime next = delayed_.begin()->first;
  if (armed_ && *armed_ <= next) return;
  armed_ = next;
  timer_ = async::ScopedTimer(loop_, next, [this] { OnTimer(); });
}

void WorkQueue::OnTimer() {
  armed_.reset();
  while (!delayed_.empty() && delayed_.begin()->first <= loop_.Now()) {
    std::string item = std::move(delayed_.begin()->second);
    delayed_.erase(delayed_.begin());
    delayed_by_item_.erase(item);
    Add(std::move(item));
  }
  ArmTimer();
}

async::Task<Result<std::string>> WorkQueue::Get() {
  Status running = co_await async::CancellationStatus();
  while (queue_.empty()) {
    if (shutting_down_) co_return CancelledError("the queue is shut down");
    if (!running.ok()) co_return running;
    running = co_await waiters_.Wait();
    // A cancelled waiter may have been woken for an item; the next one takes it.
    if (!running.ok()) {
      if (!queue_.empty()) waiters_.WakeOne();
      co_return running;
    }
  }
  std::string item = std::move(queue_.front());
  queue_.pop_front();
  const MonotonicTime now = loop_.Now();
  auto added = dirty_.find(item);
  measure_.Started(now - added->second);
  dirty_.erase(added);
  processing_.emplace(item, now);
  co_return item;
}

void WorkQueue::Done(const std::string& item) {
  auto started = processing_.find(item);
  assert(started != processing_.end());
  measure_.Finished(loop_.Now() - started->second);
  processing_.erase(started);
  if (!dirty_.contains(item)) {
    if (processing_.empty()) drained_.WakeAll();
    return;
  }
  queue_.push_back(item);
  waiters_.WakeOne();
}

void WorkQueue::ShutDown() {
  draining_ = false;
  drained_.WakeAll();
  Refuse();
}

async::Task<Status> WorkQueue::ShutDownWithDrain() {
  draining_ = true;
  Refuse();
  // An item that waits for its second run is processed by nobody for a moment: its own Done()
  // wakes.
  while (draining_ && !processing_.empty()) {
    CSI_CO_RETURN_IF_ERROR(co_await drained_.Wait());
  }
  co_return Status();
}

void WorkQueue::Refuse() {
  shutting_down_ = true;
  delayed_.clear();
  delayed_by_item_.clear();
  timer_.Cancel();
  armed_.reset();
  waiters_.WakeAll();
}

Duration WorkQueue::OldestWait() const {
  if (queue_.empty()) return Duration::zero();
  return loop_.Now() - dirty_.at(queue_.front());
}

std::optional<MonotonicTime> WorkQueue::DelayedUntil(const std::string& item) const {
  auto it = delayed_by_item_.find(item);
  if (it == delayed_by_item_.end()) return std::nullopt;
  return it->second->first;
}

std::vector<WorkQueue::ItemInfo> WorkQueue::Items(size_t limit) const {
  std::vector<ItemInfo> items;
  const auto add = [&](const std::string& item, ItemState state, MonotonicTime since,
                       std::optional<MonotonicTime> until) {
    if (items.size() >= limit) return false;
    items.push_back({item, state, since, until, Failures(item), failures_.Find(item)});
    return true;
  };
  for (const auto& [item, since] : processing_) {
    if (!add(item, ItemState::kProcessing, since, std::nullopt)) return items;
  }
  for (const std::string& item : queue_) {
    if (!add(item, ItemState::kWaiting, dirty_.at(item), std::nullopt)) return items;
  }
  for (const auto& [when, item] : delayed_) {
    if (!add(item, ItemState::kDelayed, {}, when)) return items;
  }
  return items;
}

namespace {

using SyncFunction = std::function<async::Task<Status>(std::string item)>;

async::Task<void> Work(WorkQueue* queue, const SyncFunction* sync) {
  while (true) {
    Result<std::string> item = co_await queue->Get();
    if (!item.ok()) co_return;
    Status status = co_await (*sync)(*item);
    if (status.ok()) {
      queue->Forget(*item);
    } else {
      queue->NoteFailure(*item, status);
      queue->AddRateLimited(*item);
    }
    queue->Done(*item);
  }
}

}  // namespace

async::Task<void> RunWorkers(WorkQueue* queue, int workers, SyncFunction sync) {
  async::TaskContext context = co_await async::CurrentContext();
  async::Scope scope(*context.loop, context.cancel);
  for (int i = 0; i < workers; ++i) scope.Spawn(Work(queue, &sync));
  co_await scope.Join();
}

}  // namespace csinative::kube
