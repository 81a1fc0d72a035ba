// SPDX-License-Identifier: Apache-2.0
//
// A Client that stores Leases and Events in memory, for the tests of elections and event sinks.
// Not modelled: lists, watches, other kinds, admission.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "apis/coordination/v1/coordination.pb.h"
#include "apis/core/v1/event.pb.h"
#include "lib/async/sleep.h"
#include "lib/kube/client.h"

namespace csinative::kube {

inline Status ApiFailure(int code, std::string reason, std::string message) {
  ApiError error;
  error.http_code = code;
  error.reason = std::move(reason);
  return Status(Code::kUnknown, std::move(message), std::move(error));
}

// What all fake clients of one test share.
struct FakeLeaseServer {
  std::map<std::string, coordination::Lease> leases;
  std::map<std::string, core::Event> events;
  int64_t version = 0;
};

class FakeLeaseClient final : public Client {
 public:
  explicit FakeLeaseClient(FakeLeaseServer* server) : server_(server) {}

  std::vector<std::string> calls;  // "PUT lease", "PATCH event x {body}", in order
  Status failure;                  // answered to every call while not ok
  Duration delay = Duration::zero();
  // Asked first: the failure of this one call, e.g. "PUT lease".
  std::function<Status(const std::string& call)> fail_call;
  std::vector<core::Event> posted;  // as they were sent
  // Called after each write that succeeded, e.g. to cancel the caller.
  std::function<void(const std::string& call)> after_call;

  using Document = std::shared_ptr<rapidjson::Document>;
  async::Task<Result<Document>> GetDocument(const ResourceInfo*, ObjectName) override {
    co_return UnimplementedError("fake");
  }
  async::Task<Result<Document>> ReplaceDocument(const ResourceInfo*, ObjectName,
                                                Document) override {
    co_return UnimplementedError("fake");
  }
  async::Task<Result<Document>> CreateDocument(const ResourceInfo*, std::string,
                                               Document) override {
    co_return UnimplementedError("fake");
  }
  async::Task<Result<Document>> GetPath(std::string) override {
    co_return UnimplementedError("fake");
  }
  async::Task<Result<std::unique_ptr<ApiStream>>> OpenStream(
      const ResourceInfo*, std::string, std::vector<std::pair<std::string, std::string>>) override {
    co_return UnimplementedError("fake");
  }

 protected:
  async::Task<Status> Call(CallTarget target, const google::protobuf::Message* body,
                           google::protobuf::Message* out) override {
    calls.push_back(target.method + " " + std::string(target.resource->singular));
    if (delay > Duration::zero()) CSI_CO_RETURN_IF_ERROR(co_await async::Sleep(delay));
    if (fail_call) CSI_CO_RETURN_IF_ERROR(fail_call(calls.back()));
    if (!failure.ok()) co_return failure;
    if (target.resource->kind == "Lease") {
      const std::string call = calls.back();
      const Status status = LeaseCall(target, body, out);
      if (after_call) after_call(call);
      co_return status;
    }
    const auto& event = static_cast<const core::Event&>(*body);
    posted.push_back(event);
    auto [it, fresh] = server_->events.emplace(event.metadata().name(), event);
    if (!fresh) co_return ApiFailure(409, "AlreadyExists", "exists");
    it->second.mutable_metadata()->set_resourceversion(std::to_string(++server_->version));
    *static_cast<core::Event*>(out) = it->second;
    co_return Status();
  }
  async::Task<Status> CallPatch(CallTarget target, PatchType, std::string body,
                                google::protobuf::Message* out) override {
    calls.push_back("PATCH " + std::string(target.resource->singular) + " " + body);
    if (fail_call) CSI_CO_RETURN_IF_ERROR(fail_call(calls.back()));
    if (!failure.ok()) co_return failure;
    auto it = server_->events.find(target.name.name);
    if (it == server_->events.end()) co_return ApiFailure(404, "NotFound", "gone");
    rapidjson::Document patch;
    patch.Parse(body.c_str());
    it->second.set_count(patch["count"].GetInt());
    it->second.set_message(patch["message"].GetString());
    *static_cast<core::Event*>(out) = it->second;
    co_return Status();
  }
  async::Task<Status> CallDelete(CallTarget, DeleteOptions) override {
    co_return UnimplementedError("fake");
  }
  async::Task<Status> CallList(const ResourceInfo*, ListOptions, std::string*, std::string*,
                               UniqueFunction<google::protobuf::Message*()>) override {
    co_return UnimplementedError("fake");
  }

 private:
  Status LeaseCall(const CallTarget& target, const google::protobuf::Message* body,
                   google::protobuf::Message* out) {
    auto* result = static_cast<coordination::Lease*>(out);
    if (target.method == "GET") {
      auto it = server_->leases.find(target.name.name);
      if (it == server_->leases.end()) return ApiFailure(404, "NotFound", "not found");
      *result = it->second;
      return Status();
    }
    coordination::Lease lease = static_cast<const coordination::Lease&>(*body);
    const std::string& name = lease.metadata().name();
    auto it = server_->leases.find(name);
    if (target.method == "POST" && it != server_->leases.end()) {
      return ApiFailure(409, "AlreadyExists", "exists");
    }
    if (target.method == "PUT" &&
        (it == server_->leases.end() ||
         it->second.metadata().resourceversion() != lease.metadata().resourceversion())) {
      return ApiFailure(409, "Conflict", "the object has been modified");
    }
    lease.mutable_metadata()->set_resourceversion(std::to_string(++server_->version));
    server_->leases[name] = lease;
    *result = lease;
    return Status();
  }

  FakeLeaseServer* server_;
};

}  // namespace csinative::kube
