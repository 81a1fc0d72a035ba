// SPDX-License-Identifier: Apache-2.0
//
// Structured logging in klog's layout:
//
//   log.Info("Provisioning volume", "PVC", ObjectRef{ns, name}, "size", bytes);
//   log.V(5).Info("GRPC call", "method", method, "request", [&] { return StripSecrets(request); });
//   log.Error(status, "Failed to create volume", "PVC", ref);
//   log.Warningf("volume {} has no owner", name);        // unstructured, {} for each argument
//
// A Logger is a cheap value: a shared backend plus accumulated names and pairs. A default one
// writes nothing. Arguments are converted only when the record is written, and an argument that
// can be called is called only then. Nothing here ends the process: Fatal only writes the record.
// Any thread.
#pragma once

#include <array>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "lib/log/backend.h"
#include "lib/log/value.h"

namespace csinative::log {

// A message and the place it comes from. Give the location explicitly to log for a caller.
struct Message {
  template <typename T>
    requires std::convertible_to<const T&, std::string_view>
  Message(const T& message, std::source_location where = std::source_location::current())  // NOLINT
      : text(message), location(where) {}

  std::string_view text;
  std::source_location location;
};

// A literal with one {} for each argument, checked when compiled.
template <size_t kArguments>
struct FormatText {
  consteval FormatText(const char* format,  // NOLINT: implicit
                       std::source_location where = std::source_location::current())
      : text(format), location(where) {
    size_t count = 0;
    for (size_t i = 0; i + 1 < text.size(); ++i) {
      if (text[i] == '{' && text[i + 1] == '}') ++count;
    }
    if (count != kArguments) throw "the number of {} differs from the number of arguments";
  }

  std::string_view text;
  std::source_location location;
};

// The error of an error call: nil (no error), a Status, or text.
class ErrorArgument {
 public:
  // NOLINTBEGIN(google-explicit-constructor)
  ErrorArgument(std::nullptr_t) {}
  ErrorArgument(const Status& status) : value_(status) {}
  ErrorArgument(ErrorText error) : value_(std::move(error)) {}
  ErrorArgument(std::string text) : value_(ErrorText{std::move(text), {}}) {}
  ErrorArgument(const char* text) : value_(ErrorText{text, {}}) {}
  // NOLINTEND(google-explicit-constructor)
  // Null when there is no error.
  const Value* value() const {
    return std::holds_alternative<std::nullptr_t>(value_.rep()) ? nullptr : &value_;
  }

 private:
  Value value_;
};

namespace internal {

inline void FillPairs(Pair*) {}
template <typename K, typename V, typename... Rest>
void FillPairs(Pair* out, K&& key, V&& value, Rest&&... rest) {
  out->key = std::string_view(key);
  out->value = Value(std::forward<V>(value));
  FillPairs(out + 1, std::forward<Rest>(rest)...);
}

template <typename... Kv>
std::array<Pair, sizeof...(Kv) / 2> MakePairs(Kv&&... kv) {
  static_assert(sizeof...(Kv) % 2 == 0, "a key without a value");
  std::array<Pair, sizeof...(Kv) / 2> pairs;
  FillPairs(pairs.data(), std::forward<Kv>(kv)...);
  return pairs;
}

}  // namespace internal

class Logger;

// A logger at one verbosity level, for the rest of the expression (or while the Logger lives).
class LeveledLogger {
 public:
  // Whether records of this level are written: guards work that only feeds a record.
  bool enabled() const { return logger_ != nullptr; }
  explicit operator bool() const { return enabled(); }

  template <typename... Kv>
  void Info(Message message, Kv&&... kv) const;
  template <typename... T>
  void Infof(FormatText<sizeof...(T)> format, const T&... arguments) const;

 private:
  friend class Logger;
  LeveledLogger(const Logger* logger, int level) : logger_(logger), level_(level) {}

