// SPDX-License-Identifier: Apache-2.0
#include "lib/serve/debug_page.h"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "apis/meta/v1/time.h"
#include "lib/base/json_string.h"
#include "lib/base/strings.h"
#include "lib/base/utf8.h"

namespace csinative::serve {
namespace {

constexpr std::string_view kStyle =
    "body{font:14px/1.4 system-ui,sans-serif;margin:1.5em;color:#222;background:#fff}"
    "h1{font-size:1.3em;margin:0}h2{font-size:1.05em;margin:1.4em 0 .3em}"
    "table{border-collapse:collapse}th{white-space:nowrap}td,th{text-align:left;vertical-align:top;"
    "padding:.15em .9em "
    ".15em 0;border-bottom:1px solid #e4e4e4}th{font-weight:600;color:#555}"
    "td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}"
    "td.e{color:#a30000;max-width:60em;overflow-wrap:anywhere}.m{color:#777}"
    "tr.w td{background:#fff6dd}";

std::string Escaped(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const Rune rune = DecodeRune(text);
    text.remove_prefix(rune.width);
    switch (rune.value) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        // Line feeds and tabs mean nothing in a cell; other control characters break the page.
        AppendRune(out, rune.value < 0x20 ? ' ' : rune.value);
    }
  }
  return out;
}

double Seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

std::string Short(const std::optional<Duration>& duration) {
  return duration ? ShortDuration(*duration) : std::string();
}

std::string Bytes(size_t bytes) {
  if (bytes < 10000) return StrCat(bytes, " B");
  if (bytes < 10'000'000) return StrCat(bytes / 1000, " kB");
  return StrCat(bytes / 1'000'000, " MB");
}

class Table {
 public:
  // A heading that begins with '#' is that of a column of numbers.
  Table(std::string* out, std::initializer_list<std::string_view> headings) : out_(out) {
    *out_ += "<table><tr>";
    for (std::string_view heading : headings) {
      const bool number = heading.starts_with('#');
      if (number) heading.remove_prefix(1);
      *out_ += StrCat(number ? "<th class=n>" : "<th>", heading, "</th>");
    }
    *out_ += "</tr>\n";
  }
  ~Table() { *out_ += "</table>\n"; }
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  void Row(bool marked = false) { *out_ += marked ? "<tr class=w>" : "<tr>"; }
  void Text(std::string_view text) { *out_ += StrCat("<td>", Escaped(text), "</td>"); }
  void Error(std::string_view text) { *out_ += StrCat("<td class=e>", Escaped(text), "</td>"); }
  void Number(std::string_view text) { *out_ += StrCat("<td class=n>", text, "</td>"); }
  void End() { *out_ += "</tr>\n"; }

 private:
  std::string* out_;
};

void AppendWork(const DebugSnapshot& snapshot, std::string* out) {
  const size_t total = snapshot.work.size() + snapshot.work_left_off;
  *out += StrCat("<h2>Objects in work <span class=m>", total, "</span></h2>\n");
  if (total == 0) {
    *out += "<p class=m>Nothing to do.</p>\n";
    return;
  }
  {
    Table table(out, {"queue", "object", "state", "#for", "#failures", "#next try in",
                      "#last failed", "last error"});
    for (const DebugSnapshot::Work& work : snapshot.work) {
      table.Row(work.failures > 0);
      table.Text(work.queue);
      table.Text(work.object);
      table.Text(work.state);
      table.Number(Short(work.age));
      table.Number(work.failures == 0 ? "" : std::to_string(work.failures));
      table.Number(Short(work.next_try_in));
      table.Number(Short(work.last_error_age));
      table.Error(work.last_error);
      table.End();
    }
  }
  if (snapshot.work_left_off > 0) {
    *out += StrCat("<p class=m>and ", snapshot.work_left_off, " more</p>\n");
  }
}

