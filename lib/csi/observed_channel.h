// SPDX-License-Identifier: Apache-2.0
//
// A channel that logs each call with its secrets stripped and measures it (common 7.6, 9.2): what
// all sidecars put around their connection. Loop only.
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <string>

#include "lib/log/logger.h"
#include "lib/metrics/csi_operations.h"
#include "lib/rpc/channel.h"

namespace csinative::csi {

class ObservedChannel final : public rpc::Channel {
 public:
  // For /debug: a call that the driver has not answered yet.
  struct Running {
    std::string method;
    std::string subject;  // the volume (or other object) it is about; empty if none
    MonotonicTime start{};
    std::optional<MonotonicTime> deadline;
  };
  using Calls = std::list<Running>;  // the oldest first

  struct Options {
    log::Logger log = {};
    std::shared_ptr<metrics::CsiOperations> operations = nullptr;  // null: not measured
    // Longer responses are cut in the log; 0 or less: never (--max-grpc-log-length).
    int64_t max_log_length = 0;
    // Where its calls are listed while they run; several channels can share one. Null: its own.
    std::shared_ptr<Calls> running = nullptr;
  };
  ObservedChannel(std::unique_ptr<rpc::Channel> inner, Options options);

  async::Task<Status> Call(std::string method, const google::protobuf::Message& request,
                           google::protobuf::Message* response) override;
  // The same call, measured with migrated="true" for a driver that declares the label.
  async::Task<Status> CallMigrated(std::string method, const google::protobuf::Message& request,
                                   google::protobuf::Message* response, bool migrated);

  const Calls& running() const { return *running_; }

 private:
  async::Task<Status> Observe(std::string method, std::string subject, async::Task<Status> call,
                              google::protobuf::Message* response, bool migrated);

  const std::unique_ptr<rpc::Channel> inner_;
  const Options options_;
  const std::shared_ptr<Calls> running_;  // never null
};

}  // namespace csinative::csi
