// SPDX-License-Identifier: Apache-2.0
//
// HTTP requests and responses as plain values, shared by client and server. Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/clock.h"

namespace csinative::http {

// Ordered header fields; names compare without regard to case.
class Headers {
 public:
  void Add(std::string name, std::string value);
  // Replaces all fields of that name.
  void Set(std::string_view name, std::string value);
  void Remove(std::string_view name);
  // The first value, or nullopt.
  std::optional<std::string_view> Get(std::string_view name) const;
  const std::vector<std::pair<std::string, std::string>>& fields() const { return fields_; }

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

struct Request {
  std::string method = "GET";
  std::string target = "/";  // path and query, already percent-encoded
  Headers headers;
  std::string body;
  // Of clients: from then on it is not sent any more and fails, whatever it had to wait for: a free
  // connection, a new one, a process that was stopped. A request without body may still go out if
  // the time passes while its connection is made.
  MonotonicTime send_before = MonotonicTime::max();
};

struct Response {
  int status = 0;
  Headers headers;
  std::string body;
};

}  // namespace csinative::http
