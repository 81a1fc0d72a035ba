// SPDX-License-Identifier: Apache-2.0
//
// API clients of one program: one transport, so that all share its connections, and a client with
// its own rate limit for each purpose (common 6). Loop only.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "lib/base/result.h"
#include "lib/http/client.h"
#include "lib/kube/client.h"
#include "lib/kube/config.h"
#include "lib/kube/environment.h"
#include "lib/kube/transport.h"
#include "lib/sidecar/process.h"

namespace csinative::sidecar {

// "<program>/v0.0.0 (linux/amd64) kubernetes/$Format": what upstream's builds send, to the letter,
// because audit and fairness rules match it.
std::string UserAgent(const Process& process);

class ApiClients {
 public:
  // The transport serves all clients and must outlive none of them: it is owned here.
  ApiClients(Process& process, std::unique_ptr<kube::ApiTransport> transport)
      : process_(process), transport_(std::move(transport)) {}

  // A client with a token bucket of its own. `before_write` as in kube::ClientOptions.
  Result<std::unique_ptr<kube::Client>> NewClient(
      double qps, int64_t burst, std::function<Result<MonotonicTime>()> before_write = nullptr);
  // The same for leader election: its requests wait for nobody else's.
  Result<std::unique_ptr<kube::Client>> NewElectionClient(double qps, int64_t burst);
  kube::ApiTransport& transport() { return *transport_; }

 private:
  kube::ClientOptions Options(double qps, int64_t burst) const;
  Result<std::unique_ptr<kube::Client>> Create(kube::ClientOptions options);

  Process& process_;
  std::unique_ptr<kube::ApiTransport> transport_;
};

// The library under the API client, from CSI_NATIVE_API_TRANSPORT: "cpprestsdk", the default, or
// "beast", which takes less memory and processor time (docs/performance.md). kInvalidArgument for
// another value.
Result<http::ClientConfig::Transport> TransportFromEnvironment(const kube::GetEnv& getenv);

// Connections for so many requests a second (negative: no limit): as many as there are requests in
// a second, at least 8 and at most 100. Upstream has all requests in one HTTP/2 connection, in
// which an API server lets about as many run at a time.
int ConnectionsFor(double qps);

// From --master and --kubeconfig; both empty: in-cluster. qps: of --kube-api-qps.
Result<std::unique_ptr<ApiClients>> ConnectApi(RealProcess& process,
                                               const kube::ConfigSources& sources, double qps);

}  // namespace csinative::sidecar