void AppendCalls(const DebugSnapshot& snapshot, std::string* out) {
  *out += StrCat("<h2>Calls to the driver <span class=m>", snapshot.calls.size(), "</span></h2>\n");
  if (snapshot.calls.empty()) {
    *out += "<p class=m>None in flight.</p>\n";
    return;
  }
  Table table(out, {"method", "about", "#for", "#deadline in"});
  for (const DebugSnapshot::Call& call : snapshot.calls) {
    table.Row();
    table.Text(call.method);
    table.Text(call.subject);
    table.Number(ShortDuration(call.age));
    table.Number(Short(call.deadline_in));
    table.End();
  }
}

void AppendQueues(const DebugSnapshot& snapshot, std::string* out) {
  if (snapshot.queues.empty()) return;
  *out += "<h2>Queues</h2>\n";
  Table table(out, {"queue", "#in work", "#waiting", "#delayed"});
  for (const DebugSnapshot::Queue& queue : snapshot.queues) {
    table.Row();
    table.Text(queue.name);
    table.Number(std::to_string(queue.processing));
    table.Number(std::to_string(queue.waiting));
    table.Number(std::to_string(queue.delayed));
    table.End();
  }
}

void AppendWatches(const DebugSnapshot& snapshot, std::string* out) {
  if (snapshot.watches.empty()) return;
  *out += "<h2>Watches</h2>\n";
  Table table(out, {"resource", "state", "#objects", "#memory", "#silent for"});
  for (const DebugSnapshot::Watch& watch : snapshot.watches) {
    table.Row(watch.state != "watching");
    table.Text(watch.resource);
    table.Text(watch.state);
    table.Number(std::to_string(watch.objects));
    table.Number(Bytes(watch.bytes));
    table.Number(Short(watch.silent_for));
    table.End();
  }
}

class Json {
 public:
  explicit Json(rapidjson::StringBuffer& buffer) : writer_(buffer) {}

  void Key(std::string_view key) { writer_.Key(key.data(), static_cast<unsigned>(key.size())); }
  void Text(std::string_view key, std::string_view text) {
    Key(key);
    const std::string literal = JsonString(text);
    writer_.RawValue(literal.data(), literal.size(), rapidjson::kStringType);
  }
  void Number(std::string_view key, size_t number) {
    Key(key);
    writer_.Uint64(number);
  }
  // Left out when there is none.
  void Seconds(std::string_view key, const std::optional<Duration>& duration) {
    if (!duration) return;
    Key(key);
    writer_.Double(std::max(0.0, serve::Seconds(*duration)));
  }
  template <typename Range, typename Write>
  void Array(std::string_view key, const Range& range, Write write) {
    Key(key);
    writer_.StartArray();
    for (const auto& one : range) {
      writer_.StartObject();
      write(one);
      writer_.EndObject();
    }
    writer_.EndArray();
  }
  void Begin() { writer_.StartObject(); }
  void End() { writer_.EndObject(); }

 private:
  rapidjson::Writer<rapidjson::StringBuffer> writer_;
};

bool WantsJson(const http::ServerRequest& request) {
  const size_t question = request.target.find('?');
  if (question != std::string::npos) {
    const std::string_view query = std::string_view(request.target).substr(question + 1);
    for (std::string_view pair : Split(query, '&')) {
      if (pair == "format=json") return true;
      if (pair == "format=html") return false;
    }
  }
  // A browser names HTML first.
  const std::string accept = ToLower(request.headers.Get("Accept").value_or(""));
  const size_t json = accept.find("application/json");
  return json != std::string::npos && json < accept.find("text/html");
}

async::Task<void> Answer(http::Response response, http::ResponseWriter* writer) {
  (void)co_await writer->Send(std::move(response));
}

}  // namespace

std::string ShortDuration(Duration duration) {
  const int64_t ms = std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
  if (ms < 0) return "0s";
  if (ms < 1000) return StrCat(ms, "ms");
  const int64_t s = ms / 1000;
  if (s < 60) return StrCat(s, "s");
  if (s < 3600) return StrCat(s / 60, "m", s % 60, "s");
  if (s < 86400) return StrCat(s / 3600, "h", s / 60 % 60, "m");
  return StrCat(s / 86400, "d", s / 3600 % 24, "h");
}

