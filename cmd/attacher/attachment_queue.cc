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

int OperationsInProgress(int workers) {
  if (workers < 2) return 1;
  return workers + std::max(1, workers / kShareOfTheOther);
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
      permits_(OperationsInProgress(options_.workers)) {}

async::Task<void> AttachmentQueue::Run(Sync sync) {
  const async::TaskContext context = co_await async::CurrentContext();
  async::Scope scope(*context.loop, context.cancel);
  scope.Spawn(Serve(&attaches_, &sync, &scope));
  scope.Spawn(Serve(&detaches_, &sync, &scope));
  co_await scope.Join();
}

bool AttachmentQueue::HasWork(const Line& line) const {
  return line.in_progress < options_.workers && (line.in_hand || line.queue.size() > 0);
}

bool AttachmentQueue::MayStart(const Line& line) {
  if (permits_ == 0 || line.in_progress >= options_.workers) return false;
  // The last permit goes to them in turn.
  return permits_ > 1 || latest_ != &line || !HasWork(OtherThan(line));
}

async::Task<Status> AttachmentQueue::WaitForTurn(Line* line) {
  CSI_CO_RETURN_IF_ERROR(co_await async::CancellationStatus());
  while (!MayStart(*line)) CSI_CO_RETURN_IF_ERROR(co_await changed_.Wait());
  co_return Status();
}

async::Task<void> AttachmentQueue::Serve(Line* line, const Sync* sync, async::Scope* scope) {
  while ((co_await WaitForTurn(line)).ok()) {
    // Not before it may start: what waits in the queue is seen by those who look at its length.
    const Result<std::string> name = co_await NextOf(line);
    if (!name.ok()) continue;
    line->in_hand = true;
    const Status turn = co_await WaitForTurn(line);
    line->in_hand = false;
    Line& right_line = LineFor(*name);
    if (turn.ok() && &right_line == line && in_work_.insert(*name).second) {
      Start(line, *name, sync, scope);
      continue;
    }
    if (!turn.ok()) {
      // The process ends.
    } else if (&right_line == line) {
      again_.insert(*name);
    } else if (!in_work_.contains(*name)) {
      // Since it was added an attach has become a detach, or its name another attachment's. What
      // is in progress, if anything is, has begun after that.
      right_line.queue.Add(*name);
    }
    line->queue.Done(*name);
    changed_.NotifyAll();
  }
}

async::Task<Result<std::string>> AttachmentQueue::NextOf(Line* line) {
  const async::TaskContext context = co_await async::CurrentContext();
  async::CancelSource idle(context.cancel);
  line->idle = &idle;
  auto name = co_await line->queue.Get().Under(idle);
  line->idle = nullptr;
  co_return std::move(name);
}

void AttachmentQueue::Start(Line* line, std::string name, const Sync* sync, async::Scope* scope) {
  --permits_;
  ++line->in_progress;
  latest_ = line;
  // The other line must not take out what it could only hold.
  async::CancelSource* idle = OtherThan(*line).idle;
  if (permits_ == 0 && idle != nullptr) idle->Cancel();
  scope->Spawn(Process(line, std::move(name), sync));
}

async::Task<void> AttachmentQueue::Process(Line* line, std::string name, const Sync* sync) {
  const Status status = co_await (*sync)(name);
  if (status.ok()) {
    Forget(name);
  } else {
    kube::WorkQueue& queue = LineFor(name).queue;
    queue.NoteFailure(name, status);
    queue.AddRateLimited(name);
  }
  in_work_.erase(name);
  if (again_.erase(name) > 0) Add(name);
  line->queue.Done(name);
  ++permits_;
  --line->in_progress;
  changed_.NotifyAll();
}

async::Task<void> AttachmentQueue::ReportBacklog(log::Logger log) {
  while ((co_await async::Sleep(kReportInterval)).ok()) {
    Report(log, "attach", attaches_.queue);
    Report(log, "detach", detaches_.queue);
  }
}

}  // namespace csinative::attacher
