// SPDX-License-Identifier: Apache-2.0
//
// klog's text layout (common 5.2 to 5.6, 5.8).
#include <array>
#include <charconv>
#include <cmath>
#include <ctime>
#include <vector>

#include "lib/base/go_duration.h"
#include "lib/base/go_float.h"
#include "lib/base/go_quote.h"
#include "lib/base/json_string.h"
#include "lib/log/format.h"

namespace csinative::log {
namespace {

template <typename... T>
struct Overloaded : T... {
  using T::operator()...;
};

void AppendNumber(std::string& out, auto value) {
  std::array<char, 24> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  out.append(buffer.data(), end.ptr);
}

// The low `width` digits, padded on the left.
void AppendPadded(std::string& out, uint64_t value, size_t width, char pad) {
  std::array<char, 20> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  std::string_view digits(buffer.data(), static_cast<size_t>(end.ptr - buffer.data()));
  if (digits.size() > width) digits.remove_prefix(digits.size() - width);
  out.append(width - digits.size(), pad);
  out += digits;
}

void AppendHeader(std::string& out, const Record& record, WallTime now, int pid) {
  static constexpr char kLetters[] = {'I', 'W', 'E', 'F'};
  out += kLetters[static_cast<size_t>(record.severity)];
  const auto seconds = std::chrono::floor<std::chrono::seconds>(now);
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(now - seconds);
  const std::time_t unix_seconds = seconds.time_since_epoch().count();
  std::tm local{};
  localtime_r(&unix_seconds, &local);
  const auto two = [&](int value) { AppendPadded(out, static_cast<uint64_t>(value), 2, '0'); };
  two(local.tm_mon + 1);
  two(local.tm_mday);
  out += ' ';
  two(local.tm_hour);
  out += ':';
  two(local.tm_min);
  out += ':';
  two(local.tm_sec);
  out += '.';
  AppendPadded(out, static_cast<uint64_t>(micros.count()), 6, '0');
  out += ' ';
  AppendPadded(out, static_cast<uint64_t>(pid), 7, ' ');
  out += ' ';
  const std::string_view file = BaseName(record.location.file_name());
  if (file.empty()) {
    out += "???:1";
  } else {
    out += file;
    out += ':';
    AppendNumber(out, record.location.line());
  }
  out += "] ";
}

// =value of a string: quoted, or one line of output for each of its lines.
void AppendStringValue(std::string& out, std::string_view text) {
  out += '=';
  if (text.find('\n') == std::string_view::npos) {
    AppendGoQuoted(out, text);
    return;
  }
  out += "<\n";
  while (!text.empty()) {
    const size_t end = text.find('\n');
    out += '\t';
    out += text.substr(0, end);
    out += '\n';
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  out += " >";
}

std::string RefText(const ObjectRef& ref) {
  return ref.ns.empty() ? ref.name : ref.ns + "/" + ref.name;
}

void AppendRefs(std::string& out, const ObjectRefs& refs) {
  out += "=[";
  bool first = true;
  for (const auto& ref : refs) {
    if (!first) out += ',';
    first = false;
    if (ref) {
      out += '"';
      out += RefText(*ref);
      out += '"';
    } else {
      out += "null";
    }
  }
  out += ']';
}

// <, > and & and the two line separators occur in JSON inside strings only, so that escaping them
// wherever they are gives what a JSON writer with HTML escaping would have written.
void AppendHtmlEscaped(std::string& out, std::string_view json) {
  for (size_t i = 0; i < json.size(); ++i) {
    const std::string_view rest = json.substr(i);
    if (json[i] == '<') {
      out += "\\u003c";
    } else if (json[i] == '>') {
      out += "\\u003e";
    } else if (json[i] == '&') {
      out += "\\u0026";
    } else if (rest.starts_with("\u2028") || rest.starts_with("\u2029")) {
      out += rest.starts_with("\u2028") ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      out += json[i];
    }
  }
}

void AppendFloat(std::string& out, double value) {
  out += '=';
  if (std::isfinite(value)) {
    AppendGoFloatJson(out, value);
    return;
  }
  std::string reason = "<internal error: json: unsupported value: ";
  AppendGoFloatG(reason, value);
  AppendGoQuoted(out, reason + ">");
}

std::string UnrenderableText(const Unrenderable& value) {
  const bool panic = value.kind == Unrenderable::Kind::kPanic;
  return (panic ? "<panic: " : "<internal error: ") + value.reason + ">";
}

void AppendValue(std::string& out, const Value& value) {
  std::visit(Overloaded{
                 [&](std::nullptr_t) { out += "=null"; },
                 [&](bool b) { out += b ? "=true" : "=false"; },
                 [&](int64_t number) {
                   out += '=';
                   AppendNumber(out, number);
                 },
                 [&](uint64_t number) {
                   out += '=';
                   AppendNumber(out, number);
                 },
                 [&](double number) { AppendFloat(out, number); },
                 [&](const std::string& text) { AppendStringValue(out, text); },
                 [&](Duration duration) { AppendStringValue(out, FormatGoDuration(duration)); },
                 [&](WallTime time) { AppendStringValue(out, GoTimeText(time)); },
                 [&](const ErrorText& error) { AppendStringValue(out, error.text); },
                 [&](const ObjectRef& ref) {
                   out += "=\"";
                   out += RefText(ref);
                   out += '"';
                 },
                 [&](const ObjectRefs& refs) { AppendRefs(out, refs); },
                 [&](const RawJson& json) {
                   out += '=';
                   AppendHtmlEscaped(out, json.text);
                 },
                 [&](const Bytes& bytes) {
                   out += '=';
                   AppendGoQuotedAscii(out, bytes.data);
                 },
                 [&](const Unrenderable& reason) {
                   out += '=';
                   AppendGoQuoted(out, UnrenderableText(reason));
                 },
             },
             value.rep());
}

struct Item {
  std::string_view key;
  const Value* value;
};

std::string Rendered(const Item& item) {
  std::string out;
  AppendValue(out, *item.value);
  return out;
}

// Adds item unless it is there already; the same key with another value replaces the earlier one.
void AddItem(std::vector<Item>& items, const Item& item) {
  for (auto it = items.begin(); it != items.end(); ++it) {
    if (it->key != item.key) continue;
    if (Rendered(*it) == Rendered(item)) return;
    items.erase(it);
    break;
  }
  items.push_back(item);
}

void AppendPairs(std::string& out, const Record& record) {
  const Value name(record.name);
  std::vector<Item> items;
  items.reserve(2 + record.values.size() + record.pairs.size());
  if (record.error != nullptr) items.push_back({"err", record.error});
  if (!record.name.empty()) AddItem(items, {"logger", &name});
  for (const Pair& pair : record.values) AddItem(items, {pair.key, &pair.value});
  for (const Pair& pair : record.pairs) AddItem(items, {pair.key, &pair.value});
  for (const Item& item : items) {
    out += ' ';
    out += item.key;
    AppendValue(out, *item.value);
  }
}

}  // namespace

std::string GoTimeText(WallTime time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  const auto nanos = static_cast<uint64_t>((time - seconds).count());
  const std::time_t unix_seconds = seconds.time_since_epoch().count();
  std::tm utc{};
  gmtime_r(&unix_seconds, &utc);
  std::array<char, 64> buffer;
  const size_t size = std::strftime(buffer.data(), buffer.size(), "%Y-%m-%d %H:%M:%S", &utc);
  std::string out(buffer.data(), size);
  if (nanos != 0) {
    out += '.';
    AppendPadded(out, nanos, 9, '0');
    out.erase(out.find_last_not_of('0') + 1);
  }
  out += " +0000 UTC";
  return out;
}

void AppendTextRecord(std::string& out, const Record& record, WallTime now, int pid) {
  AppendHeader(out, record, now, pid);
  if (!record.structured) {
    out += record.text;
    if (!record.text.ends_with('\n')) out += '\n';
    return;
  }
  AppendGoQuoted(out, record.text);
  AppendPairs(out, record);
  out += '\n';
}

void AppendPlainValue(std::string& out, const Value& value) {
  std::visit(Overloaded{
                 [&](std::nullptr_t) { out += "<nil>"; },
                 [&](bool b) { out += b ? "true" : "false"; },
                 [&](int64_t number) { AppendNumber(out, number); },
                 [&](uint64_t number) { AppendNumber(out, number); },
                 [&](double number) { AppendGoFloatG(out, number); },
                 [&](const std::string& text) { out += text; },
                 [&](Duration duration) { out += FormatGoDuration(duration); },
                 [&](WallTime time) { out += GoTimeText(time); },
                 [&](const ErrorText& error) { out += error.text; },
                 [&](const ObjectRef& ref) { out += RefText(ref); },
                 [&](const ObjectRefs& refs) {
                   out += '[';
                   for (size_t i = 0; i < refs.size(); ++i) {
                     if (i > 0) out += ' ';
                     out += refs[i] ? RefText(*refs[i]) : "<nil>";
                   }
                   out += ']';
                 },
                 [&](const RawJson& json) { out += json.text; },
                 [&](const Bytes& bytes) { out += bytes.data; },
                 [&](const Unrenderable& reason) { out += UnrenderableText(reason); },
             },
             value.rep());
}

}  // namespace csinative::log
