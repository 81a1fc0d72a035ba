// SPDX-License-Identifier: Apache-2.0
//
// Request router with the patterns of Go's http.ServeMux (1.22 and later), because the value of
// --metrics-path is one: "[METHOD ][HOST]/path", a trailing "/" for a subtree, "{name}",
// "{name...}" and "{$}" segments (common 10). Loop only.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/status.h"
#include "lib/http/server.h"

namespace csinative::serve {

class Mux {
 public:
  Mux();
  ~Mux();
  Mux(const Mux&) = delete;
  Mux& operator=(const Mux&) = delete;

  // Routes what the pattern matches to the handler; may be called while serving. kInvalidArgument
  // with the text that Go panics with for a bad pattern, kAlreadyExists for one that matches the
  // same requests as an earlier one.
  Status Handle(const std::string& pattern, http::Handler handler);

  // The handler to give to http::Listen; the mux outlives the server. Unknown paths get Go's 404,
  // known paths with another method 405, unclean paths a redirect to the clean one.
  http::Handler AsHandler();

 private:
  struct Pattern;
  struct Route;
  const Route* Find(std::string_view method, std::string_view host, std::string_view path) const;
  std::vector<std::string> AllowedMethods(std::string_view host, std::string_view path) const;
  async::Task<void> Serve(http::ServerRequest request, http::ResponseWriter* writer);

  std::vector<std::unique_ptr<Route>> routes_;
};

// Go's http.Error: plain text with a final line feed.
http::Response TextError(int status, std::string_view text);

// "/a//b/../c/" -> "/a/c/".
std::string CleanPath(std::string_view path);

}  // namespace csinative::serve
