// SPDX-License-Identifier: Apache-2.0
//
// The one thread that waits on a gRPC completion queue. It sits in Next without a deadline: that
// wakes at once for an event (gRPC's own pollers sleep for up to 100 ms after an idle second) and
// never without one. Private to lib/rpc.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <thread>

namespace csinative::rpc {

// What is put into the queue as tag.
class CompletionEvent {
 public:
  // Queue thread. Called once for each time the event was given to gRPC.
  virtual void OnComplete(bool ok) = 0;

 protected:
  ~CompletionEvent() = default;
};

// Any thread, right before the event is given to gRPC. For ThreadSanitizer, which does not see the
// library's own synchronisation; nothing in other builds.
void NoteGiven(const CompletionEvent* event);

class CompletionThread {
 public:
  explicit CompletionThread(std::unique_ptr<grpc::CompletionQueue> queue);
  // Waits for all outstanding events: the caller has cancelled their operations.
  ~CompletionThread();
  CompletionThread(const CompletionThread&) = delete;
  CompletionThread& operator=(const CompletionThread&) = delete;

  grpc::CompletionQueue& queue() { return *queue_; }

 private:
  std::unique_ptr<grpc::CompletionQueue> queue_;
  std::thread thread_;
};

}  // namespace csinative::rpc
