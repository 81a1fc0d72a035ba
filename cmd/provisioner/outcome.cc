// SPDX-License-Identifier: Apache-2.0
#include "cmd/provisioner/outcome.h"

namespace csinative::provisioner {

ProvisionState StateAfterCreateError(const Status& error, NodeChoice choice) {
  const RpcError* rpc = error.rpc_error();
  // Not an answer of the driver, so nothing is known about it.
  if (rpc == nullptr) return ProvisionState::kInBackground;
  switch (static_cast<Code>(rpc->grpc_code)) {
    case Code::kCancelled:         // our end or the driver's gave up waiting
    case Code::kDeadlineExceeded:  // as above, by time
    case Code::kUnavailable:       // the connection broke: the call may have arrived
    case Code::kAborted:           // an operation for this volume is already running
      return ProvisionState::kInBackground;
    case Code::kResourceExhausted:  // no space where the volume was wanted
      return choice == NodeChoice::kCanChange ? ProvisionState::kReschedule
                                              : ProvisionState::kFinished;
    case Code::kOk:               // not an error: cannot be here
    case Code::kUnknown:          // the driver's own error without a class: it returned
    case Code::kInvalidArgument:  // refused before anything was created
    case Code::kNotFound:         // a source or parent is missing
    case Code::kAlreadyExists:    // the name is taken by an incompatible volume
    case Code::kPermissionDenied:
    case Code::kFailedPrecondition:
    case Code::kOutOfRange:
    case Code::kUnimplemented:
    case Code::kInternal:
    case Code::kDataLoss:
    case Code::kUnauthenticated:
      return ProvisionState::kFinished;
  }
  // A number outside gRPC's set: the driver answered, so the call is over.
  return ProvisionState::kFinished;
}

bool IsInfeasible(const Status& error) {
  const RpcError* rpc = error.rpc_error();
  return rpc != nullptr && rpc->grpc_code == static_cast<int>(Code::kInvalidArgument);
}

}  // namespace csinative::provisioner
