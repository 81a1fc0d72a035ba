// SPDX-License-Identifier: Apache-2.0
#include "lib/serve/pprof.h"

#include <dlfcn.h>

#include <charconv>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

#include "lib/async/sleep.h"
#include "lib/base/strings.h"
#include "lib/http/gzip.h"
#include "lib/serve/cpu_profiler.h"

namespace csinative::serve {
namespace {

constexpr std::string_view kRoot = "/debug/pprof/";
constexpr int64_t kDefaultSeconds = 30;  // Go: net/http/pprof Profile
constexpr int64_t kMaxSeconds = 3600;

http::Response Text(std::string body) {
  http::Response response{.status = 200, .body = std::move(body)};
  response.headers.Add("Content-Type", "text/plain; charset=utf-8");
  response.headers.Add("X-Content-Type-Options", "nosniff");
  return response;
}

// Go: net/http/pprof serveError.
http::Response Failure(int status, std::string_view text) {
  http::Response response = TextError(status, text);
  response.headers.Add("X-Go-Pprof", "1");
  return response;
}

http::Response Index() {
  http::Response response = Text(
      "<html>\n<head>\n<title>/debug/pprof/</title>\n</head>\n<body>\n/debug/pprof/\n<br>\n"
      "<p>Profiles:</p>\n<table>\n"
      "<tr><td><a href='cmdline'>cmdline</a></td><td>command line of this process</td></tr>\n"
      "<tr><td><a href='profile?seconds=30'>profile</a></td>"
      "<td>processor profile for the pprof tool; the length is a parameter</td></tr>\n"
      "<tr><td><a href='symbol'>symbol</a></td><td>names of program addresses</td></tr>\n"
      "</table>\n</body>\n</html>\n");
  response.headers.Set("Content-Type", "text/html; charset=utf-8");
  return response;
}

std::string CommandLine() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!text.empty() && text.back() == '\0') text.pop_back();
  return text;
}

// "0x1234+0x5678" -> a line for each address that belongs to a named function.
std::string Symbols(const http::ServerRequest& request) {
  std::string input = request.body;
  if (request.method != "POST") {
    const size_t question = request.target.find('?');
    input = question == std::string::npos ? "" : request.target.substr(question + 1);
  }
  std::string out = "num_symbols: 1\n";
  for (std::string_view word : Split(input, '+')) {
    word = TrimSpace(word);
    if (word.substr(0, 2) == "0x") word.remove_prefix(2);
    uintptr_t address = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), address, 16);
    Dl_info info = {};
    if (error != std::errc() || end != word.data() + word.size() || address == 0 ||
        ::dladdr(reinterpret_cast<void*>(address), &info) == 0 || info.dli_sname == nullptr) {
      continue;
    }
    char line[32];
    std::snprintf(line, sizeof(line), "%#lx ", static_cast<unsigned long>(address));
    out += StrCat(line, info.dli_sname, "\n");
  }
  return out;
}

std::optional<int64_t> SecondsOf(std::string_view target) {
  const size_t question = target.find('?');
  if (question == std::string_view::npos) return std::nullopt;
  for (std::string_view pair : Split(target.substr(question + 1), '&')) {
    if (pair.substr(0, 8) != "seconds=") continue;
    pair.remove_prefix(8);
    int64_t seconds = 0;
    const auto [end, error] = std::from_chars(pair.data(), pair.data() + pair.size(), seconds);
    if (error == std::errc() && end == pair.data() + pair.size() && seconds > 0) return seconds;
  }
  return std::nullopt;
}

// A profile that only Go's runtime has, or that nobody has.
http::Response Missing(std::string_view name) {
  for (const std::string_view known :
       {"allocs", "block", "goroutine", "heap", "mutex", "threadcreate", "trace"}) {
    if (name == known) {
      return Failure(501, StrCat("there is no profile \"", name,
                                 "\" here: this is not a Go program. Use profile."));
    }
  }
  return Failure(404, "Unknown profile");
}

async::Task<void> Reply(http::Response response, http::ResponseWriter* writer) {
  (void)co_await writer->Send(std::move(response));
}

async::Task<void> Profile(http::ServerRequest request, http::ResponseWriter* writer) {
  const int64_t seconds =
      std::min(kMaxSeconds, SecondsOf(request.target).value_or(kDefaultSeconds));
  auto profiler = CpuProfiler::Start(std::chrono::seconds(seconds));
  if (!profiler.ok()) {
    (void)co_await writer->Send(
        Failure(500, StrCat("Could not enable CPU profiling: ", profiler.status().message())));
    co_return;
  }
  // Ends early when the client goes away.
  Status slept = co_await async::Sleep(std::chrono::seconds(seconds));
  if (!slept.ok()) co_return;
  http::Response response = Text(http::Gzip((*profiler)->Finish()));
  response.headers.Set("Content-Type", "application/octet-stream");
  response.headers.Add("Content-Disposition", "attachment; filename=\"profile\"");
  (void)co_await writer->Send(std::move(response));
}

}  // namespace

Status HandlePprof(Mux& mux) {
  CSI_RETURN_IF_ERROR(
      mux.Handle(std::string(kRoot), [](http::ServerRequest request, http::ResponseWriter* w) {
        const std::string_view path =
            std::string_view(request.target).substr(0, request.target.find('?'));
        return Reply(path == kRoot ? Index() : Missing(path.substr(kRoot.size())), w);
      }));
  CSI_RETURN_IF_ERROR(mux.Handle(
      "/debug/pprof/cmdline",
      [](http::ServerRequest, http::ResponseWriter* w) { return Reply(Text(CommandLine()), w); }));
  CSI_RETURN_IF_ERROR(mux.Handle("/debug/pprof/profile", Profile));
  return mux.Handle("/debug/pprof/symbol",
                    [](http::ServerRequest request, http::ResponseWriter* w) {
                      return Reply(Text(Symbols(request)), w);
                    });
}

}  // namespace csinative::serve
