// SPDX-License-Identifier: Apache-2.0
#include "lib/serve/mux.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "lib/base/go_quote.h"
#include "lib/base/strings.h"

namespace csinative::serve {
namespace {

struct Segment {
  enum class Kind {
    kLiteral,
    kOne,   // {name}
    kRest,  // {name...}, or the trailing slash of a subtree
    kEnd,   // {$}: only the slash itself
  };
  Kind kind = Kind::kLiteral;
  std::string text;
};

bool IsMethod(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

bool IsIdentifier(std::string_view text) {
  if (text.empty() || (text[0] >= '0' && text[0] <= '9')) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
           static_cast<unsigned char>(c) >= 0x80;
  });
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// As it was if an escape is broken.
std::string Unescape(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size() || HexDigit(text[i + 1]) < 0 || HexDigit(text[i + 2]) < 0) {
      return std::string(text);
    }
    out += static_cast<char>(HexDigit(text[i + 1]) * 16 + HexDigit(text[i + 2]));
    i += 2;
  }
  return out;
}

// How particular a segment is; a missing one is least.
int Rank(const std::vector<Segment>& segments, size_t i) {
  if (i >= segments.size()) return 0;
  switch (segments[i].kind) {
    case Segment::Kind::kRest:
      return 1;
    case Segment::Kind::kOne:
      return 2;
    case Segment::Kind::kLiteral:
    case Segment::Kind::kEnd:
      return 3;
  }
  return 0;
}

}  // namespace

struct Mux::Pattern {
  std::string method;  // empty: any
  std::string host;    // empty: any
  std::vector<Segment> segments;

  static Result<Pattern> Parse(const std::string& text);
  bool MatchesPath(std::string_view path) const;
  bool MatchesMethod(std::string_view wanted) const {
    return method.empty() || method == wanted || (method == "GET" && wanted == "HEAD");
  }
  bool SameRequests(const Pattern& other) const;
  bool MoreParticularThan(const Pattern& other) const;
};

struct Mux::Route {
  Pattern pattern;
  http::Handler handler;
};

Result<Mux::Pattern> Mux::Pattern::Parse(const std::string& text) {
  if (text.empty()) return InvalidArgumentError("http: invalid pattern");
  size_t offset = 0;
  const auto bad = [&](std::string_view why) {
    return InvalidArgumentError(
        StrCat("parsing ", GoQuote(text), ": at offset ", offset, ": ", why));
  };
  Pattern pattern;
  std::string_view rest = text;
  if (const size_t space = rest.find_first_of(" \t"); space != std::string_view::npos) {
    pattern.method = std::string(rest.substr(0, space));
    if (!pattern.method.empty() && !IsMethod(pattern.method)) {
      return bad(StrCat("invalid method ", GoQuote(pattern.method)));
    }
    offset = space + 1;
    rest.remove_prefix(space + 1);
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
  }
  const size_t slash = rest.find('/');
  if (slash == std::string_view::npos) return bad("host/path missing /");
  pattern.host = std::string(rest.substr(0, slash));
  if (const size_t brace = pattern.host.find('{'); brace != std::string::npos) {
    offset += brace;
    return bad("host contains '{' (missing initial '/'?)");
  }
  offset += slash;
  rest.remove_prefix(slash);
  if (!pattern.method.empty() && pattern.method != "CONNECT" && CleanPath(rest) != rest) {
    return bad("non-CONNECT pattern with unclean path can never match");
  }
  std::set<std::string, std::less<>> names;
  while (!rest.empty()) {
    rest.remove_prefix(1);  // the slash in front of each segment
    offset = text.size() - rest.size();
    if (rest.empty()) {
      pattern.segments.push_back({.kind = Segment::Kind::kRest});
      break;
    }
    const size_t end = std::min(rest.find('/'), rest.size());
    std::string_view segment = rest.substr(0, end);
    rest.remove_prefix(end);
    const size_t brace = segment.find('{');
    if (brace == std::string_view::npos) {
      pattern.segments.push_back({.text = Unescape(segment)});
      continue;
    }
    if (brace != 0) return bad("bad wildcard segment (must start with '{')");
    if (segment.back() != '}') return bad("bad wildcard segment (must end with '}')");
    std::string_view name = segment.substr(1, segment.size() - 2);
    if (name == "$") {
      if (!rest.empty()) return bad("{$} not at end");
      pattern.segments.push_back({.kind = Segment::Kind::kEnd});
      break;
    }
    const bool many = name.size() >= 3 && name.substr(name.size() - 3) == "...";
    if (many) name.remove_suffix(3);
    if (many && !rest.empty()) return bad("{...} wildcard not at end");
    if (name.empty()) return bad("empty wildcard");
    if (!IsIdentifier(name)) return bad(StrCat("bad wildcard name ", GoQuote(name)));
    if (!names.emplace(name).second) return bad(StrCat("duplicate wildcard name ", GoQuote(name)));
    pattern.segments.push_back({.kind = many ? Segment::Kind::kRest : Segment::Kind::kOne});
  }
  return pattern;
}

