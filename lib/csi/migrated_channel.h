// SPDX-License-Identifier: Apache-2.0
//
// The same channel for calls about volumes that were of an in-tree plugin: they are measured with
// migrated="true" (common 9.3). Loop only.
#pragma once

#include <string>
#include <utility>

#include "lib/csi/observed_channel.h"

namespace csinative::csi {

class MigratedChannel final : public rpc::Channel {
 public:
  // Borrowed: `inner` outlives this.
  explicit MigratedChannel(ObservedChannel& inner) : inner_(inner) {}

  async::Task<Status> Call(std::string method, const google::protobuf::Message& request,
                           google::protobuf::Message* response) override {
    return inner_.CallMigrated(std::move(method), request, response, true);
  }

 private:
  ObservedChannel& inner_;
};

}  // namespace csinative::csi
