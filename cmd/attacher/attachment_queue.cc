// SPDX-License-Identifier: Apache-2.0
#include "cmd/attacher/attachment_queue.h"

#include <algorithm>
#include <utility>

#include "lib/async/scope.h"
#include "lib/async/sleep.h"

namespace csinative::attacher {
namespace {

// How much the number of operations in progress may exceed the workers of one line.
constexpr int kShareOfTheOther = 5;

constexpr Duration kReportInterval = std::chrono::minutes(1);
// Longer than the longest call of a driver by default, so that a healthy one is never mentioned.
constexpr Duration kLongWait = std::chrono::seconds(30);

size_t OperationsInProgress(int workers) {
  if (workers < 2) return 1;
  return static_cast<size_t>(workers) +
         static_cast<size_t>(std::max(1, workers / kShareOfTheOther));
}

void Report(const log::Logger& log, const char* operation, const kube::WorkQueue& line) {
  const Duration oldest = line.OldestWait();
  if (oldest < kLongWait) return;
  log.Info("VolumeAttachments wait for their turn", "operation", operation, "waiting",
           static_cast<int64_t>(line.size()), "inProgress", static_cast<int64_t>(line.processing()),
           "oldestWaits", std::chrono::duration_cast<std::chrono::seconds>(oldest));
}

}  // namespace

AttachmentQueue::AttachmentQueue(async::EventLoop& loop, Options options)
    : options_(std::move(options)),
      attaches_(loop, options_.queue),
      detaches_(loop, options_.queue),
      in_progress_(OperationsInProgress(options_.workers)) {}

async::Task<void> AttachmentQueue::Run(Sync sync) {
  const async::TaskContext context = co_await async::CurrentContext();
  async::Scope scope(*context.loop, context.cancel);
  for (int i = 0; i < options_.workers; ++i) {
    scope.Spawn(Work(&attaches_, &sync));
    scope.Spawn(Work(&detaches_, &sync));
  }
  co_await scope.Join();
}

async::Task<void> AttachmentQueue::Work(kube::WorkQueue* line, const Sync* sync) {
  while (true) {
    Result<std::string> name = co_await line->Get();
    if (!name.ok()) co_return;
    kube::WorkQueue& right_line = LineFor(*name);
    if (&right_line != line) {
      // Since it was added an attach has become a detach, or its name another attachment's. What is
      // in progress, if anything is, has begun after that.
      if (!in_work_.contains(*name)) right_line.Add(*name);
    } else if (!in_work_.insert(*name).second) {
      again_.insert(*name);
    } else {
      co_await Process(sync, *name);
      in_work_.erase(*name);
      if (again_.erase(*name) > 0) Add(*name);
    }
    line->Done(*name);
  }
}

async::Task<void> AttachmentQueue::Process(const Sync* sync, std::string name) {
  const Status acquired = co_await in_progress_.Acquire();
  if (!acquired.ok()) co_return;
  const Status status = co_await (*sync)(name);
  in_progress_.Release();
  if (status.ok()) {
    Forget(name);
  } else {
    LineFor(name).NoteFailure(name, status);
    LineFor(name).AddRateLimited(name);
  }
}

async::Task<void> AttachmentQueue::ReportBacklog(log::Logger log) {
  while ((co_await async::Sleep(kReportInterval)).ok()) {
    Report(log, "attach", attaches_);
    Report(log, "detach", detaches_);
  }
}

}  // namespace csinative::attacher
