// SPDX-License-Identifier: Apache-2.0
//
// The queue of attachments (attacher 6). Attaches and detaches wait in lines of their own: each may
// have as many operations in progress as there are workers, both together one fifth more. So a
// burst of detaches that take their time does not hold up an attach (external-attacher#761), and a
// single worker serves both lines in turn.
//
// Otherwise it behaves as one work queue, and is measured as one: an attachment is worked on once
// at a time, whichever line it comes from, and has one count of failures. Loop only.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "lib/async/event_loop.h"
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

  void Add(const std::string& name) { LineFor(name).Add(name); }
  // Forgets the failures of an attachment.
  void Forget(const std::string& name) {
    attaches_.Forget(name);
    detaches_.Forget(name);
  }

  // Runs `sync` for what is queued until cancelled; Ok forgets the failures, anything else tries
  // again after a back-off. Once.
  async::Task<void> Run(std::function<async::Task<Status>(std::string name)> sync);

  // Tells in the log, once a minute, how long attachments wait if that is long: the backlog is
  // otherwise seen in metrics only (external-attacher#706). Until cancelled.
  async::Task<void> ReportBacklog(log::Logger log);

  // For /debug.
  const kube::WorkQueue& attaches() const { return attaches_; }
  const kube::WorkQueue& detaches() const { return detaches_; }

 private:
  using Sync = std::function<async::Task<Status>(std::string name)>;

  kube::WorkQueue& LineFor(const std::string& name) {
    return options_.operation(name) == Operation::kAttach ? attaches_ : detaches_;
  }
  async::Task<void> Work(kube::WorkQueue* line, const Sync* sync);
  async::Task<void> Process(const Sync* sync, std::string name);

  const Options options_;
  kube::WorkQueue attaches_;
  kube::WorkQueue detaches_;
  async::Semaphore in_progress_;
  std::set<std::string> in_work_;  // of both lines
  std::set<std::string> again_;    // handed out by one line while the other works on it
};

}  // namespace csinative::attacher
