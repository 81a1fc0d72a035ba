// SPDX-License-Identifier: Apache-2.0
//
// Translates what gRPC's C++ library reports into what Go's reports (common 7.5). Private to
// lib/rpc. Any thread.
#pragma once

#include <grpcpp/grpcpp.h>

#include <string>
#include <string_view>

#include "lib/base/status.h"

namespace csinative::rpc {

// What is known about a call besides its status.
struct CallFacts {
  // The status was among the trailers. The library puts some failures of its own there too.
  bool from_trailers = false;
  bool connection_ok = true;  // the connection still stands
  bool deadline_passed = false;
  size_t request_bytes = 0;
  std::string_view peer;  // "unix @->/csi/csi.sock", for socket errors
};

// Whether a failed call can be sent again without being executed twice.
enum class Resend {
  kNo,
  kSameConnection,  // the peer refused this one
  kNewConnection,   // the peer takes no more calls on this connection
};

struct Verdict {
  Status status;
  Resend resend = Resend::kNo;
};

// REQUIRES: !status.ok().
Verdict TranslateFailure(const grpc::Status& status, const CallFacts& facts);

}  // namespace csinative::rpc
