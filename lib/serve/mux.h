// SPDX-License-Identifier: Apache-2.0
//
// Paths of a diagnostics server, matched as Go's ServeMux does: exact, or a subtree for patterns
// that end in '/' (common 10). Handlers may be added while the server runs. Loop only.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "lib/async/task.h"
#include "lib/base/status.h"
#include "lib/http/server.h"

namespace csinative::serve {

class Mux {
 public:
  using Answer = std::function<async::Task<http::Response>(http::ServerRequest request)>;

  // Fails, with Go's text, for an empty pattern, one without '/', unbalanced braces, or a
  // duplicate: the originals panic then, and the caller exits with 2. A leading method ("GET /x")
  // restricts the pattern to it.
  Status Handle(const std::string& pattern, Answer answer);

  // The longest pattern that matches; 404 "404 page not found" without one, 405 when only another
  // method is registered. HEAD is answered as GET without a body. The mux outlives the server.
  http::Handler AsHandler();

 private:
  struct Route {
    std::string method;  // empty: all
    Answer answer;
  };
  async::Task<void> Dispatch(http::ServerRequest request, http::ResponseWriter* writer);
  // The routes of the best pattern for the path, or null.
  const std::map<std::string, Route>* Find(const std::string& path) const;

  // Pattern path -> method -> route.
  std::map<std::string, std::map<std::string, Route>> routes_;
};

// text/plain with Go's http.Error framing: the text, a line feed, nosniff.
http::Response ErrorResponse(int status, std::string text);

// The exposition in `text` for the request's Accept and Accept-Encoding (common 9.8).
http::Response MetricsResponse(const http::ServerRequest& request, std::string text);

// "ok" or 500 "internal server error: <text>" (common 10, /healthz/leader-election).
http::Response HealthResponse(const Status& health);

// Values of a query parameter that occurs any number of times, decoded, e.g. name[]=a&name[]=b.
std::vector<std::string> QueryValues(const std::string& target, const std::string& key);

}  // namespace csinative::serve
