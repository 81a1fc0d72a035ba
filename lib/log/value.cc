// SPDX-License-Identifier: Apache-2.0
#include "lib/log/value.h"

namespace csinative::log {

Value::Value(const Value& other) = default;
Value::Value(Value&& other) noexcept = default;
Value& Value::operator=(const Value& other) = default;
Value& Value::operator=(Value&& other) noexcept = default;
Value::~Value() = default;

Value::Value(std::nullptr_t) : rep_(nullptr) {}
Value::Value(std::string text) : rep_(std::move(text)) {}
Value::Value(std::string_view text) : rep_(std::string(text)) {}
Value::Value(const char* text) : rep_(std::string(text)) {}
Value::Value(Boolean value) : rep_(value.value) {}
Value::Value(Signed value) : rep_(value.value) {}
Value::Value(Unsigned value) : rep_(value.value) {}
Value::Value(Floating value) : rep_(value.value) {}
Value::Value(Duration value) : rep_(value) {}
Value::Value(WallTime value) : rep_(value) {}
Value::Value(const Status& status) {
  if (!status.ok()) rep_ = ErrorText{status.message(), {}};
}
Value::Value(ErrorText error) : rep_(std::move(error)) {}
Value::Value(ObjectRef ref) : rep_(std::move(ref)) {}
Value::Value(ObjectRefs refs) : rep_(std::move(refs)) {}
Value::Value(RawJson json) : rep_(std::move(json)) {}
Value::Value(Bytes bytes) : rep_(std::move(bytes)) {}
Value::Value(Unrenderable reason) : rep_(std::move(reason)) {}

}  // namespace csinative::log
