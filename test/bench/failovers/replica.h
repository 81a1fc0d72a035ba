// SPDX-License-Identifier: Apache-2.0
//
// One csi-attacher that takes part in an election: its process, the listener of the API server that
// nobody else uses, so that its requests are told apart, and the proxy in between. Loop only.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/async/real_loop.h"
#include "lib/http/server.h"
#include "test/support/apiserver/api_handler.h"
#include "test/support/certs.h"
#include "test/support/child_process.h"
#include "test/support/fault_proxy.h"

namespace csinative::failovers {

struct Timing {
  Duration lease;
  Duration renew;
  Duration retry;
};

struct ReplicaOptions {
  std::string name;  // of its machine, and so its identity
  std::string dir;   // for kubeconfig and log
  std::string bin_dir;
  std::string driver_socket;
  std::string token;
  Timing timing;
};

class Replica {
 public:
  // Borrowed: all references.
  Replica(async::RealLoop& loop, apiserver::ApiHandler& api,
          const testing::CertificateAuthority& authority, ReplicaOptions options);

  // Listener and proxy.
  Status Listen();
  async::Task<void> Close();
  Status StartProcess();

  const std::string& name() const { return options_.name; }
  std::string log_path() const { return options_.dir + "/" + options_.name + ".log"; }
  test::ChildProcess& process() { return *process_; }
  test::FaultProxy& proxy() { return *proxy_; }
  bool running() { return process_ && !process_->Poll(); }

  // Since the process started.
  size_t lease_reads() const { return lease_reads_; }
  size_t lease_writes() const { return lease_writes_; }
  // All requests that change something, the lease's among them, as "PATCH /apis/...".
  const std::vector<std::string>& writes() const { return writes_; }

 private:
  void Count(const http::ServerRequest& request);

  async::RealLoop& loop_;
  apiserver::ApiHandler& api_;
  const testing::CertificateAuthority& authority_;
  const ReplicaOptions options_;
  std::unique_ptr<http::Server> server_;
  std::optional<test::FaultProxy> proxy_;
  std::optional<test::ChildProcess> process_;
  size_t lease_reads_ = 0;
  size_t lease_writes_ = 0;
  std::vector<std::string> writes_;
};

}  // namespace csinative::failovers
