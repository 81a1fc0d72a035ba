// SPDX-License-Identifier: Apache-2.0
//
// Stream buffers between cpprestsdk and an exchange. Internal to lib/http. Cpprest thread.
#pragma once

#include <cpprest/astreambuf.h>

#include <memory>
#include <string>

#include "lib/http/cpprest_exchange.h"

namespace csinative::http {

// A request body that is read once, from front to end. That it cannot be rewound is what keeps
// cpprestsdk from sending a request twice.
Concurrency::streams::istream OneShotBody(std::shared_ptr<const Request> request);

// Passes what arrives to the exchange, which decides when more may come.
Concurrency::streams::ostream SinkOf(std::shared_ptr<CppRestExchange> exchange);

}  // namespace csinative::http