std::string DebugHtml(const DebugSnapshot& snapshot) {
  std::string out = StrCat("<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8><title>",
                           Escaped(snapshot.program), "</title><style>", kStyle,
                           "</style></head><body>\n<h1>", Escaped(snapshot.program),
                           " <span class=m>", Escaped(snapshot.version), "</span></h1>\n");
  out +=
      StrCat("<p class=m>", apis::FormatRfc3339(apis::ToMoment(snapshot.time)), ", up ",
             ShortDuration(snapshot.uptime), ", <a href=\"/debug?format=json\">as JSON</a></p>\n");
  if (!snapshot.facts.empty()) {
    out += "<table>";
    for (const auto& [name, value] : snapshot.facts) {
      out += StrCat("<tr><th>", Escaped(name), "</th><td>", Escaped(value), "</td></tr>\n");
    }
    out += "</table>\n";
  }
  AppendCalls(snapshot, &out);
  AppendWork(snapshot, &out);
  AppendQueues(snapshot, &out);
  AppendWatches(snapshot, &out);
  out += "</body></html>\n";
  return out;
}

std::string DebugJson(const DebugSnapshot& snapshot) {
  rapidjson::StringBuffer buffer;
  Json json(buffer);
  json.Begin();
  json.Text("program", snapshot.program);
  json.Text("version", snapshot.version);
  json.Text("time", apis::FormatRfc3339(apis::ToMoment(snapshot.time)));
  json.Seconds("uptimeSeconds", snapshot.uptime);
  json.Key("facts");
  json.Begin();
  for (const auto& [name, value] : snapshot.facts) json.Text(name, value);
  json.End();
  json.Array("calls", snapshot.calls, [&](const DebugSnapshot::Call& call) {
    json.Text("method", call.method);
    json.Text("subject", call.subject);
    json.Seconds("seconds", call.age);
    json.Seconds("deadlineInSeconds", call.deadline_in);
  });
  json.Array("work", snapshot.work, [&](const DebugSnapshot::Work& work) {
    json.Text("queue", work.queue);
    json.Text("object", work.object);
    if (!work.key.empty()) json.Text("key", work.key);
    json.Text("state", work.state);
    json.Seconds("seconds", work.age);
    json.Number("failures", static_cast<size_t>(std::max(0, work.failures)));
    if (!work.last_error.empty()) json.Text("lastError", work.last_error);
    json.Seconds("lastErrorSecondsAgo", work.last_error_age);
    json.Seconds("nextTryInSeconds", work.next_try_in);
  });
  json.Number("workLeftOff", snapshot.work_left_off);
  json.Array("queues", snapshot.queues, [&](const DebugSnapshot::Queue& queue) {
    json.Text("name", queue.name);
    json.Number("inWork", queue.processing);
    json.Number("waiting", queue.waiting);
    json.Number("delayed", queue.delayed);
  });
  json.Array("watches", snapshot.watches, [&](const DebugSnapshot::Watch& watch) {
    json.Text("resource", watch.resource);
    json.Text("state", watch.state);
    json.Number("objects", watch.objects);
    json.Number("bytes", watch.bytes);
    json.Seconds("lastHeardSecondsAgo", watch.silent_for);
  });
  json.End();
  return std::string(buffer.GetString(), buffer.GetSize()) + "\n";
}

Status HandleDebug(Mux& mux, std::function<DebugSnapshot()> take) {
  return mux.Handle("/debug", [take = std::move(take)](http::ServerRequest request,
                                                       http::ResponseWriter* writer) {
    const bool json = WantsJson(request);
    const DebugSnapshot snapshot = take();
    http::Response response{.status = 200,
                            .body = json ? DebugJson(snapshot) : DebugHtml(snapshot)};
    response.headers.Add("Content-Type", json ? "application/json" : "text/html; charset=utf-8");
    response.headers.Add("Cache-Control", "no-store");
    response.headers.Add("X-Content-Type-Options", "nosniff");
    response.headers.Add("Content-Security-Policy",
                         "default-src 'none'; style-src 'unsafe-inline'");
    return Answer(std::move(response), writer);
  });
}

}  // namespace csinative::serve
