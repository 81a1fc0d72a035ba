// SPDX-License-Identifier: Apache-2.0
#include "test/support/driver/identity_service.h"

namespace csinative::driver {
namespace {

using ::csi::v1::PluginCapability;

async::Task<Status> Info(DriverContext* context, ::csi::v1::GetPluginInfoResponse* response) {
  response->set_name(context->options.name);
  response->set_vendor_version(context->options.version);
  co_return Status();
}

async::Task<Status> Capabilities(DriverContext* context,
                                 ::csi::v1::GetPluginCapabilitiesResponse* response) {
  const DriverOptions& options = context->options;
  auto service = [&](PluginCapability::Service::Type type) {
    if (!Announces(options, "PLUGIN", PluginCapability::Service::Type_Name(type))) return;
    response->add_capabilities()->mutable_service()->set_type(type);
  };
  if (options.controller) service(PluginCapability::Service::CONTROLLER_SERVICE);
  if (!options.topology.empty())
    service(PluginCapability::Service::VOLUME_ACCESSIBILITY_CONSTRAINTS);
  if (Announces(options, "PLUGIN", "VOLUME_EXPANSION")) {
    response->add_capabilities()->mutable_volume_expansion()->set_type(
        PluginCapability::VolumeExpansion::ONLINE);
  }
  co_return Status();
}

async::Task<Status> Probe(DriverContext* context, ::csi::v1::ProbeResponse* response) {
  const bool early = context->probes++ < context->options.unready_probes;
  response->mutable_ready()->set_value(context->options.ready && !early);
  co_return Status();
}

}  // namespace

void RegisterIdentityService(rpc::Server& server, DriverContext& context) {
  const std::string service = "csi.v1.Identity";
  DriverContext* ctx = &context;
  Serve<::csi::v1::GetPluginInfoRequest, ::csi::v1::GetPluginInfoResponse>(
      server, context, service, "GetPluginInfo",
      [ctx](const auto&, auto* response) { return Info(ctx, response); });
  Serve<::csi::v1::GetPluginCapabilitiesRequest, ::csi::v1::GetPluginCapabilitiesResponse>(
      server, context, service, "GetPluginCapabilities",
      [ctx](const auto&, auto* response) { return Capabilities(ctx, response); });
  Serve<::csi::v1::ProbeRequest, ::csi::v1::ProbeResponse>(
      server, context, service, "Probe",
      [ctx](const auto&, auto* response) { return Probe(ctx, response); });
}

}  // namespace csinative::driver
