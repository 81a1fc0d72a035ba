// SPDX-License-Identifier: Apache-2.0
#include "lib/serve/mux.h"

#include <charconv>
#include <utility>
#include <vector>

#include "lib/base/strings.h"
#include "lib/http/gzip.h"

namespace csinative::serve {
namespace {

std::string PathOf(const std::string& target) {
  return target.substr(0, target.find_first_of("?#"));
}

std::string PercentDecode(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    int byte = 0;
    if (text[i] == '%' && i + 2 < text.size()) {
      auto [end, error] = std::from_chars(&text[i + 1], &text[i + 1] + 2, byte, 16);
      if (error == std::errc() && end == &text[i + 1] + 2) {
        out.push_back(static_cast<char>(byte));
        i += 2;
        continue;
      }
    }
    out.push_back(text[i] == '+' ? ' ' : text[i]);
  }
  return out;
}

bool BalancedBraces(const std::string& path) {
  int depth = 0;
  for (char c : path) {
    if (c == '{' && ++depth > 1) return false;
    if (c == '}' && --depth < 0) return false;
  }
  return depth == 0;
}

// The weight of one coding in an Accept-Encoding header; nullopt when it is not named.
std::optional<double> Weight(std::string_view header, std::string_view coding) {
  for (std::string_view item : Split(header, ',')) {
    const std::vector<std::string_view> parts = Split(item, ';');
    if (!EqualsIgnoreCase(TrimSpace(parts[0]), coding)) continue;
    double q = 1;
    for (size_t i = 1; i < parts.size(); ++i) {
      std::string_view parameter = TrimSpace(parts[i]);
      if (!parameter.starts_with("q=")) continue;
      parameter.remove_prefix(2);
      if (std::from_chars(parameter.data(), parameter.data() + parameter.size(), q).ec !=
          std::errc()) {
        q = 0;
      }
    }
    return q;
  }
  return std::nullopt;
}

// Highest weight wins, ties prefer identity.
bool WantsGzip(const http::ServerRequest& request) {
  std::optional<std::string_view> header = request.headers.Get("Accept-Encoding");
  if (!header) return false;
  const double gzip = Weight(*header, "gzip").value_or(0);
  const std::optional<double> any = Weight(*header, "*");
  const double identity = Weight(*header, "identity").value_or(any.value_or(0));
  return gzip > identity;
}

}  // namespace

Status Mux::Handle(const std::string& pattern, Answer answer) {
  std::string method;
  std::string path = pattern;
  const size_t space = pattern.find(' ');
  if (space != std::string::npos) {
    method = pattern.substr(0, space);
    path = std::string(TrimSpace(std::string_view(pattern).substr(space)));
  }
  if (pattern.empty()) return InvalidArgumentError("http: invalid pattern");
  if (path.find('/') == std::string::npos) {
    return InvalidArgumentError("parsing \"" + pattern + "\": at offset 0: host/path missing /");
  }
  if (!BalancedBraces(path)) {
    return InvalidArgumentError("parsing \"" + pattern + "\": bad wildcard segment");
  }
  // A host in front of the path: diagnostics answer for every host.
  path = path.substr(path.find('/'));
  auto& methods = routes_[path];
  if (!methods.emplace(method, Route{method, std::move(answer)}).second) {
    return AlreadyExistsError("pattern \"" + pattern + "\" conflicts with pattern \"" + pattern +
                              "\": both match the same paths");
  }
  return Status();
}

const std::map<std::string, Mux::Route>* Mux::Find(const std::string& path) const {
  const std::map<std::string, Route>* best = nullptr;
  size_t length = 0;
  for (const auto& [pattern, methods] : routes_) {
    const bool matches = pattern == path || (pattern.ends_with('/') && path.starts_with(pattern));
    if (matches && pattern.size() >= length) {
      best = &methods;
      length = pattern.size();
    }
  }
  return best;
}

http::Handler Mux::AsHandler() {
  return [this](http::ServerRequest request, http::ResponseWriter* writer) {
    return Dispatch(std::move(request), writer);
  };
}

async::Task<void> Mux::Dispatch(http::ServerRequest request, http::ResponseWriter* writer) {
  const bool head = request.method == "HEAD";
  const std::map<std::string, Route>* methods = Find(PathOf(request.target));
  http::Response response;
  if (methods == nullptr) {
    response = ErrorResponse(404, "404 page not found");
  } else {
    auto route = methods->find(request.method);
    if (route == methods->end() && head) route = methods->find("GET");
    if (route == methods->end()) route = methods->find("");
    if (route == methods->end()) {
      response = ErrorResponse(405, "Method Not Allowed");
    } else {
      // Its own copy: a handler that is added meanwhile may move the table.
      Answer answer = route->second.answer;
      response = co_await answer(std::move(request));
    }
  }
  if (head) response.body.clear();
  // The client may be gone; there is nobody left to tell.
  (void)co_await writer->Send(std::move(response));
}

http::Response ErrorResponse(int status, std::string text) {
  http::Response response;
  response.status = status;
  response.headers.Set("Content-Type", "text/plain; charset=utf-8");
  response.headers.Set("X-Content-Type-Options", "nosniff");
  response.body = std::move(text) + "\n";
  return response;
}

http::Response MetricsResponse(const http::ServerRequest& request, std::string text) {
  std::string escaping = "underscores";
  const std::string accept(request.headers.Get("Accept").value_or(""));
  for (const char* scheme : {"allow-utf-8", "underscores", "dots", "values"}) {
    if (accept.find(std::string("escaping=") + scheme) != std::string::npos) escaping = scheme;
  }
  http::Response response;
  response.status = 200;
  response.headers.Set("Content-Type",
                       "text/plain; version=0.0.4; charset=utf-8; escaping=" + escaping);
  if (WantsGzip(request)) {
    response.headers.Set("Content-Encoding", "gzip");
    response.body = http::Gzip(text);
  } else {
    response.body = std::move(text);
  }
  return response;
}

http::Response HealthResponse(const Status& health) {
  if (!health.ok()) return ErrorResponse(500, "internal server error: " + health.message());
  http::Response response;
  response.status = 200;
  response.headers.Set("Content-Type", "text/plain; charset=utf-8");
  response.body = "ok";
  return response;
}

std::vector<std::string> QueryValues(const std::string& target, const std::string& key) {
  std::vector<std::string> values;
  const size_t question = target.find('?');
  if (question == std::string::npos) return values;
  for (std::string_view pair : Split(std::string_view(target).substr(question + 1), '&')) {
    const size_t equals = pair.find('=');
    if (PercentDecode(pair.substr(0, equals)) != key) continue;
    values.push_back(equals == std::string_view::npos ? ""
                                                      : PercentDecode(pair.substr(equals + 1)));
  }
  return values;
}

}  // namespace csinative::serve
