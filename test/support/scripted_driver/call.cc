// SPDX-License-Identifier: Apache-2.0
#include "test/support/scripted_driver/call.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/util/json_util.h>
#include <grpcpp/alarm.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <chrono>
#include <memory>

#include "proto/csi/v1/csi.pb.h"

namespace csinative::scripted_driver {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::Message;
using google::protobuf::MessageFactory;
using google::protobuf::MethodDescriptor;
using SystemClock = std::chrono::system_clock;

int64_t Micros(SystemClock::time_point time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
}

// "/csi.v1.Node/NodeGetInfo", or null.
const MethodDescriptor* FindMethod(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (path.empty() || path[0] != '/' || slash == 0) return nullptr;
  const auto* service =
      DescriptorPool::generated_pool()->FindServiceByName(path.substr(1, slash - 1));
  return service == nullptr ? nullptr : service->FindMethodByName(path.substr(slash + 1));
}

std::unique_ptr<Message> NewMessage(const google::protobuf::Descriptor* type) {
  return std::unique_ptr<Message>(MessageFactory::generated_factory()->GetPrototype(type)->New());
}

std::string ToJson(const Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string json;
  if (!google::protobuf::util::MessageToJsonString(message, &json, options).ok()) return "{}";
  return json;
}

// One unary call. gRPC runs the callbacks one after the other, but OnCancel and the timer at any
// moment.
class Call final : public grpc::ServerGenericBidiReactor {
 public:
  Call(grpc::GenericCallbackServerContext* context, Script& script, CallLog& log)
      : context_(context), script_(script), log_(log), begin_(SystemClock::now()) {
    if (context->deadline() < SystemClock::time_point::max() - std::chrono::hours(24)) {
      deadline_ms_ =
          std::chrono::duration_cast<std::chrono::milliseconds>(context->deadline() - begin_)
              .count();
    }
    StartRead(&in_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      End(grpc::Status(grpc::StatusCode::INTERNAL, "no request"), /*cancelled=*/true);
      return;
    }
    method_ = FindMethod(context_->method());
    if (method_ == nullptr) {
      reaction_.code = grpc::StatusCode::UNIMPLEMENTED;
      reaction_.message = "unknown method " + context_->method();
      Answer();
      return;
    }
    std::unique_ptr<Message> request = NewMessage(method_->input_type());
    grpc::ProtoBufferReader reader(&in_);
    if (!request->ParseFromZeroCopyStream(&reader)) {
      End(grpc::Status(grpc::StatusCode::INTERNAL, "the request is no message"), false);
      return;
    }
    request_json_ = ToJson(*request);
    reaction_ = script_.React(context_->method(), request_json_);
    if (reaction_.hang) return;  // OnCancel ends it
    if (reaction_.delay_ms == 0) {
      Answer();
      return;
    }
    ++holders_;
    alarm_.Set(SystemClock::now() + std::chrono::milliseconds(reaction_.delay_ms), [this](bool) {
      Answer();
      Release();
    });
  }

  void OnCancel() override {
    End(grpc::Status::CANCELLED, /*cancelled=*/true);
    if (reaction_.delay_ms > 0) alarm_.Cancel();
  }

  void OnDone() override { Release(); }

 private:
  void Answer() {
    if (reaction_.code != 0) {
      End(grpc::Status(static_cast<grpc::StatusCode>(reaction_.code), reaction_.message), false);
      return;
    }
    std::unique_ptr<Message> response = NewMessage(method_->output_type());
    auto parsed = google::protobuf::util::JsonStringToMessage(reaction_.answer, response.get());
    if (!parsed.ok()) {
      End(grpc::Status(grpc::StatusCode::INTERNAL,
                       "the script's answer is no message: " + std::string(parsed.message())),
          false);
      return;
    }
    bool own_buffer = false;
    std::lock_guard lock(mutex_);
    if (ended_) return;
    ended_ = true;
    grpc::GenericSerialize<grpc::ProtoBufferWriter, Message>(*response, &out_, &own_buffer);
    Record(grpc::Status::OK, false);
    StartWriteAndFinish(&out_, grpc::WriteOptions(), grpc::Status::OK);
  }

  void End(const grpc::Status& status, bool cancelled) {
    std::lock_guard lock(mutex_);
    if (ended_) return;
    ended_ = true;
    Record(status, cancelled);
    Finish(status);
  }

  // Destroys this after OnDone, and after the timer where there is one.
  void Release() {
    if (--holders_ == 0) delete this;
  }

  void Record(const grpc::Status& status, bool cancelled);

  grpc::GenericCallbackServerContext* const context_;
  Script& script_;
  CallLog& log_;
  const SystemClock::time_point begin_;
  int64_t deadline_ms_ = -1;
  const MethodDescriptor* method_ = nullptr;
  std::string request_json_ = "null";
  Reaction reaction_;
  grpc::ByteBuffer in_;
  grpc::ByteBuffer out_;
  grpc::Alarm alarm_;
  std::mutex mutex_;
  bool ended_ = false;
  std::atomic<int> holders_ = 1;
};

void Call::Record(const grpc::Status& status, bool cancelled) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> json(buffer);
  auto text = [&json](const char* key, const std::string& value) {
    json.Key(key);
    json.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
  };
  json.StartObject();
  json.Key("begin");
  json.Int64(Micros(begin_));
  json.Key("end");
  json.Int64(Micros(SystemClock::now()));
  text("method", context_->method());
  json.Key("call");
  json.Int(reaction_.call);
  text("authority", context_->host());
  json.Key("metadata");
  json.StartArray();
  for (const auto& [key, value] : context_->client_metadata()) {
    json.StartArray();
    json.String(key.data(), static_cast<rapidjson::SizeType>(key.size()));
    json.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
    json.EndArray();
  }
  json.EndArray();
  json.Key("deadline_ms");
  if (deadline_ms_ < 0) {
    json.Null();
  } else {
    json.Int64(deadline_ms_);
  }
  json.Key("request");
  json.RawValue(request_json_.data(), request_json_.size(), rapidjson::kObjectType);
  json.Key("code");
  json.Int(status.error_code());
  text("message", status.error_message());
  json.Key("cancelled");
  json.Bool(cancelled);
  json.EndObject();
  log_.Add(std::string(buffer.GetString(), buffer.GetSize()));
}

}  // namespace

void CallLog::Add(const std::string& line) {
  std::lock_guard lock(mutex_);
  out_ << line << '\n';
  out_.flush();
}

grpc::ServerGenericBidiReactor* ScriptedService::CreateReactor(
    grpc::GenericCallbackServerContext* context) {
  return new Call(context, script_, log_);
}

}  // namespace csinative::scripted_driver
