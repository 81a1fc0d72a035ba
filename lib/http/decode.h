// SPDX-License-Identifier: Apache-2.0
//
// Transparent decompression, the same for both transports. Internal to lib/http. Loop only.
#pragma once

#include <memory>

#include "lib/http/client.h"

namespace csinative::http {

// Undoes Content-Encoding: gzip; both length and encoding fields then go, as in Go. Any other
// response stays as it is.
Status DecodeResponse(Response* response, size_t max_body_bytes);
std::unique_ptr<StreamingResponse> DecodeStream(std::unique_ptr<StreamingResponse> stream);

}  // namespace csinative::http
