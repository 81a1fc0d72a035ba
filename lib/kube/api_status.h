// SPDX-License-Identifier: Apache-2.0
//
// Failures that an API server answered with, as Status values (kube-client 9.1). Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "apis/meta/v1/meta.pb.h"
#include "apis/namespaces.h"
#include "lib/base/status.h"

namespace csinative::kube {

// A Status object of the server. Any `status` counts as a failure: the caller has looked.
Status FromApiStatus(const meta::Status& status);

// An answer that carried no Status object.
struct UndecodedAnswer {
  int code = 0;
  std::string_view method;    // "GET"
  std::string_view resource;  // plural; empty when the request was about none
  std::string_view group;
  std::string_view name;            // may be empty
  std::string_view body;            // empty unless it is readable text
  int64_t retry_after_seconds = 0;  // 0: not given
};

// The error client-go makes up for it.
Status GenericServerError(const UndecodedAnswer& answer);

}  // namespace csinative::kube
