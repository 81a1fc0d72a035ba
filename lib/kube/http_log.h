// SPDX-License-Identifier: Apache-2.0
//
// What the log shows of HTTP requests (kube-client 10.4): from verbosity 7 on the request with its
// header, from 8 on the header of the answer, at 9 and above a curl command in place of the
// request. The line of verbosity 6 and bodies are exchange.h's. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "lib/http/message.h"
#include "lib/log/logger.h"

namespace csinative::kube {

// The value as it may be shown: of Authorization only the scheme.
std::string MaskedHeaderValue(std::string_view name, std::string_view value);

void LogHttpRequest(const log::Logger& log, std::string_view origin, const http::Request& request);
void LogHttpResponse(const log::Logger& log, int status, const http::Headers& headers);

}  // namespace csinative::kube
