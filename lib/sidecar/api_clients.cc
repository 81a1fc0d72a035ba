// SPDX-License-Identifier: Apache-2.0
#include "lib/sidecar/api_clients.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "lib/base/json_string.h"
#include "lib/base/strings.h"
#include "lib/kube/user_agent.h"

namespace csinative::sidecar {

std::string UserAgent(const Process& process) {
#if defined(__aarch64__)
  constexpr const char* kArch = "arm64";
#elif defined(__x86_64__)
  constexpr const char* kArch = "amd64";
#else
#error "name this architecture as Go does"
#endif
  // client-go's own version variables, as they are when nobody stamps them.
  return kube::UserAgentText({.program = process.program_name(),
                              .version = "v0.0.0-master+$Format:%H$",
                              .commit = "$Format:%H$",
                              .os = "linux",
                              .arch = kArch});
}

kube::ClientOptions ApiClients::Options(double qps, int64_t burst) const {
  kube::ClientOptions options;
  options.user_agent = UserAgent(process_);
  options.qps = static_cast<float>(qps);
  options.burst = static_cast<int>(std::min<int64_t>(
      std::max<int64_t>(burst, std::numeric_limits<int>::min()), std::numeric_limits<int>::max()));
  const kube::GetEnv environment = kube::ProcessEnvironment();
  options.host_backoff = kube::HostBackoffFromEnvironment(environment);
  options.watch_list = kube::GateEnabled(environment, "WatchListClient", true);
  return options;
}

Result<std::unique_ptr<kube::Client>> ApiClients::Create(kube::ClientOptions options) {
  return kube::Client::Create(process_.loop(), process_.random(), *transport_, process_.log(),
                              std::move(options));
}

Result<std::unique_ptr<kube::Client>> ApiClients::NewClient(
    double qps, int64_t burst, std::function<Result<MonotonicTime>()> before_write) {
  kube::ClientOptions options = Options(qps, burst);
  options.before_write = std::move(before_write);
  return Create(std::move(options));
}

Result<std::unique_ptr<kube::Client>> ApiClients::NewElectionClient(double qps, int64_t burst) {
  kube::ClientOptions options = Options(qps, burst);
  options.urgent = true;
  return Create(std::move(options));
}

int ConnectionsFor(double qps) {
  constexpr double kLeast = 8;
  constexpr double kMost = 100;
  if (!(qps >= 0)) return static_cast<int>(kMost);
  return static_cast<int>(std::clamp(std::ceil(qps), kLeast, kMost));
}

Result<http::ClientConfig::Transport> TransportFromEnvironment(const kube::GetEnv& getenv) {
  constexpr char kVariable[] = "CSI_NATIVE_API_TRANSPORT";
  using Transport = http::ClientConfig::Transport;
  const std::string name = getenv(kVariable).value_or("");
  if (name.empty() || name == "cpprestsdk") return Transport::kAuto;
  if (name == "beast") return Transport::kBeast;
  return InvalidArgumentError(
      StrCat(kVariable, " must be cpprestsdk or beast, not ", JsonString(name)));
}

Result<std::unique_ptr<ApiClients>> ConnectApi(RealProcess& process,
                                               const kube::ConfigSources& sources, double qps) {
  CSI_ASSIGN_OR_RETURN(kube::RestConfig config, kube::LoadConfig(sources, process.log()));
  config.max_connections = ConnectionsFor(qps);
  CSI_ASSIGN_OR_RETURN(config.http_transport, TransportFromEnvironment(kube::ProcessEnvironment()));
  CSI_ASSIGN_OR_RETURN(std::unique_ptr<kube::ApiTransport> transport,
                       kube::NewHttpTransport(process.real_loop(), std::move(config),
                                              UserAgent(process), process.log()));
  return std::make_unique<ApiClients>(process, std::move(transport));
}

}  // namespace csinative::sidecar
