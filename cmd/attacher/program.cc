// SPDX-License-Identifier: Apache-2.0
#include "cmd/attacher/program.h"

#include <utility>

#include "cmd/attacher/startup.h"
#include "lib/async/timeout.h"
#include "lib/base/go_quote.h"
#include "lib/base/strings.h"
#include "lib/csi/identity.h"
#include "lib/kube/config.h"
#include "lib/metrics/process_collector.h"
#include "lib/serve/endpoints.h"
#include "lib/sidecar/debug_report.h"
#include "lib/sidecar/driver.h"
#include "lib/sidecar/leading.h"
#include "lib/translation/translate.h"

namespace csinative::attacher {
namespace {

// external-attacher, csiTimeout: the limit of GetPluginInfo, whatever --timeout says.
constexpr Duration kNameTimeout = std::chrono::seconds(1);

}  // namespace

async::Task<int> Program::Run() {
  if (!ConnectToApi()) co_return 1;
  const bool driver = co_await ConnectToDriver();
  if (!driver) co_return 1;
  if (!Serve()) co_return 1;
  const bool asked = co_await AskDriver();
  if (!asked) co_return 1;
  if (!PrepareElection()) co_return 1;
  BuildController();
  const auto ending = gates_.Enabled(cli::gate::kReleaseLeaderElectionOnExit)
                          ? sidecar::Ending::kAtSignal
                          : sidecar::Ending::kAtOnce;
  co_return co_await sidecar::RunAsLeader(&process_, election_.get(), ending,
                                          [this] { return controller_->Run(); });
}

bool Program::Fail(const Status& status, std::string text) {
  process_.log().Error(status, text);
  process_.Exit(1);
  return false;
}

bool Program::ConnectToApi() {
  kube::ConfigSources sources;
  sources.kubeconfig = options_.common.kubeconfig;
  auto api = sidecar::ConnectApi(process_, sources, options_.common.kube_api_qps);
  if (!api.ok()) return Fail(api.status(), "Failed to build a Kubernetes config");
  if (options_.worker_threads == 0) {
    process_.log().Error(nullptr, "Option -worker-threads must be greater than zero");
    process_.Exit(1);
    return false;
  }
  api_ = *std::move(api);
  auto client = api_->NewClient(options_.common.kube_api_qps, options_.common.kube_api_burst,
                                [this] { return sidecar::CheckMayAct(election_.get()); });
  if (!client.ok()) return Fail(client.status(), "Failed to create a Clientset");
  client_ = *std::move(client);
  return true;
}

async::Task<bool> Program::Connect() {
  auto connected =
      co_await sidecar::ConnectDriver(&process_, options_.common.csi_address,
                                      {.log = process_.log(),
                                       .operations = operations_,
                                       .max_log_length = options_.max_grpc_log_length});
  if (!connected.ok()) {
    process_.log().Error(connected.status(), "Failed to connect to the CSI driver", "csiAddress",
                         options_.common.csi_address);
    process_.Exit(1);
    co_return false;
  }
  channel_ = *std::move(connected);
  Status ready = co_await csi::WaitUntilReady(*channel_, options_.timeout, process_.log());
  if (!ready.ok()) co_return Fail(ready, "Failed to probe the CSI driver");
  co_return true;
}

async::Task<bool> Program::ConnectToDriver() {
  operations_ = std::make_shared<metrics::CsiOperations>(process_.metrics());
  const bool connected = co_await Connect();
  if (!connected) co_return false;
  auto name = co_await async::WithTimeout(kNameTimeout, csi::GetDriverName(*channel_));
  if (!name.ok()) co_return Fail(name.status(), "Failed to get the CSI driver name");
  driver_ = *std::move(name);
  process_.log().V(2).Info("CSI driver name", "driver", driver_);
  if (translation::ReplacesInTreePlugin(driver_)) {
    // Upstream: a connection of its own for calls that are told apart in metrics. What was measured
    // before is gone.
    process_.log().V(2).Info("Supporting CSI migration for the driver", "driver", driver_);
    channel_.reset();
    process_.metrics().RemoveFamily("csi_sidecar_operations_seconds");
    operations_ = std::make_shared<metrics::CsiOperations>(
        process_.metrics(), metrics::CsiOperations::Options{.varying_labels = {"migrated"}});
    operations_->SetDriverName(driver_);
    co_return co_await Connect();
  }
  operations_->SetDriverName(driver_);
  co_return true;
}

bool Program::Serve() {
  const cli::CommonFlags& flags = options_.common;
  if (flags.listen_address().empty()) return true;
  metrics::AddProcessCollector(process_.metrics(), process_.loop(), {});
  auto server = sidecar::Diagnostics::Start(
      process_, {.address = flags.listen_address(), .metrics_path = flags.metrics_path});
  if (!server.ok()) {
    process_.log().Error(
        server.status(), "Failed to start HTTP server at specified address and metrics path",
        "driver", driver_, "address", flags.listen_address(), "metricsPath", flags.metrics_path);
    process_.Exit(1);
    return false;
  }
  server_ = *std::move(server);
  if (!flags.http_endpoint.empty()) {
    // A metrics path of that name has been there first.
    (void)serve::HandleDebug(server_->mux(), [this] { return TakeSnapshot(); });
  }
  process_.log().Info("ServeMux listening", "driver", driver_, "address", flags.listen_address(),
                      "metricsPath", flags.metrics_path);
  return true;
}

serve::DebugSnapshot Program::TakeSnapshot() {
  sidecar::DebugReport report(process_);
  report.AddFact("driver", features_.name);
  report.AddElection(election_.get());
  report.AddCalls(*channel_);
  if (controller_) {
    controller_->ForEachQueue([&](const char* title, const kube::WorkQueue& queue,
                                  const auto& name_of) { report.AddQueue(queue, name_of, title); });
    controller_->caches().ForEachInformer([&](const auto& informer) { report.AddWatch(informer); });
  }
  return report.Take();
}

async::Task<bool> Program::AskDriver() {
  std::string failure;
  auto features = co_await ReadDriverFeatures(channel_.get(), driver_, &failure);
  if (!features.ok()) {
    process_.log().Error(features.status(), failure, "driver", driver_);
    process_.Exit(1);
    co_return false;
  }
  features_ = *std::move(features);
  if (!features_.publish_unpublish_volume) {
    process_.log().V(2).Info(
        "CSI driver does not support ControllerPublishVolume, using the trivial handler");
    co_return true;
  }
  process_.log().V(2).Info("CSI driver supports ControllerPublishVolume, using the CSI handler");
  co_return true;
}

bool Program::PrepareElection() {
  const cli::CommonFlags& flags = options_.common;
  if (!flags.leader_election) return true;
  // A rate limit and connections of its own, so that renewals never wait behind the controllers.
  auto client = api_->NewElectionClient(flags.kube_api_qps, flags.kube_api_burst);
  if (!client.ok()) return Fail(client.status(), "Failed to create the leader election client");
  election_client_ = *std::move(client);
  sidecar::ElectionOptions election = sidecar::ElectionFromFlags(
      process_, flags, StrCat("external-attacher-leader-", features_.name));
  election.release_on_exit = gates_.Enabled(cli::gate::kReleaseLeaderElectionOnExit);
  election_ = std::make_unique<sidecar::Election>(process_, *election_client_, std::move(election));
  if (server_ && !flags.http_endpoint.empty()) {
    Status added =
        serve::HandleLeaderElectionHealth(server_->mux(), [this] { return election_->Health(); });
    if (!added.ok()) process_.Panic(added.message());
  }
  return true;
}

void Program::BuildController() {
  AttachController::Deps deps;
  deps.loop = &process_.loop();
  deps.random = &process_.random();
  deps.client = client_.get();
  leading_channel_.emplace(
      *channel_, [this] { return sidecar::CheckMayAct(election_.get()).status(); },
      sidecar::kLastCalls);
  deps.channel = &*leading_channel_;
  migrated_channel_.emplace(*channel_);
  leading_migrated_channel_.emplace(
      *migrated_channel_, [this] { return sidecar::CheckMayAct(election_.get()).status(); },
      sidecar::kLastCalls);
  deps.migrated_channel = &*leading_migrated_channel_;
  deps.registry = &process_.metrics();
  deps.log = process_.log();
  deps.features = features_;
  deps.config = options_.ToConfig(gates_);
  controller_ = std::make_unique<AttachController>(std::move(deps));
}

}  // namespace csinative::attacher
