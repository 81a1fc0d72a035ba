// SPDX-License-Identifier: Apache-2.0
//
// The queue of attachments (attacher 6). Attaches and detaches wait in lines of their own: each may
// have as many operations in progress as there are workers, both together one fifth more. So a
// burst of detaches that take their time does not hold up an attach (external-attacher#761), and a
// single worker serves both lines in turn.
//
// Otherwise it behaves as one work queue, and is measured as one: an attachment is worked on once
// at a time, whichever line it comes from, and has one count of failures. One that has to wait for
// the other line stays in its own and is counted there. Loop only.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "lib/async/cancel.h"
#include "lib/async/event_loop.h"
#include "lib/async/scope.h"
#include "lib/async/sync.h"
#include "lib/async/task.h"
#include "lib/base/result.h"
#include "lib/kube/work_queue.h"
#include "lib/log/logger.h"

namespace csinative::attacher {

enum class Operation { kAttach, kDetach };

class AttachmentQueue {
 public:
  struct Options {
    kube::WorkQueue::Options queue;
    int workers = 10;
    // What is to be done about the attachment with this name, as things stand.
    std::function<Operation(const std::string& name)> operation;
  };
  AttachmentQueue(async::EventLoop& loop, Options options);

  void Add(const std::string& name) { LineFor(name).queue.Add(name); }
  // Forgets the failures of an attachment.
  void Forget(const std::string& name) {
    attaches_.queue.Forget(name);
    detaches_.queue.Forget(name);
  }

  // Runs `sync` for what is queued until cancelled; Ok forgets the failures, anything else tries
  // again after a back-off. Once.
  async::Task<void> Run(std::function<async::Task<Status>(std::string name)> sync);

  // Tells in the log, once a minute, how long attachments wait if that is long: the backlog is
  // otherwise seen in metrics only (external-attacher#706). Until cancelled.
  async::Task<void> ReportBacklog(log::Logger log);

  // For /debug.
  const kube::WorkQueue& attaches() const { return attaches_.queue; }
  const kube::WorkQueue& detaches() const { return detaches_.queue; }

 private:
  using Sync = std::function<async::Task<Status>(std::string name)>;

  struct Line {
    Line(async::EventLoop& loop, kube::WorkQueue::Options options)
        : queue(loop, std::move(options)) {}
    kube::WorkQueue queue;
    int in_progress = 0;
    // It waits for an item, with an eye on the permits. Null: it does not.
    async::CancelSource* idle = nullptr;
    // An item came out in the moment in which the other line took the last permit.
    bool in_hand = false;
  };

  Line& LineFor(const std::string& name) {
    return options_.operation(name) == Operation::kAttach ? attaches_ : detaches_;
  }
  Line& OtherThan(const Line& line) { return &line == &attaches_ ? detaches_ : attaches_; }
  bool HasWork(const Line& line) const;
  // Whether the next item of this line can be worked on now, if there is one.
  bool MayStart(const Line& line);
  // Until that is so; fails with the cancellation.
  async::Task<Status> WaitForTurn(Line* line);
  // Starts what the line holds, as permits allow.
  async::Task<void> Serve(Line* line, const Sync* sync, async::Scope* scope);
  // The oldest item, once there is one; fails when the other line needs the last permit before.
  async::Task<Result<std::string>> NextOf(Line* line);
  void Start(Line* line, std::string name, const Sync* sync, async::Scope* scope);
  async::Task<void> Process(Line* line, std::string name, const Sync* sync);

  const Options options_;
  Line attaches_;
  Line detaches_;
  int permits_;
  const Line* latest_ = nullptr;   // that started something
  async::Signal changed_;          // whatever MayStart looks at, other than by a start
  std::set<std::string> in_work_;  // of both lines
  std::set<std::string> again_;    // handed out by one line while the other works on it
};

}  // namespace csinative::attacher
