// SPDX-License-Identifier: Apache-2.0
#include "test/bench/failovers/replica.h"

#include <fstream>
#include <utility>

#include "lib/base/base64.h"
#include "lib/base/go_duration.h"
#include "lib/base/strings.h"

namespace csinative::failovers {

Replica::Replica(async::RealLoop& loop, apiserver::ApiHandler& api,
                 const testing::CertificateAuthority& authority, ReplicaOptions options)
    : loop_(loop), api_(api), authority_(authority), options_(std::move(options)) {}

Status Replica::Listen() {
  const testing::KeyPair pair =
      authority_.IssueServer({.common_name = "api", .names = {"127.0.0.1"}});
  http::ServerConfig config{.address = "127.0.0.1:0"};
  config.tls = http::ServerTls{.certificate_pem = pair.certificate_pem, .key_pem = pair.key_pem};
  CSI_ASSIGN_OR_RETURN(
      server_, http::Listen(loop_, std::move(config),
                            [this](http::ServerRequest request, http::ResponseWriter* writer) {
                              Count(request);
                              return api_.Handle(std::move(request), writer);
                            }));
  proxy_.emplace(loop_, server_->port());
  CSI_RETURN_IF_ERROR(proxy_->Start());
  std::ofstream(options_.dir + "/" + options_.name + ".kubeconfig")
      << "clusters: [{name: k, cluster: {server: 'https://127.0.0.1:" << proxy_->port()
      << "', certificate-authority-data: " << Base64Encode(authority_.certificate_pem())
      << "}}]\nusers: [{name: u, user: {token: '" << options_.token
      << "'}}]\ncontexts: [{name: c, context: {cluster: k, user: u}}]\ncurrent-context: c\n";
  return Status();
}

async::Task<void> Replica::Close() {
  process_.reset();
  proxy_.reset();
  if (server_) co_await server_->Close();
  server_.reset();
}

Status Replica::StartProcess() {
  lease_reads_ = lease_writes_ = 0;
  writes_.clear();
  proxy_->set_mode(test::FaultProxy::Mode::kForward);
  const Timing& timing = options_.timing;
  CSI_ASSIGN_OR_RETURN(
      test::ChildProcess child,
      test::ChildProcess::Start(
          {.command = {options_.bin_dir + "/csi-attacher", "-csi-address=" + options_.driver_socket,
                       StrCat("-kubeconfig=", options_.dir, "/", options_.name, ".kubeconfig"),
                       "-leader-election", "-leader-election-namespace=default",
                       "-leader-election-lease-duration=" + FormatGoDuration(timing.lease),
                       "-leader-election-renew-deadline=" + FormatGoDuration(timing.renew),
                       "-leader-election-retry-period=" + FormatGoDuration(timing.retry),
                       "-kube-api-qps=10", "-kube-api-burst=10", "-retry-interval-start=100ms",
                       "-v=4"},
           .env = {{"KUBECONFIG", ""}, {"KUBERNETES_SERVICE_HOST", ""}},
           .stdout_file = log_path(),
           .stderr_file = log_path(),
           .host_name = options_.name}));
  process_.emplace(std::move(child));
  return Status();
}

void Replica::Count(const http::ServerRequest& request) {
  const bool lease = request.target.find("/leases") != std::string::npos;
  if (request.method == "GET") {
    if (lease) ++lease_reads_;
    return;
  }
  if (lease) ++lease_writes_;
  writes_.push_back(StrCat(request.method, " ", request.target));
}

}  // namespace csinative::failovers