bool Mux::Pattern::MatchesPath(std::string_view path) const {
  for (const Segment& segment : segments) {
    if (path.empty()) return false;
    path.remove_prefix(1);  // the slash
    if (segment.kind == Segment::Kind::kRest) return true;
    if (segment.kind == Segment::Kind::kEnd) return path.empty();
    const size_t end = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, end);
    if (segment.kind == Segment::Kind::kOne ? part.empty() : Unescape(part) != segment.text) {
      return false;
    }
    path.remove_prefix(end);
  }
  return path.empty();
}

bool Mux::Pattern::SameRequests(const Pattern& other) const {
  return method == other.method && host == other.host &&
         std::equal(segments.begin(), segments.end(), other.segments.begin(), other.segments.end(),
                    [](const Segment& a, const Segment& b) {
                      return a.kind == b.kind && a.text == b.text;
                    });
}

bool Mux::Pattern::MoreParticularThan(const Pattern& other) const {
  if (host.empty() != other.host.empty()) return other.host.empty();
  for (size_t i = 0; i < std::max(segments.size(), other.segments.size()); ++i) {
    const int mine = Rank(segments, i);
    const int theirs = Rank(other.segments, i);
    if (mine != theirs) return mine > theirs;
  }
  if (method.empty() != other.method.empty()) return other.method.empty();
  return method == "HEAD" && other.method == "GET";
}

Mux::Mux() = default;
Mux::~Mux() = default;

Status Mux::Handle(const std::string& pattern, http::Handler handler) {
  CSI_ASSIGN_OR_RETURN(Pattern parsed, Pattern::Parse(pattern));
  for (const auto& route : routes_) {
    if (route->pattern.SameRequests(parsed)) {
      return AlreadyExistsError(StrCat("pattern ", GoQuote(pattern),
                                       " matches the same requests as one registered before"));
    }
  }
  routes_.push_back(std::make_unique<Route>(Route{std::move(parsed), std::move(handler)}));
  return Status();
}

const Mux::Route* Mux::Find(std::string_view method, std::string_view host,
                            std::string_view path) const {
  const Route* best = nullptr;
  for (const auto& route : routes_) {
    const Pattern& p = route->pattern;
    if (!p.MatchesMethod(method) || (!p.host.empty() && p.host != host) || !p.MatchesPath(path)) {
      continue;
    }
    if (best == nullptr || p.MoreParticularThan(best->pattern)) best = route.get();
  }
  return best;
}

std::vector<std::string> Mux::AllowedMethods(std::string_view host, std::string_view path) const {
  std::set<std::string> methods;
  for (const auto& route : routes_) {
    const Pattern& p = route->pattern;
    if ((!p.host.empty() && p.host != host) || !p.MatchesPath(path)) continue;
    methods.insert(p.method);
    if (p.method == "GET") methods.insert("HEAD");
  }
  return {methods.begin(), methods.end()};
}

