// SPDX-License-Identifier: Apache-2.0
#include "cmd/volumemanager/outcome.h"

namespace csinative::volumemanager {
namespace {

FailureKind KindOf(Code code) {
  switch (code) {
    case Code::kCancelled:          // our limit passed, or the driver's
    case Code::kDeadlineExceeded:   // the driver may still be at it
    case Code::kUnavailable:        // the connection broke after the request was sent
    case Code::kResourceExhausted:  // a proxy in between refused the answer
    case Code::kAborted:            // another operation on the volume is going on
      return FailureKind::kUncertain;
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
      return FailureKind::kFinal;
  }
  return FailureKind::kFinal;  // a number outside of the closed set is the driver's own answer
}

}  // namespace

Outcome OutcomeOfCall(Status status) {
  if (status.ok()) return {};
  if (status.rpc_error() == nullptr) return Outcome::Uncertain(std::move(status));
  const FailureKind kind = KindOf(static_cast<Code>(status.rpc_error()->grpc_code));
  return {std::move(status), kind};
}

}  // namespace csinative::volumemanager
