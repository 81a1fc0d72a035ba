// SPDX-License-Identifier: Apache-2.0
//
// csi-provisioner after its flags are read: connects to the API server and the driver, and runs the
// controllers while it leads (provisioner 3). Loop only.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cmd/provisioner/controller.h"
#include "cmd/provisioner/options.h"
#include "lib/async/task.h"
#include "lib/cli/feature_gates.h"
#include "lib/csi/guarded_channel.h"
#include "lib/csi/observed_channel.h"
#include "lib/kube/client.h"
#include "lib/sidecar/api_clients.h"
#include "lib/sidecar/diagnostics.h"
#include "lib/sidecar/election.h"
#include "lib/sidecar/process.h"

namespace csinative::provisioner {

class Program {
 public:
  // Borrowed: all outlive the program. Gates have been applied.
  Program(sidecar::RealProcess& process, const Options& options, cli::FeatureGates& gates)
      : process_(process), options_(options), gates_(gates) {}

  // The exit code.
  async::Task<int> Run();

 private:
  // Each ends the process when it fails, as provisioner 3 says.
  async::Task<bool> ConnectToApi();
  async::Task<bool> ConnectToDriver();
  async::Task<bool> AskDriver();
  bool PrepareElection();
  bool Serve();
  void BuildController();

  sidecar::RealProcess& process_;
  const Options& options_;
  cli::FeatureGates& gates_;
  std::unique_ptr<sidecar::ApiClients> api_;
  std::unique_ptr<kube::Client> client_;
  std::unique_ptr<kube::Client> event_client_;
  std::unique_ptr<kube::Client> election_client_;
  std::shared_ptr<metrics::CsiOperations> operations_;
  std::unique_ptr<csi::ObservedChannel> channel_;
  std::optional<csi::GuardedChannel> leading_channel_;
  DriverFeatures features_;
  std::unique_ptr<sidecar::Election> election_;
  std::unique_ptr<sidecar::Diagnostics> server_;
  std::unique_ptr<ProvisionController> controller_;
};

}  // namespace csinative::provisioner
