// SPDX-License-Identifier: Apache-2.0
#include "lib/rpc/completion_thread.h"

#include <grpc/support/log.h>
#include <pthread.h>

#include <utility>

#if __has_feature(thread_sanitizer)
#include <sanitizer/tsan_interface.h>
#endif

namespace csinative::rpc {
namespace {

// What gRPC has to say reaches the callers as statuses; its own lines on stderr would break the
// log format.
void SilenceLibrary() {
  static const bool once = [] {
    gpr_set_log_function([](gpr_log_func_args*) {});
    return true;
  }();
  (void)once;
}

#if __has_feature(thread_sanitizer)
void NoteTaken(void* tag) { __tsan_acquire(tag); }
#else
void NoteTaken(void*) {}
#endif

}  // namespace

#if __has_feature(thread_sanitizer)
void NoteGiven(const CompletionEvent* event) {
  __tsan_release(const_cast<CompletionEvent*>(event));
}
#else
void NoteGiven(const CompletionEvent*) {}
#endif

CompletionThread::CompletionThread(std::unique_ptr<grpc::CompletionQueue> queue)
    : queue_(std::move(queue)) {
  SilenceLibrary();
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "grpc-queue");
    void* tag = nullptr;
    bool ok = false;
    while (queue_->Next(&tag, &ok)) {
      NoteTaken(tag);
      static_cast<CompletionEvent*>(tag)->OnComplete(ok);
    }
  });
}

CompletionThread::~CompletionThread() {
  queue_->Shutdown();
  thread_.join();
}

}  // namespace csinative::rpc
