// SPDX-License-Identifier: Apache-2.0
#include "lib/async/scope.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace csinative::async {

// The frame at the bottom of a spawned task: it awaits the task and then removes itself.
struct Scope::Root {
  struct promise_type : internal::PromiseBase {
    struct Leave {
      bool await_ready() noexcept { return false; }
      void await_suspend(std::coroutine_handle<promise_type> self) noexcept {
        Scope* scope = self.promise().scope;
        std::exception_ptr error = self.promise().error;
        EventLoop* loop = self.promise().context.loop;
        scope->Unlink(&self.promise());
        self.destroy();
        // Only the loop is touched from here on: the scope may be gone once joiners run.
        if (error) loop->EscapedException(error);
      }
      void await_resume() noexcept {}
    };
    promise_type(Scope* owner, Task<void>&) : scope(owner) {}
    Root get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    Leave final_suspend() noexcept { return {}; }
    void return_void() noexcept {}

    Scope* scope;
    promise_type* prev = nullptr;
    promise_type* next = nullptr;
  };
  std::coroutine_handle<promise_type> handle;
};

Scope::Root Scope::RunRoot(Scope*, Task<void> task) { co_await std::move(task); }

Scope::Scope(EventLoop& loop, CancelSource* parent) : loop_(loop), cancel_(parent) {
  next_in_loop_ = loop_.scopes_;
  if (next_in_loop_ != nullptr) next_in_loop_->prev_in_loop_ = this;
  loop_.scopes_ = this;
}

Scope::~Scope() {
  if (loop_.discarding()) {
    while (DestroyOneFrame()) {
    }
  }
  if (!empty()) {
    std::fprintf(stderr, "a scope was destroyed with %zu running tasks\n", size_);
    std::abort();
  }
  (prev_in_loop_ ? prev_in_loop_->next_in_loop_ : loop_.scopes_) = next_in_loop_;
  if (next_in_loop_ != nullptr) next_in_loop_->prev_in_loop_ = prev_in_loop_;
}

void Scope::Spawn(Task<void> task) {
  if (loop_.discarding()) return;
  Root root = RunRoot(this, std::move(task));
  Root::promise_type* promise = &root.handle.promise();
  promise->context = {&loop_, &cancel_};
  promise->prev = static_cast<Root::promise_type*>(last_);
  if (last_ != nullptr) {
    static_cast<Root::promise_type*>(last_)->next = promise;
  } else {
    first_ = promise;
  }
  last_ = promise;
  ++size_;
  loop_.Post([handle = root.handle] { handle.resume(); });
}

void Scope::Unlink(void* root_promise) {
  auto* promise = static_cast<Root::promise_type*>(root_promise);
  if (promise->prev != nullptr) {
    promise->prev->next = promise->next;
  } else {
    first_ = promise->next;
  }
  if (promise->next != nullptr) {
    promise->next->prev = promise->prev;
  } else {
    last_ = promise->prev;
  }
  if (--size_ == 0) joiners_.WakeAll();
}

bool Scope::DestroyOneFrame() {
  auto* promise = static_cast<Root::promise_type*>(last_);
  if (promise == nullptr) return false;
  Unlink(promise);
  std::coroutine_handle<Root::promise_type>::from_promise(*promise).destroy();
  return true;
}

Task<void> Scope::Join() {
  while (!empty()) (void)co_await joiners_.WaitUncancellable();
}

Task<void> Scope::Close() {
  Cancel();
  co_await Join();
}

}  // namespace csinative::async
