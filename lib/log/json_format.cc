// SPDX-License-Identifier: Apache-2.0
//
// The JSON layout of component-base's json logger (common 5.11).
#include <array>
#include <charconv>
#include <cmath>

#include "lib/base/base64.h"
#include "lib/base/go_duration.h"
#include "lib/base/go_float.h"
#include "lib/base/json_string.h"
#include "lib/log/format.h"

namespace csinative::log {
namespace {

template <typename... T>
struct Overloaded : T... {
  using T::operator()...;
};

void AppendString(std::string& out, std::string_view text) {
  AppendJsonString(out, text, JsonEscaping::kZap);
}

void AppendNumber(std::string& out, auto value) {
  std::array<char, 24> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  out.append(buffer.data(), end.ptr);
}

void AppendFloat(std::string& out, double value) {
  const bool quoted = !std::isfinite(value);
  if (quoted) out += '"';
  AppendGoFloatF(out, value);
  if (quoted) out += '"';
}

void AppendTime(std::string& out, WallTime time) {
  AppendFloat(out, static_cast<double>(time.time_since_epoch().count()) / 1e6);
}

// ,"key":
void AppendKey(std::string& out, std::string_view key) {
  out += ',';
  AppendString(out, key);
  out += ':';
}

void AppendRef(std::string& out, const ObjectRef& ref) {
  out += "{\"name\":";
  AppendString(out, ref.name);
  if (!ref.ns.empty()) {
    out += ",\"namespace\":";
    AppendString(out, ref.ns);
  }
  out += '}';
}

void AppendError(std::string& out, std::string_view key, const ErrorText& error) {
  AppendKey(out, key);
  AppendString(out, error.text);
  if (error.causes.empty()) return;
  AppendKey(out, std::string(key) + "Causes");
  out += '[';
  for (size_t i = 0; i < error.causes.size(); ++i) {
    if (i > 0) out += ',';
    out += "{\"error\":";
    AppendString(out, error.causes[i]);
    out += '}';
  }
  out += ']';
}

void AppendField(std::string& out, std::string_view key, const Value& value) {
  if (const auto* error = std::get_if<ErrorText>(&value.rep())) {
    AppendError(out, key, *error);
    return;
  }
  if (const auto* reason = std::get_if<Unrenderable>(&value.rep())) {
    AppendKey(out, std::string(key) + "Error");
    const bool panic = reason->kind == Unrenderable::Kind::kPanic;
    AppendString(out, (panic ? "PANIC=" : "") + reason->reason);
    return;
  }
  AppendKey(out, key);
  std::visit(Overloaded{
                 [&](std::nullptr_t) { out += "null"; },
                 [&](bool b) { out += b ? "true" : "false"; },
                 [&](int64_t number) { AppendNumber(out, number); },
                 [&](uint64_t number) { AppendNumber(out, number); },
                 [&](double number) { AppendFloat(out, number); },
                 [&](const std::string& text) { AppendString(out, text); },
                 [&](Duration duration) { AppendString(out, FormatGoDuration(duration)); },
                 [&](WallTime time) { AppendTime(out, time); },
                 [&](const ObjectRef& ref) { AppendRef(out, ref); },
                 [&](const ObjectRefs& refs) {
                   out += '[';
                   for (size_t i = 0; i < refs.size(); ++i) {
                     if (i > 0) out += ',';
                     if (refs[i]) {
                       AppendRef(out, *refs[i]);
                     } else {
                       out += "null";
                     }
                   }
                   out += ']';
                 },
                 [&](const RawJson& json) { out += json.text; },
                 [&](const Bytes& bytes) { AppendString(out, Base64Encode(bytes.data)); },
                 [&](const ErrorText&) {},
                 [&](const Unrenderable&) {},
             },
             value.rep());
}

// The last directory and the file.
std::string_view CallerPath(std::string_view path) {
  const size_t last = path.rfind('/');
  if (last == std::string_view::npos || last == 0) return path;
  const size_t before = path.rfind('/', last - 1);
  return before == std::string_view::npos ? path : path.substr(before + 1);
}

}  // namespace

void AppendJsonRecord(std::string& out, const Record& record, WallTime now) {
  const bool is_error = record.severity == Severity::kError;
  out += "{\"ts\":";
  AppendTime(out, now);
  if (record.structured && !record.name.empty()) {
    AppendKey(out, "logger");
    AppendString(out, record.name);
  }
  AppendKey(out, "caller");
  std::string caller(CallerPath(record.location.file_name()));
  caller += ':';
  AppendNumber(caller, record.location.line());
  AppendString(out, caller);
  AppendKey(out, "msg");
  std::string_view text = record.text;
  if (!record.structured && text.ends_with('\n')) text.remove_suffix(1);
  AppendString(out, text);
  for (const Pair& pair : record.values) AppendField(out, pair.key, pair.value);
  if (!is_error) {
    AppendKey(out, "v");
    AppendNumber(out, record.level);
  }
  for (const Pair& pair : record.pairs) AppendField(out, pair.key, pair.value);
  if (is_error && record.error != nullptr) AppendField(out, "err", *record.error);
  out += "}\n";
}

}  // namespace csinative::log
