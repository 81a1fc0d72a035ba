// SPDX-License-Identifier: Apache-2.0
#include "lib/csi/observed_channel.h"

#include <utility>

#include "lib/csi/message_json.h"

namespace csinative::csi {
namespace {

// csi-lib-utils connection: what stands behind a response that was cut (common 7.6).
std::string Capped(std::string json, int64_t limit) {
  if (limit <= 0 || json.size() <= static_cast<size_t>(limit)) return json;
  json.resize(static_cast<size_t>(limit));
  return json + " [response body too large, log capped to " + std::to_string(limit) + " chars]";
}

// What a request is about, without a look at anything secret.
std::string SubjectOf(const google::protobuf::Message& request) {
  for (const char* name : {"volume_id", "snapshot_id", "name", "node_id"}) {
    const auto* field = request.GetDescriptor()->FindFieldByName(name);
    if (field == nullptr || field->is_repeated() ||
        field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_STRING) {
      continue;
    }
    std::string value = request.GetReflection()->GetString(request, field);
    if (!value.empty()) return value;
  }
  return "";
}

}  // namespace

ObservedChannel::ObservedChannel(std::unique_ptr<rpc::Channel> inner, Options options)
    : inner_(std::move(inner)),
      options_(std::move(options)),
      running_(options_.running ? options_.running : std::make_shared<Calls>()) {}

async::Task<Status> ObservedChannel::Call(std::string method,
                                          const google::protobuf::Message& request,
                                          google::protobuf::Message* response) {
  return CallMigrated(std::move(method), request, response, false);
}

async::Task<Status> ObservedChannel::CallMigrated(std::string method,
                                                  const google::protobuf::Message& request,
                                                  google::protobuf::Message* response,
                                                  bool migrated) {
  options_.log.V(5).Info("GRPC call", "method", method, "request",
                         [&request] { return StrippedJson(request); });
  // The request is serialized here, before the task is awaited: it need not outlive this call.
  async::Task<Status> call = inner_->Call(method, request, response);
  return Observe(std::move(method), SubjectOf(request), std::move(call), response, migrated);
}

async::Task<Status> ObservedChannel::Observe(std::string method, std::string subject,
                                             async::Task<Status> call,
                                             google::protobuf::Message* response, bool migrated) {
  async::TaskContext context = co_await async::CurrentContext();
  const MonotonicTime start = context.loop->Now();
  const auto entry = running_->insert(
      running_->end(), {method, std::move(subject), start, context.cancel->deadline()});
  Status status = co_await std::move(call);
  running_->erase(entry);
  if (options_.operations) {
    options_.operations->Record(method, status, context.loop->Now() - start, migrated);
  }
  options_.log.V(5).Info(
      "GRPC response", "response",
      [&] { return status.ok() ? Capped(StrippedJson(*response), options_.max_log_length) : "{}"; },
      "err", status);
  co_return status;
}

}  // namespace csinative::csi
