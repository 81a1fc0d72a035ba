// SPDX-License-Identifier: Apache-2.0
//
// The seam below the API client: one request, one answer, or one stream of watch bytes. Production
// sends it over lib/http, simulation answers from its model. Loop only.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lib/async/task.h"
#include "lib/base/clock.h"
#include "lib/base/result.h"

namespace csinative::kube {

struct ApiRequest {
  std::string method;  // GET POST PUT PATCH DELETE
  std::string path;    // "/api/v1/namespaces/ns/persistentvolumeclaims/name", each segment encoded
  std::vector<std::pair<std::string, std::string>> query;  // unencoded, in wire order
  std::string accept;
  std::string content_type;  // empty without a body
  std::string body;
  // From then on it is not sent any more and fails (http::Request::send_before).
  MonotonicTime send_before = MonotonicTime::max();
};

struct ApiResponse {
  int code = 0;
  std::string content_type;
  std::string retry_after;            // header value, empty if absent
  std::vector<std::string> warnings;  // texts of code 299 Warning headers
  std::string flow_schema_uid;        // X-Kubernetes-PF-FlowSchema-UID, empty if absent
  std::string body;
};

class ApiStream {
 public:
  virtual ~ApiStream() = default;
  virtual const ApiResponse& head() const = 0;  // body empty
  // The next bytes, at least one; empty at a clean end. kUnavailable/kTimeout TransportError else.
  // A call that was cancelled leaves the stream unusable.
  virtual async::Task<Result<std::string>> Read() = 0;
};

class ApiTransport {
 public:
  virtual ~ApiTransport() = default;
  // Waits, in the order of the calls, until there is a connection for a unary request. The caller
  // keeps what it gets until the request has ended, and then calls Do(). Urgent ones do not wait:
  // a lease has to be renewed however much other work waits for a slow server.
  virtual async::Task<Result<std::shared_ptr<void>>> Admit(bool urgent) {
    static_cast<void>(urgent);
    co_return std::shared_ptr<void>();
  }
  // Any answer of the server is Ok, whatever its code; no answer is a TransportError.
  virtual async::Task<Result<ApiResponse>> Do(ApiRequest request) = 0;
  virtual async::Task<Result<std::unique_ptr<ApiStream>>> Stream(ApiRequest request) = 0;
  // "https://host:port/prefix" that paths are appended to, for error texts and logs.
  virtual std::string base_url() const { return ""; }
};

}  // namespace csinative::kube
