// SPDX-License-Identifier: Apache-2.0
#include "lib/rpc/completion_thread.h"

#include <grpc/support/log.h>
#include <pthread.h>

#include <utility>

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

}  // namespace

CompletionThread::CompletionThread(std::unique_ptr<grpc::CompletionQueue> queue)
    : queue_(std::move(queue)) {
  SilenceLibrary();
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "grpc-queue");
    void* tag = nullptr;
    bool ok = false;
    while (queue_->Next(&tag, &ok)) static_cast<CompletionEvent*>(tag)->OnComplete(ok);
  });
}

CompletionThread::~CompletionThread() {
  queue_->Shutdown();
  thread_.join();
}

}  // namespace csinative::rpc
