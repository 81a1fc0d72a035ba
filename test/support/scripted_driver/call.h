// SPDX-License-Identifier: Apache-2.0
//
// Serves every method of every service that the linked .proto files describe, and records each call
// when it is over, as one line of JSON: "begin" and "end" (microseconds since the epoch), "method",
// "call" (number of this call of the method), "authority", "metadata" (what the caller may set, a
// list of pairs in order), "deadline_ms" (time left on arrival, null: none), "request" (JSON with
// the field names of the .proto), "code" and "message" (what was answered), "cancelled" (the caller
// had gone, or its deadline had passed, before the answer). Any thread.
#pragma once

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <fstream>
#include <mutex>
#include <string>

#include "test/support/scripted_driver/script.h"

namespace csinative::scripted_driver {

class CallLog {
 public:
  explicit CallLog(const std::string& file) : out_(file, std::ios::app) {}
  bool ok() const { return static_cast<bool>(out_); }
  void Add(const std::string& line);

 private:
  std::mutex mutex_;
  std::ofstream out_;
};

// Borrows both: they outlive the server.
class ScriptedService final : public grpc::CallbackGenericService {
 public:
  ScriptedService(Script& script, CallLog& log) : script_(script), log_(log) {}
  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override;

 private:
  Script& script_;
  CallLog& log_;
};

}  // namespace csinative::scripted_driver
