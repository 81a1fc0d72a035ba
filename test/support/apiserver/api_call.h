// SPDX-License-Identifier: Apache-2.0
//
// One request on its way through ApiHandler; for the sources of that class only.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "test/support/apiserver/api_handler.h"

namespace csinative::apiserver {

struct ApiHandler::Call {
  http::ServerRequest request;
  http::ResponseWriter* writer = nullptr;
  bool readable = true;  // the target could be parsed
  RequestInfo info;
  const ResourceInfo* resource = nullptr;
  Target target;
  Negotiated negotiated;
  bool drop_answer = false;
  std::vector<std::string> warnings;
  std::optional<int> retry_after_seconds;
};

}  // namespace csinative::apiserver
