// SPDX-License-Identifier: Apache-2.0
#include "lib/csi/final_answer.h"

#include <cassert>

namespace csinative::csi {

bool IsFinalAnswer(const Status& failure) {
  assert(!failure.ok());
  const RpcError* rpc = failure.rpc_error();
  if (rpc == nullptr) return false;  // nobody's answer
  switch (static_cast<Code>(rpc->grpc_code)) {
    case Code::kCancelled:          // our limit passed, or the driver's
    case Code::kDeadlineExceeded:   // the driver may still be at it
    case Code::kUnavailable:        // the connection broke after the request was sent
    case Code::kResourceExhausted:  // a proxy in between refused the answer
    case Code::kAborted:            // another operation on the volume is going on
      return false;
    case Code::kOk:
    case Code::kUnknown:
    case Code::kInvalidArgument:
    case Code::kNotFound:
    case Code::kAlreadyExists:
    case Code::kPermissionDenied:
    case Code::kFailedPrecondition:
    case Code::kOutOfRange:
    case Code::kUnimplemented:
    case Code::kInternal:
    case Code::kDataLoss:
    case Code::kUnauthenticated:
      return true;
  }
  return true;  // a number outside of the closed set is the driver's own answer
}

}  // namespace csinative::csi
