// SPDX-License-Identifier: Apache-2.0
//
// csi-attacher after its flags are read: connects to the API server and the driver, and runs the
// controllers while it leads (attacher 3). Loop only.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cmd/attacher/controller.h"
#include "cmd/attacher/options.h"
#include "lib/async/task.h"
#include "lib/cli/feature_gates.h"
#include "lib/csi/guarded_channel.h"
#include "lib/csi/migrated_channel.h"
#include "lib/csi/observed_channel.h"
#include "lib/kube/client.h"
#include "lib/serve/debug_page.h"
#include "lib/sidecar/api_clients.h"
#include "lib/sidecar/diagnostics.h"
#include "lib/sidecar/election.h"
#include "lib/sidecar/process.h"

namespace csinative::attacher {

class Program {
 public:
  // Borrowed: all outlive the program. Gates have been applied.
  Program(sidecar::RealProcess& process, const Options& options, cli::FeatureGates& gates)
      : process_(process), options_(options), gates_(gates) {}

  // The exit code.
  async::Task<int> Run();

 private:
  // Each ends the process when it fails, as attacher 3 says.
  bool ConnectToApi();
  async::Task<bool> ConnectToDriver();
  // A new connection, measured by operations_, to a driver that is ready.
  async::Task<bool> Connect();
  bool Serve();
  async::Task<bool> AskDriver();
  bool PrepareElection();
  void BuildController();
  serve::DebugSnapshot TakeSnapshot();

  // One error record, exit 1.
  bool Fail(const Status& status, std::string text);

  sidecar::RealProcess& process_;
  const Options& options_;
  cli::FeatureGates& gates_;
  std::unique_ptr<sidecar::ApiClients> api_;
  std::unique_ptr<kube::Client> client_;
  std::unique_ptr<kube::Client> election_client_;
  std::shared_ptr<metrics::CsiOperations> operations_;
  std::unique_ptr<csi::ObservedChannel> channel_;
  std::optional<csi::MigratedChannel> migrated_channel_;
  // Of these two only a leader makes calls.
  std::optional<csi::GuardedChannel> leading_channel_;
  std::optional<csi::GuardedChannel> leading_migrated_channel_;
  std::string driver_;
  DriverFeatures features_;
  std::unique_ptr<sidecar::Election> election_;
  std::unique_ptr<sidecar::Diagnostics> server_;
  std::unique_ptr<AttachController> controller_;
};

}  // namespace csinative::attacher
