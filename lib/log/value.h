// SPDX-License-Identifier: Apache-2.0
//
// The value side of a key/value pair in a log record. Converts from what code has at hand; how
// each kind looks in both formats is common 5.4 and 5.11. Value type.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/base/secret.h"
#include "lib/base/status.h"

namespace csinative::log {

// A Kubernetes object, or the absence of one when both parts are empty.
struct ObjectRef {
  std::string ns;
  std::string name;
};
using ObjectRefs = std::vector<std::optional<ObjectRef>>;

// The text of an error; causes when it joins several.
struct ErrorText {
  std::string text;
  std::vector<std::string> causes;
};

// Valid compact JSON, for maps, lists and structs.
struct RawJson {
  std::string text;
};

struct Bytes {
  std::string data;
};

// Why a lazily computed value could not be rendered.
struct Unrenderable {
  enum class Kind { kPanic, kEncoding } kind;
  std::string reason;
};

class Value {
 public:
  using Rep =
      std::variant<std::nullptr_t, bool, int64_t, uint64_t, double, std::string, Duration, WallTime,
                   ErrorText, ObjectRef, ObjectRefs, RawJson, Bytes, Unrenderable>;

  // Nothing here is inline that need not be: a record is written in thousands of places.
  Value(const Value& other);
  Value(Value&& other) noexcept;
  Value& operator=(const Value& other);
  Value& operator=(Value&& other) noexcept;
  ~Value();

  // NOLINTBEGIN(google-explicit-constructor): conversion is the purpose.
  Value(std::nullptr_t = nullptr);
  Value(std::string text);
  Value(std::string_view text);
  Value(const char* text);
  template <std::same_as<bool> T>
  Value(T value) : Value(Boolean{value}) {}
  template <std::signed_integral T>
  Value(T value) : Value(Signed{value}) {}
  template <std::unsigned_integral T>
    requires(!std::same_as<T, bool>)
  Value(T value) : Value(Unsigned{value}) {}
  template <std::floating_point T>
  Value(T value) : Value(Floating{static_cast<double>(value)}) {}
  Value(Duration value);
  template <typename R, typename P>
  Value(std::chrono::duration<R, P> value) : Value(std::chrono::duration_cast<Duration>(value)) {}
  Value(WallTime value);
  // The message; nil when ok. The text of an RPC error is already the full one (common 7.5).
  Value(const Status& status);
  Value(ErrorText error);
  Value(ObjectRef ref);
  Value(ObjectRefs refs);
  Value(RawJson json);
  Value(Bytes bytes);
  // Nil when empty.
  template <typename T>
  Value(std::optional<T> value) : Value(value ? Value(*std::move(value)) : Value(nullptr)) {}
  // The value, or why it could not be encoded.
  template <typename T>
  Value(Result<T> value)
      : Value(value.ok()
                  ? Value(std::move(value).value())
                  : Value(Unrenderable{Unrenderable::Kind::kEncoding, value.status().message()})) {}
  // Computed only when the record is written.
  template <std::invocable F>
  Value(F&& compute) : Value(Compute(std::forward<F>(compute))) {}
  Value(const Secret&) = delete;
  // NOLINTEND(google-explicit-constructor)

  const Rep& rep() const { return rep_; }

 private:
  struct Boolean {
    bool value;
  };
  struct Signed {
    int64_t value;
  };
  struct Unsigned {
    uint64_t value;
  };
  struct Floating {
    double value;
  };
  explicit Value(Boolean value);
  explicit Value(Signed value);
  explicit Value(Unsigned value);
  explicit Value(Floating value);
  explicit Value(Unrenderable reason);

  template <typename F>
  static Value Compute(F&& compute) {
    try {
      return Value(std::forward<F>(compute)());
    } catch (const std::exception& e) {
      return Value(Unrenderable{Unrenderable::Kind::kPanic, e.what()});
    }
  }

  Rep rep_;
};

// Key and value of one pair. Keys are literals or outlive the logger that carries them.
struct Pair {
  std::string_view key;
  Value value;
};

}  // namespace csinative::log