http::Handler Mux::AsHandler() {
  return [this](http::ServerRequest request, http::ResponseWriter* writer) {
    return Serve(std::move(request), writer);
  };
}

namespace {

// The status is that of Go 1.26; earlier ones sent 301.
http::Response Redirect(std::string_view method, std::string target) {
  http::Response response{.status = 307};
  if (method == "GET" || method == "HEAD") {
    response.headers.Add("Content-Type", "text/html; charset=utf-8");
    std::string escaped = ReplaceAll(target, "&", "&amp;");
    escaped = ReplaceAll(ReplaceAll(escaped, "<", "&lt;"), ">", "&gt;");
    escaped = ReplaceAll(ReplaceAll(escaped, "\"", "&#34;"), "'", "&#39;");
    response.body = StrCat("<a href=\"", escaped, "\">Temporary Redirect</a>.\n\n");
  }
  response.headers.Add("Location", std::move(target));
  return response;
}

// A target as clients of a proxy send it, "http://host/path?query": its host counts, not the
// header.
void UseOriginForm(http::ServerRequest& request) {
  const size_t scheme = request.target.find("://");
  if (request.target.starts_with('/') || scheme == std::string::npos) return;
  const size_t host = scheme + 3;
  const size_t rest = std::min(request.target.find_first_of("/?", host), request.target.size());
  request.headers.Set("Host", request.target.substr(host, rest - host));
  request.target.erase(0, rest);
  if (!request.target.starts_with('/')) request.target.insert(0, "/");
}

}  // namespace

async::Task<void> Mux::Serve(http::ServerRequest request, http::ResponseWriter* writer) {
  // Asks for what the server can do at all: answered, without content, whatever the routes are.
  if (request.method == "OPTIONS" && request.target == "*") {
    (void)co_await writer->Send({.status = 200});
    co_return;
  }
  UseOriginForm(request);
  const size_t query_at = std::min(request.target.find('?'), request.target.size());
  const std::string path = request.target.substr(0, query_at);
  const std::string query = request.target.substr(query_at);
  std::string host(request.headers.Get("Host").value_or(""));
  if (const size_t colon = host.rfind(':');
      colon != std::string::npos && host.find(']', colon) == std::string::npos) {
    host.resize(colon);
  }
  const std::string clean = request.method == "CONNECT" ? path : CleanPath(path);
  const Route* route = Find(request.method, host, clean);
  if (route != nullptr && clean == path) {
    // The route stays: routes are never removed.
    co_await route->handler(std::move(request), writer);
    co_return;
  }
  if (route != nullptr) {
    (void)co_await writer->Send(Redirect(request.method, clean + query));
    co_return;
  }
  if (Find(request.method, host, clean + "/") != nullptr) {
    (void)co_await writer->Send(Redirect(request.method, clean + "/" + query));
    co_return;
  }
  const std::vector<std::string> allowed = AllowedMethods(host, clean);
  if (!allowed.empty()) {
    http::Response response = TextError(405, "Method Not Allowed");
    response.headers.Add("Allow", Join(allowed, ", "));
    (void)co_await writer->Send(std::move(response));
    co_return;
  }
  (void)co_await writer->Send(TextError(404, "404 page not found"));
}

http::Response TextError(int status, std::string_view text) {
  http::Response response{.status = status};
  response.headers.Add("Content-Type", "text/plain; charset=utf-8");
  response.headers.Add("X-Content-Type-Options", "nosniff");
  response.body = StrCat(text, "\n");
  return response;
}

std::string CleanPath(std::string_view path) {
  std::vector<std::string_view> kept;
  for (std::string_view part : Split(path, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      if (!kept.empty()) kept.pop_back();
    } else {
      kept.push_back(part);
    }
  }
  std::string out = "/" + Join(kept, "/");
  if (out != "/" && !path.empty() && path.back() == '/') out += '/';
  return out;
}

}  // namespace csinative::serve
