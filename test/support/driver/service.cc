// SPDX-License-Identifier: Apache-2.0
#include "test/support/driver/service.h"

#include "lib/base/json_string.h"

namespace csinative::driver {

void DriverContext::Record(const std::string& method, const google::protobuf::Message& request,
                           const Status& status) {
  if (!log.is_open()) return;
  const auto now =
      std::chrono::duration_cast<std::chrono::microseconds>(loop.WallNow().time_since_epoch());
  const RpcError* error = status.rpc_error();
  const int code = error != nullptr ? error->grpc_code : static_cast<int>(status.code());
  log << R"({"unixMicros":)" << now.count() << R"(,"method":)" << JsonString(method)
      << R"(,"request":)" << csi::StrippedJson(request) << R"(,"code":)"
      << JsonString(CodeName(code)) << R"(,"message":)"
      << JsonString(error != nullptr ? error->description : status.message()) << "}\n";
  log.flush();
}

Status CheckCapability(const ::csi::v1::VolumeCapability& capability) {
  using Mode = ::csi::v1::VolumeCapability::AccessMode;
  if (!capability.has_mount() && !capability.has_block()) {
    return Fail(Code::kInvalidArgument, "the volume capability has no access type");
  }
  if (!capability.has_access_mode() || capability.access_mode().mode() == Mode::UNKNOWN) {
    return Fail(Code::kInvalidArgument, "the volume capability has no access mode");
  }
  return Status();
}

}  // namespace csinative::driver
