// SPDX-License-Identifier: Apache-2.0
#include "test/support/kube_wire.h"

namespace csinative::testing {
namespace {

void AppendField(int number, std::string_view bytes, std::string& out) {
  out.push_back(static_cast<char>(number << 3 | 2));
  size_t length = bytes.size();
  for (; length >= 0x80; length >>= 7) out.push_back(static_cast<char>(length | 0x80));
  out.push_back(static_cast<char>(length));
  out += bytes;
}

}  // namespace

kube::ApiResponse JsonAnswer(std::string body, int code) {
  return {.code = code, .content_type = std::string(kJson), .body = std::move(body)};
}

meta::Status FailureStatus(int code, std::string reason, std::string message) {
  meta::Status status;
  status.set_status("Failure");
  status.set_code(code);
  status.set_reason(std::move(reason));
  status.set_message(std::move(message));
  return status;
}

kube::ApiResponse ProtobufFailure(int code, std::string reason, std::string message) {
  return {.code = code,
          .content_type = std::string(kProtobuf),
          .body = apis::Wrap("v1", "Status",
                             FailureStatus(code, std::move(reason), std::move(message)))};
}

std::string ProtobufListBody(std::string_view api_version, std::string_view list_kind,
                             const meta::ListMeta& metadata,
                             const std::vector<std::string>& items) {
  std::string raw;
  AppendField(1, metadata.SerializeAsString(), raw);
  for (const std::string& item : items) AppendField(2, item, raw);
  return apis::WrapRaw(api_version, list_kind, raw);
}

meta::ListMeta ListMetadata(std::string resource_version, std::string continue_token) {
  meta::ListMeta metadata;
  metadata.set_resourceversion(std::move(resource_version));
  if (!continue_token.empty()) metadata.set_continue_(std::move(continue_token));
  return metadata;
}

std::string ErrorFrame(const meta::Status& status) {
  std::string out;
  apis::AppendWatchFrame("ERROR", apis::Wrap("v1", "Status", status), &out);
  return out;
}

}  // namespace csinative::testing