  const Logger* logger_;  // null: disabled
  int level_;
};

class Logger {
 public:
  Logger() = default;
  explicit Logger(std::shared_ptr<Backend> backend) : backend_(std::move(backend)) {}

  // Names are joined by "." and come first in a record.
  Logger WithName(std::string_view name) const;
  // Adds pairs to all records of the copy. Keys are literals.
  template <typename... Kv>
  Logger WithValues(Kv&&... kv) const {
    auto pairs = internal::MakePairs(std::forward<Kv>(kv)...);
    return WithPairs(pairs);
  }
  Logger WithPairs(std::span<Pair> pairs) const;

  LeveledLogger V(int level, std::source_location where = std::source_location::current()) const {
    return LeveledLogger(Enabled(level, where) ? this : nullptr, level);
  }
  bool Enabled(int level, std::source_location where = std::source_location::current()) const {
    return backend_ != nullptr && backend_->Enabled(level, where);
  }

  template <typename... Kv>
  void Info(Message message, Kv&&... kv) const {
    V(0).Info(message, std::forward<Kv>(kv)...);
  }
  // Written at every verbosity. A nil or ok error leaves "err" out.
  template <typename... Kv>
  void Error(const ErrorArgument& error, Message message, Kv&&... kv) const {
    if (!backend_) return;
    auto pairs = internal::MakePairs(std::forward<Kv>(kv)...);
    Write(Severity::kError, 0, message, error.value(), pairs);
  }

  // Unstructured records: names and accumulated pairs are left out (common 5.8).
  template <typename... T>
  void Infof(FormatText<sizeof...(T)> format, const T&... arguments) const {
    V(0).Infof(format, arguments...);
  }
  template <typename... T>
  void Warningf(FormatText<sizeof...(T)> format, const T&... arguments) const {
    WriteFormat(Severity::kWarning, 0, format, arguments...);
  }
  template <typename... T>
  void Errorf(FormatText<sizeof...(T)> format, const T&... arguments) const {
    WriteFormat(Severity::kError, 0, format, arguments...);
  }
  // The record that precedes exit code 255; the caller exits (common 5.9).
  template <typename... T>
  void Fatalf(FormatText<sizeof...(T)> format, const T&... arguments) const {
    WriteFormat(Severity::kFatal, 0, format, arguments...);
  }

  // Null for a default logger.
  Backend* backend() const { return backend_.get(); }

 private:
  friend class LeveledLogger;
  struct Context {
    std::string name;
    std::vector<Pair> values;
  };

  void Write(Severity severity, int level, const Message& message, const Value* error,
             std::span<const Pair> pairs) const;
  template <typename... T>
  void WriteFormat(Severity severity, int level, FormatText<sizeof...(T)> format,
                   const T&... arguments) const {
    if (!backend_) return;
    const std::array<Value, sizeof...(T)> values{Value(arguments)...};
    WriteUnstructured(severity, level, format.text, format.location, values);
  }
  void WriteUnstructured(Severity severity, int level, std::string_view format,
                         const std::source_location& location,
                         std::span<const Value> arguments) const;

  std::shared_ptr<Backend> backend_;
  std::shared_ptr<const Context> context_;  // null: no name, no values
};

template <typename... Kv>
void LeveledLogger::Info(Message message, Kv&&... kv) const {
  if (logger_ == nullptr) return;
  auto pairs = internal::MakePairs(std::forward<Kv>(kv)...);
  logger_->Write(Severity::kInfo, level_, message, nullptr, pairs);
}

template <typename... T>
void LeveledLogger::Infof(FormatText<sizeof...(T)> format, const T&... arguments) const {
  if (logger_ == nullptr) return;
  logger_->WriteFormat(Severity::kInfo, level_, format, arguments...);
}

// A logger that writes to stderr, text at verbosity 0.
Logger NewStderrLogger();
// A logger that writes to output, for tests and simulated processes.
Logger NewLogger(std::shared_ptr<Output> output, Backend::Options options = {});

}  // namespace csinative::log
