// SPDX-License-Identifier: Apache-2.0
#include "test/support/apiserver/request_info.h"

#include "lib/base/strings.h"

namespace csinative::apiserver {
namespace {

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<std::string> Unescape(std::string_view text, bool plus_is_space) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_space) {
      out += ' ';
    } else if (text[i] == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      int high = HexValue(text[i + 1]), low = HexValue(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      out += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

bool IsTrueText(std::string_view text) { return text == "true" || text == "1" || text == "True"; }

void FindResource(RequestInfo& info, const std::vector<std::string>& parts, size_t at) {
  // The old way to ask for a watch.
  bool old_watch = at < parts.size() && parts[at] == "watch";
  if (old_watch) ++at;
  if (at >= parts.size()) return;
  if (parts[at] == "namespaces" && at + 1 < parts.size()) {
    // Everything two below is inside the namespace, apart from the namespace's own subresources.
    if (at + 2 < parts.size() && parts[at + 2] != "status" && parts[at + 2] != "finalize") {
      info.namespace_name = parts[at + 1];
      at += 2;
    } else {
      info.namespace_name = "";
    }
  }
  info.is_resource = true;
  info.resource = parts[at];
  if (at + 1 < parts.size()) info.name = parts[at + 1];
  if (at + 2 < parts.size()) info.subresource = parts[at + 2];
  for (size_t i = at + 3; i < parts.size(); ++i) info.rest.push_back(parts[i]);
  if (old_watch && info.method == "GET") info.verb = "watch";
}

}  // namespace

std::string RequestInfo::Query(std::string_view key) const {
  auto it = query.find(std::string(key));
  return it == query.end() ? "" : it->second;
}

bool RequestInfo::QueryBool(std::string_view key) const { return IsTrueText(Query(key)); }

std::optional<RequestInfo> ParseRequest(std::string_view method, std::string_view target) {
  RequestInfo info;
  info.method = method;
  std::string_view path = target.substr(0, target.find('?'));
  std::optional<std::string> decoded = Unescape(path, false);
  if (!decoded) return std::nullopt;
  info.path = *decoded;
  if (path.size() < target.size()) {
    for (std::string_view pair : Split(target.substr(path.size() + 1), '&')) {
      if (pair.empty()) continue;
      std::string_view key = pair.substr(0, pair.find('='));
      std::string_view value = key.size() < pair.size() ? pair.substr(key.size() + 1) : "";
      std::optional<std::string> k = Unescape(key, true), v = Unescape(value, true);
      if (!k || !v) return std::nullopt;
      info.query.emplace(std::move(*k), std::move(*v));
    }
  }

  std::vector<std::string> parts;
  for (std::string_view part : Split(info.path, '/')) {
    if (!part.empty()) parts.emplace_back(part);
  }
  if (!parts.empty() && (parts[0] == "api" || parts[0] == "apis")) {
    info.is_api = true;
    const bool core = parts[0] == "api";
    if (!core && parts.size() > 1) info.group = parts[1];
    const size_t version_at = core ? 1 : 2;
    if (parts.size() > version_at) {
      info.version = parts[version_at];
      FindResource(info, parts, version_at + 1);
    }
  }
  if (!info.is_resource) {
    info.verb = ToLower(method);
    return info;
  }
  if (info.verb == "watch") return info;
  if (method == "GET" || method == "HEAD") {
    info.verb = !info.name.empty() ? "get" : info.QueryBool("watch") ? "watch" : "list";
  } else if (method == "POST") {
    info.verb = "create";
  } else if (method == "PUT") {
    info.verb = "update";
  } else if (method == "PATCH") {
    info.verb = "patch";
  } else if (method == "DELETE") {
    info.verb = info.name.empty() ? "deletecollection" : "delete";
  } else {
    info.verb = ToLower(method);
  }
  return info;
}

}  // namespace csinative::apiserver
