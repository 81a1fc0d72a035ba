// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/http_log.h"

#include "lib/base/strings.h"

namespace csinative::kube {
namespace {

std::string HeaderText(const http::Headers& headers) {
  std::string out;
  for (const auto& [name, value] : headers.fields()) {
    out += StrCat(out.empty() ? "" : "\n", name, ": ", MaskedHeaderValue(name, value));
  }
  return out;
}

std::string CurlCommand(std::string_view origin, const http::Request& request) {
  std::string out = StrCat("curl -v -X", request.method);
  for (const auto& [name, value] : request.headers.fields()) {
    out += StrCat(" -H \"", name, ": ", MaskedHeaderValue(name, value), "\"");
  }
  return StrCat(out, " '", origin, request.target, "'");
}

}  // namespace

std::string MaskedHeaderValue(std::string_view name, std::string_view value) {
  if (!EqualsIgnoreCase(name, "Authorization") || value.empty()) return std::string(value);
  const size_t space = value.find(' ');
  const std::string_view scheme = value.substr(0, space);
  bool known = false;
  for (const char* shown : {"Basic", "Bearer", "Negotiate"}) {
    known = known || EqualsIgnoreCase(scheme, shown);
  }
  if (!known) return "<masked>";
  const bool has_credentials = space != std::string_view::npos && space + 1 < value.size();
  return has_credentials ? StrCat(scheme, " <masked>") : std::string(scheme);
}

void LogHttpRequest(const log::Logger& log, std::string_view origin, const http::Request& request) {
  if (log.Enabled(9)) {
    log.V(9).Info("Request", "curlCommand", CurlCommand(origin, request));
  } else {
    log.V(7).Info(
        "Request", "verb", request.method, "url", [&] { return StrCat(origin, request.target); },
        "headers", [&] { return HeaderText(request.headers); });
  }
}

void LogHttpResponse(const log::Logger& log, int status, const http::Headers& headers) {
  log.V(8).Info("Response headers", "status", status, "headers",
                [&] { return HeaderText(headers); });
}

}  // namespace csinative::kube
