// SPDX-License-Identifier: Apache-2.0
#include "lib/http/http1.h"

#include <boost/beast/http/status.hpp>
#include <cstdio>

#include "lib/base/go_quote.h"
#include "lib/base/strings.h"
#include "lib/http/net_error.h"

namespace csinative::http {
namespace {

bool IsTokenChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         (c != '\0' && std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos);
}

bool IsToken(std::string_view text) {
  for (char c : text) {
    if (!IsTokenChar(c)) return false;
  }
  return !text.empty();
}

}  // namespace

std::string_view ReasonPhrase(int status) {
  namespace beast = boost::beast::http;
  if (status == 429) return "Too Many Requests";
  const beast::status known = beast::int_to_status(static_cast<unsigned>(status));
  if (known == beast::status::unknown) return "";
  const auto text = beast::obsolete_reason(known);
  return {text.data(), text.size()};
}

std::string HttpDate(WallTime time) {
  const auto days = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(days);
  const std::chrono::hh_mm_ss clock(std::chrono::floor<std::chrono::seconds>(time - days));
  static constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                            "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  char text[64];
  std::snprintf(text, sizeof(text), "%s, %02u %s %04d %02d:%02d:%02d GMT",
                kDays[std::chrono::weekday(days).c_encoding()], unsigned{date.day()},
                kMonths[unsigned{date.month()} - 1], int{date.year()},
                static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
                static_cast<int>(clock.seconds().count()));
  return text;
}

void AppendFields(const Headers& headers, std::string* out) {
  for (const auto& [name, value] : headers.fields()) {
    *out += name;
    *out += ": ";
    for (char c : value) *out += c == '\r' || c == '\n' ? ' ' : c;
    *out += "\r\n";
  }
}

bool HasToken(const Headers& headers, std::string_view name, std::string_view token) {
  for (const auto& [field, value] : headers.fields()) {
    if (!EqualsIgnoreCase(field, name)) continue;
    for (std::string_view part : Split(value, ',')) {
      if (EqualsIgnoreCase(TrimSpace(part), token)) return true;
    }
  }
  return false;
}

Status CheckRequest(const Request& request) {
  if (!IsToken(request.method)) {
    return InvalidArgumentError(StrCat("net/http: invalid method ", GoQuote(request.method)));
  }
  for (char c : request.target) {
    if (static_cast<unsigned char>(c) <= ' ' || c == 0x7f) {
      return InvalidArgumentError("net/url: invalid control character in URL");
    }
  }
  if (request.target.empty() || request.target[0] != '/') {
    return InvalidArgumentError("request target without leading /");
  }
  for (const auto& [name, value] : request.headers.fields()) {
    if (!IsToken(name)) {
      return InvalidArgumentError(StrCat("net/http: invalid header field name ", GoQuote(name)));
    }
    for (char c : value) {
      if ((static_cast<unsigned char>(c) < ' ' && c != '\t') || c == 0x7f) {
        // The value may be a credential: only the name is shown.
        return InvalidArgumentError(
            StrCat("net/http: invalid header field value for ", GoQuote(name)));
      }
    }
  }
  return Status();
}

Status CheckInTime(MonotonicTime send_before, MonotonicTime now) {
  if (now < send_before) return Status();
  return TransportStatus(TransportError::Kind::kOther, kTooLate);
}

bool HasBody(std::string_view method, int status) {
  return method != "HEAD" && status >= 200 && status != 204 && status != 304;
}

}  // namespace csinative::http
