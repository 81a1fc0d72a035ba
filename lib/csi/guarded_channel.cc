// SPDX-License-Identifier: Apache-2.0
#include "lib/csi/guarded_channel.h"

#include "lib/async/grace.h"

namespace csinative::csi {
namespace {

constexpr int kUnavailable = 14;

async::Task<Status> Refuse(Status reason) {
  co_return RpcStatus(kUnavailable, std::string(reason.message()));
}

}  // namespace

async::Task<Status> GuardedChannel::Call(std::string method,
                                         const google::protobuf::Message& request,
                                         google::protobuf::Message* response) {
  Status allowed = may_act_();
  if (!allowed.ok()) return Refuse(std::move(allowed));
  if (grace_ <= Duration::zero()) return inner_.Call(std::move(method), request, response);
  return async::WithGrace(grace_, inner_.Call(std::move(method), request, response));
}

}  // namespace csinative::csi
