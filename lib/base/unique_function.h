// SPDX-License-Identifier: Apache-2.0
//
// Move-only owner of a callable, as std::move_only_function of newer libraries. Small callables
// (three pointers) are stored in place: the event loop queues one for each step.
#pragma once

#include <cassert>
#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace csinative {

template <typename Signature>
class UniqueFunction;

template <typename R, typename... Args>
class UniqueFunction<R(Args...)> {
 public:
  UniqueFunction() = default;
  UniqueFunction(std::nullptr_t) {}  // NOLINT: implicit, like std::function

  template <typename F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, UniqueFunction> &&
             std::is_invocable_r_v<R, std::decay_t<F>&, Args...>)
  UniqueFunction(F&& f) {  // NOLINT: implicit, like std::function
    using Fn = std::decay_t<F>;
    if constexpr (kFits<Fn>) {
      ::new (static_cast<void*>(buffer_)) Fn(std::forward<F>(f));
      ops_ = &kInlineOps<Fn>;
    } else {
      ::new (static_cast<void*>(buffer_)) Fn*(new Fn(std::forward<F>(f)));
      ops_ = &kHeapOps<Fn>;
    }
  }

  UniqueFunction(UniqueFunction&& other) noexcept { TakeFrom(other); }
  UniqueFunction& operator=(UniqueFunction&& other) noexcept {
    if (this != &other) {
      Reset();
      TakeFrom(other);
    }
    return *this;
  }
  ~UniqueFunction() { Reset(); }

  explicit operator bool() const { return ops_ != nullptr; }

  // REQUIRES: not empty.
  R operator()(Args... args) {
    assert(ops_ != nullptr);
    return ops_->call(buffer_, std::forward<Args>(args)...);
  }

 private:
  static constexpr size_t kSize = 3 * sizeof(void*);
  template <typename Fn>
  static constexpr bool kFits = sizeof(Fn) <= kSize && alignof(Fn) <= alignof(void*) &&
                                std::is_nothrow_move_constructible_v<Fn>;

  struct Ops {
    R (*call)(void*, Args&&...);
    void (*move)(void* from, void* to);  // destroys what is left in from
    void (*destroy)(void*);
  };

  template <typename Fn>
  static constexpr Ops kInlineOps = {
      [](void* p, Args&&... args) -> R {
        return (*std::launder(static_cast<Fn*>(p)))(std::forward<Args>(args)...);
      },
      [](void* from, void* to) {
        Fn* f = std::launder(static_cast<Fn*>(from));
        ::new (to) Fn(std::move(*f));
        f->~Fn();
      },
      [](void* p) { std::launder(static_cast<Fn*>(p))->~Fn(); }};

  template <typename Fn>
  static constexpr Ops kHeapOps = {
      [](void* p, Args&&... args) -> R {
        return (**std::launder(static_cast<Fn**>(p)))(std::forward<Args>(args)...);
      },
      [](void* from, void* to) { ::new (to) Fn*(*std::launder(static_cast<Fn**>(from))); },
      [](void* p) { delete *std::launder(static_cast<Fn**>(p)); }};

  void TakeFrom(UniqueFunction& other) {
    ops_ = std::exchange(other.ops_, nullptr);
    if (ops_) ops_->move(other.buffer_, buffer_);
  }
  void Reset() {
    if (const Ops* ops = std::exchange(ops_, nullptr)) ops->destroy(buffer_);
  }

  const Ops* ops_ = nullptr;
  alignas(void*) std::byte buffer_[kSize];
};

}  // namespace csinative
