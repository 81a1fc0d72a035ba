// SPDX-License-Identifier: Apache-2.0
#include "lib/serve/endpoints.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "lib/base/strings.h"
#include "lib/http/gzip.h"

namespace csinative::serve {
namespace {

// One element of an Accept-like header: "value;name=x;q=0.5".
struct Accepted {
  std::string value;  // lower case
  std::vector<std::pair<std::string, std::string>> parameters;
  double q = 1;
};

std::vector<Accepted> ParseAccept(const http::Headers& headers, std::string_view name) {
  std::vector<Accepted> out;
  for (const auto& [field, text] : headers.fields()) {
    if (!EqualsIgnoreCase(field, name)) continue;
    for (std::string_view element : Split(text, ',')) {
      const std::vector<std::string_view> parts = Split(element, ';');
      Accepted accepted{.value = ToLower(TrimSpace(parts[0]))};
      for (size_t i = 1; i < parts.size(); ++i) {
        const size_t equals = std::min(parts[i].find('='), parts[i].size());
        const std::string key = ToLower(TrimSpace(parts[i].substr(0, equals)));
        std::string_view value = parts[i].substr(std::min(equals + 1, parts[i].size()));
        value = TrimSpace(value);
        if (key == "q") {
          double q = 0;
          const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), q);
          if (error == std::errc() && q >= 0 && q <= 1) accepted.q = q;
        } else {
          accepted.parameters.emplace_back(key, std::string(value));
        }
      }
      if (!accepted.value.empty()) out.push_back(std::move(accepted));
    }
  }
  return out;
}

// The first offer with the highest weight: identity wins ties.
bool WantsGzip(const http::Headers& headers) {
  const std::vector<Accepted> accepted = ParseAccept(headers, "Accept-Encoding");
  double best = -1;
  bool gzip = false;
  for (const std::string_view offer : {"identity", "gzip"}) {
    for (const Accepted& a : accepted) {
      if (a.q > best && (a.value == "*" || a.value == offer)) {
        best = a.q;
        gzip = offer == "gzip";
      }
    }
  }
  return gzip && best > 0;
}

std::string ContentType(const http::Headers& headers) {
  std::string escaping = "underscores";
  for (const Accepted& a : ParseAccept(headers, "Accept")) {
    for (const auto& [name, value] : a.parameters) {
      if (name != "escaping") continue;
      for (const std::string_view known : {"allow-utf-8", "underscores", "dots", "values"}) {
        if (value == known) escaping = value;
      }
    }
  }
  return "text/plain; version=0.0.4; charset=utf-8; escaping=" + escaping;
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string DecodeQuery(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && HexDigit(text[i + 1]) >= 0 &&
        HexDigit(text[i + 2]) >= 0) {
      out += static_cast<char>(HexDigit(text[i + 1]) * 16 + HexDigit(text[i + 2]));
      i += 2;
    } else {
      out += text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

std::vector<std::string> WantedFamilies(std::string_view target) {
  std::vector<std::string> out;
  const size_t question = target.find('?');
  if (question == std::string_view::npos) return out;
  for (std::string_view pair : Split(target.substr(question + 1), '&')) {
    const size_t equals = std::min(pair.find('='), pair.size());
    if (DecodeQuery(pair.substr(0, equals)) != "name[]") continue;
    out.push_back(DecodeQuery(pair.substr(std::min(equals + 1, pair.size()))));
  }
  return out;
}

http::Response MetricsResponse(const MetricsOptions& options, const http::ServerRequest& request) {
  const GatheredMetrics gathered = options.gather();
  if (!gathered.error.ok() &&
      (gathered.text.empty() || options.on_error == MetricsOptions::OnError::kFail)) {
    return TextError(
        500, StrCat("An error has occurred while serving metrics:\n\n", gathered.error.message()));
  }
  http::Response response{.status = 200};
  response.headers.Add("Content-Type", ContentType(request.headers));
  if (options.process_start_time_unix) {
    response.headers.Add("Process-Start-Time-Unix",
                         std::to_string(*options.process_start_time_unix));
  }
  response.body = FilterFamilies(gathered.text, WantedFamilies(request.target));
  if (WantsGzip(request.headers)) {
    response.headers.Add("Content-Encoding", "gzip");
    response.body = http::Gzip(response.body);
  }
  return response;
}

async::Task<void> Reply(http::Response response, http::ResponseWriter* writer) {
  (void)co_await writer->Send(std::move(response));
}

}  // namespace

std::string FilterFamilies(std::string_view exposition, const std::vector<std::string>& names) {
  if (names.empty()) return std::string(exposition);
  std::string out;
  bool wanted = false;
  for (std::string_view line : Split(exposition, '\n')) {
    if (line.empty()) continue;
    if (line.substr(0, 7) == "# HELP ") {
      const std::string_view name = line.substr(7, std::min(line.find(' ', 7), line.size()) - 7);
      wanted = std::find(names.begin(), names.end(), name) != names.end();
    }
    if (wanted) out += StrCat(line, "\n");
  }
  return out;
}

http::Handler MetricsHandler(MetricsOptions options) {
  return [options = std::move(options)](http::ServerRequest request, http::ResponseWriter* writer) {
    return Reply(MetricsResponse(options, request), writer);
  };
}

http::Handler HealthHandler(std::function<Status()> check) {
  return [check = std::move(check)](http::ServerRequest, http::ResponseWriter* writer) {
    const Status status = check();
    if (!status.ok()) {
      return Reply(TextError(500, StrCat("internal server error: ", status.message())), writer);
    }
    http::Response response{.status = 200, .body = "ok"};
    response.headers.Add("Content-Type", "text/plain; charset=utf-8");
    return Reply(std::move(response), writer);
  };
}

Status HandleLeaderElectionHealth(Mux& mux, std::function<Status()> check) {
  return mux.Handle("/healthz/leader-election", HealthHandler(std::move(check)));
}

}  // namespace csinative::serve
