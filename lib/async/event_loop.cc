// SPDX-License-Identifier: Apache-2.0
#include "lib/async/event_loop.h"

#include <cstdio>
#include <cstdlib>

#include "lib/async/scope.h"

namespace csinative::async {

void EventLoop::EscapedException(std::exception_ptr error) {
  if (on_exception_) {
    on_exception_(error);
    return;
  }
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "an exception left a task: %s\n", e.what());
  } catch (...) {
    std::fprintf(stderr, "an exception of unknown type left a task\n");
  }
  std::abort();
}

void EventLoop::DiscardScopes() {
  // Destroying a frame may destroy further scopes that it owns, so always take the first.
  for (Scope* scope = scopes_; scope != nullptr;) {
    if (scope->DestroyOneFrame()) {
      scope = scopes_;
    } else {
      scope = scope->next_in_loop_;
    }
  }
}

}  // namespace csinative::async
