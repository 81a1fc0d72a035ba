// SPDX-License-Identifier: Apache-2.0
//
// Result<T> is a T or the Status that says why there is none, and the four macros that pass a
// failure on. Values; any thread.
#pragma once

#include <cassert>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "lib/base/status.h"

namespace csinative {

template <typename T>
class [[nodiscard]] Result {
 public:
  static_assert(!std::is_reference_v<T> && !std::is_same_v<std::remove_cv_t<T>, Status>);

  Result(T value) : rep_(std::in_place_index<0>, std::move(value)) {}        // NOLINT: implicit
  Result(Status status) : rep_(std::in_place_index<1>, std::move(status)) {  // NOLINT: implicit
    assert(!std::get<1>(rep_).ok());
  }

  bool ok() const { return rep_.index() == 0; }
  // Ok when there is a value.
  Status status() const { return ok() ? Status() : std::get<1>(rep_); }

  // REQUIRES: ok().
  T& value() & { return std::get<0>(rep_); }
  const T& value() const& { return std::get<0>(rep_); }
  T&& value() && { return std::get<0>(std::move(rep_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  T value_or(T fallback) && { return ok() ? std::move(*this).value() : std::move(fallback); }

 private:
  std::variant<T, Status> rep_;
};

}  // namespace csinative

#define CSI_CONCAT_INNER_(a, b) a##b
#define CSI_CONCAT_(a, b) CSI_CONCAT_INNER_(a, b)

// return on failure, from a plain function.
#define CSI_RETURN_IF_ERROR(expr)              \
  do {                                         \
    ::csinative::Status csi_status_ = (expr);  \
    if (!csi_status_.ok()) return csi_status_; \
  } while (false)

#define CSI_ASSIGN_OR_RETURN_(tmp, lhs, expr) \
  auto tmp = (expr);                          \
  if (!tmp.ok()) return tmp.status();         \
  lhs = std::move(tmp).value()
// CSI_ASSIGN_OR_RETURN(auto x, F()): declares or assigns x, or returns F's failure.
#define CSI_ASSIGN_OR_RETURN(lhs, expr) \
  CSI_ASSIGN_OR_RETURN_(CSI_CONCAT_(csi_result_, __LINE__), lhs, expr)

// The same two in a coroutine. expr may contain co_await.
#define CSI_CO_RETURN_IF_ERROR(expr)              \
  do {                                            \
    ::csinative::Status csi_status_ = (expr);     \
    if (!csi_status_.ok()) co_return csi_status_; \
  } while (false)

#define CSI_CO_ASSIGN_OR_RETURN_(tmp, lhs, expr) \
  auto tmp = (expr);                             \
  if (!tmp.ok()) co_return tmp.status();         \
  lhs = std::move(tmp).value()
#define CSI_CO_ASSIGN_OR_RETURN(lhs, expr) \
  CSI_CO_ASSIGN_OR_RETURN_(CSI_CONCAT_(csi_result_, __LINE__), lhs, expr)
