// SPDX-License-Identifier: Apache-2.0
#include "cmd/registrar/registration_service.h"

#include <utility>

#include "lib/base/strings.h"

namespace csinative::registrar {
namespace {

// The kubelet asks for a type and for the highest version it knows (registrar 6.3); the driver's
// own version of CSI plays no part.
constexpr char kPluginType[] = "CSIPlugin";
constexpr char kSupportedVersion[] = "1.0.0";

// The string literal of Go's prototext.
std::string TextLiteral(std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    } else {
      out += c;
    }
  }
  return out + '"';
}

}  // namespace

std::string StatusText(const ::pluginregistration::RegistrationStatus& status) {
  std::string out;
  if (status.plugin_registered()) out = "plugin_registered:true";
  if (!status.error().empty()) {
    if (!out.empty()) out += ' ';
    out += StrCat("error:", TextLiteral(status.error()));
  }
  return out;
}

RegistrationService::RegistrationService(Config config) : config_(std::move(config)) {}

void RegistrationService::Register(rpc::Server& server) {
  using ::pluginregistration::InfoRequest;
  using ::pluginregistration::PluginInfo;
  using ::pluginregistration::RegistrationStatus;
  using ::pluginregistration::RegistrationStatusResponse;
  rpc::Handle<InfoRequest, PluginInfo>(server, "/pluginregistration.Registration/GetInfo",
                                       [this](InfoRequest request, PluginInfo* response) {
                                         return GetInfo(std::move(request), response);
                                       });
  rpc::Handle<RegistrationStatus, RegistrationStatusResponse>(
      server, "/pluginregistration.Registration/NotifyRegistrationStatus",
      [this](RegistrationStatus status, RegistrationStatusResponse* response) {
        return NotifyRegistrationStatus(std::move(status), response);
      });
}

async::Task<Status> RegistrationService::GetInfo(::pluginregistration::InfoRequest,
                                                 ::pluginregistration::PluginInfo* response) {
  // The request has no fields, so its text is empty.
  config_.log.V(4).Info("Received GetInfo call", "request", "");
  response->set_type(kPluginType);
  response->set_name(config_.driver);
  response->set_endpoint(config_.endpoint);
  response->add_supported_versions(kSupportedVersion);
  co_return Status();
}

async::Task<Status> RegistrationService::NotifyRegistrationStatus(
    ::pluginregistration::RegistrationStatus status,
    ::pluginregistration::RegistrationStatusResponse*) {
  const async::TaskContext context = co_await async::CurrentContext();
  told_ = Told{.registered = status.plugin_registered(), .when = context.loop->Now()};
  config_.log.Info("Received NotifyRegistrationStatus call", "status", StatusText(status));
  if (!status.plugin_registered()) {
    config_.log.Error(status.error(),
                      "Registration process failed with error, restarting registration container");
    config_.on_refused();
  }
  co_return Status();
}

}  // namespace csinative::registrar
