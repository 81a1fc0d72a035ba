// SPDX-License-Identifier: Apache-2.0
#include "cmd/provisioner/program.h"

#include <utility>

#include "cmd/provisioner/startup.h"
#include "lib/async/timeout.h"
#include "lib/base/go_quote.h"
#include "lib/base/strings.h"
#include "lib/csi/identity.h"
#include "lib/kube/config.h"
#include "lib/metrics/process_collector.h"
#include "lib/serve/debug_page.h"
#include "lib/serve/endpoints.h"
#include "lib/serve/pprof.h"
#include "lib/sidecar/debug_report.h"
#include "lib/sidecar/driver.h"
#include "lib/sidecar/leading.h"
#include "lib/translation/translate.h"

namespace csinative::provisioner {
async::Task<int> Program::Run() {
  const bool api = co_await ConnectToApi();
  if (!api) co_return 255;
  const bool driver = co_await ConnectToDriver();
  if (!driver) co_return 1;
  const bool asked = co_await AskDriver();
  if (!asked) co_return 255;
  if (!PrepareElection() || !Serve()) co_return 255;
  BuildController();
  co_await controller_->Prepare();
  const auto ending = gates_.Enabled(cli::gate::kReleaseLeaderElectionOnExit)
                          ? sidecar::Ending::kAtSignal
                          : sidecar::Ending::kAtOnce;
  co_return co_await sidecar::RunAsLeader(&process_, election_.get(), ending,
                                          [this] { return controller_->Run(); });
}

async::Task<bool> Program::ConnectToApi() {
  kube::ConfigSources sources;
  sources.master = options_.master;
  sources.kubeconfig = options_.common.kubeconfig;
  if (auto env = process_.GetEnv("KUBECONFIG"); env && !env->empty()) {
    process_.log().Infof("Found KUBECONFIG environment variable set, using that..");
    sources.kubeconfig = *env;
  }
  if (!sources.master.empty() || !sources.kubeconfig.empty()) {
    process_.log().Infof("Either master or kubeconfig specified. building kube config from that..");
  } else {
    process_.log().Infof("Building kube configs for running in cluster...");
  }
  auto api = sidecar::ConnectApi(process_, sources, options_.common.kube_api_qps);
  if (!api.ok()) {
    process_.Fatal(StrCat("Failed to create config: ", api.status().message()));
    co_return false;
  }
  api_ = *std::move(api);
  // Differs: upstream sends events through the same limit, so that they hold up the volumes.
  for (std::unique_ptr<kube::Client>* out : {&client_, &event_client_}) {
    auto client = api_->NewClient(options_.common.kube_api_qps, options_.common.kube_api_burst,
                                  [this] { return sidecar::CheckMayAct(election_.get()); });
    if (!client.ok()) {
      process_.Fatal(StrCat("Failed to create client: ", client.status().message()));
      co_return false;
    }
    *out = *std::move(client);
  }
  if (!gates_.ExplicitlySet(cli::gate::kVolumeAttributesClass)) {
    const bool lacks = co_await LacksAttributesClass(client_.get());
    if (lacks) gates_.SetDefault(cli::gate::kVolumeAttributesClass, false);
  }
  co_return true;
}

async::Task<bool> Program::ConnectToDriver() {
  operations_ = std::make_shared<metrics::CsiOperations>(process_.metrics());
  return Connect();
}

async::Task<bool> Program::Connect() {
  auto connected = co_await sidecar::ConnectDriver(
      &process_, options_.common.csi_address, {.log = process_.log(), .operations = operations_});
  if (!connected.ok()) {
    process_.log().Errorf("{}", connected.status().message());
    process_.Exit(1);
    co_return false;
  }
  channel_ = *std::move(connected);
  Status ready = co_await csi::WaitUntilReady(*channel_, options_.timeout, process_.log());
  if (!ready.ok()) {
    process_.log().Errorf("{}", ready.message());
    process_.Exit(1);
    co_return false;
  }
  co_return true;
}

async::Task<bool> Program::AskDriver() {
  auto name = co_await async::WithTimeout(options_.timeout, csi::GetDriverName(*channel_));
  if (!name.ok()) {
    process_.Fatal(StrCat("Error getting CSI driver name: ", name.status().message()));
    co_return false;
  }
  process_.log().V(2).Infof("Detected CSI driver {}", *name);
  operations_->SetDriverName(*name);
  if (translation::ReplacesInTreePlugin(*name)) {
    process_.log().V(2).Infof("Supports migration from in-tree plugin: {}",
                              translation::InTreePluginOf(*name));
    // Upstream: a connection of its own for calls that are told apart in metrics. What was measured
    // before is gone.
    channel_.reset();
    process_.metrics().RemoveFamily("csi_sidecar_operations_seconds");
    operations_ = std::make_shared<metrics::CsiOperations>(
        process_.metrics(), metrics::CsiOperations::Options{.varying_labels = {"migrated"}});
    operations_->SetDriverName(*name);
    const bool connected = co_await Connect();
    if (!connected) co_return false;
  }
  auto features = co_await ReadDriverFeatures(channel_.get(), *name, options_.timeout);
  if (!features.ok()) {
    process_.Fatal(StrCat("Error getting CSI driver capabilities: ", features.status().message()));
    co_return false;
  }
  features_ = *std::move(features);
  if (features_.publish_unpublish_volume) {
    process_.log().Infof(
        "CSI driver supports PUBLISH_UNPUBLISH_VOLUME, watching VolumeAttachments");
  } else {
    process_.log().Infof(
        "CSI driver does not support PUBLISH_UNPUBLISH_VOLUME, not watching VolumeAttachments");
  }
  co_return true;
}

bool Program::PrepareElection() {
  const cli::CommonFlags& flags = options_.common;
  if (!flags.leader_election) return true;
  // A rate limit and connections of its own, so that renewals never wait behind the controllers.
  auto client = api_->NewElectionClient(flags.kube_api_qps, flags.kube_api_burst);
  if (!client.ok()) {
    process_.log().Error(client.status(), "Failed to create leader election client");
    process_.Exit(1);
    return false;
  }
  election_client_ = *std::move(client);
  sidecar::ElectionOptions election = sidecar::ElectionFromFlags(process_, flags, features_.name);
  election.release_on_exit = gates_.Enabled(cli::gate::kReleaseLeaderElectionOnExit);
  election_ = std::make_unique<sidecar::Election>(process_, *election_client_, std::move(election));
  return true;
}

bool Program::Serve() {
  const cli::CommonFlags& flags = options_.common;
  if (flags.listen_address().empty()) return true;
  // Upstream's help texts and answers differ here from those of the other sidecars (common 9.4).
  metrics::AddProcessCollector(process_.metrics(), process_.loop(), {.start_time_help_prefix = ""});
  auto server = sidecar::Diagnostics::Start(process_, {.address = flags.listen_address(),
                                                       .metrics_path = flags.metrics_path,
                                                       .start_time_header = false,
                                                       .scrape_metrics = true});
  if (!server.ok()) {
    process_.Fatal(StrCat("Failed to start HTTP server at specified address (",
                          GoQuote(flags.listen_address()), ") and metrics path (",
                          GoQuote(flags.metrics_path), "): ", server.status().message()));
    return false;
  }
  server_ = *std::move(server);
  if (election_ && !flags.http_endpoint.empty()) {
    Status added =
        serve::HandleLeaderElectionHealth(server_->mux(), [this] { return election_->Health(); });
    if (!added.ok()) process_.Panic(added.message());
  }
  if (options_.enable_pprof) {
    Status added = serve::HandlePprof(server_->mux());
    if (!added.ok()) process_.Panic(added.message());
  }
  if (!flags.http_endpoint.empty()) {
    // A metrics path of that name has been there first.
    (void)serve::HandleDebug(server_->mux(), [this] {
      sidecar::DebugReport report(process_);
      report.AddFact("driver", features_.name);
      report.AddElection(election_.get());
      report.AddCalls(*channel_);
      if (controller_) {
        controller_->ForEachQueue([&](const kube::WorkQueue& queue, const auto& name_of) {
          report.AddQueue(queue, name_of);
        });
        controller_->caches().ForEachInformer(
            [&](const auto& informer) { report.AddWatch(informer); });
      }
      return report.Take();
    });
  }
  process_.log().Infof("ServeMux listening at {}", GoQuote(flags.listen_address()));
  return true;
}

void Program::BuildController() {
  ProvisionController::Deps deps;
  deps.loop = &process_.loop();
  deps.random = &process_.random();
  deps.client = client_.get();
  deps.event_client = event_client_.get();
  leading_channel_.emplace(
      *channel_, [this] { return sidecar::CheckMayAct(election_.get()).status(); },
      sidecar::kLastCalls);
  deps.channel = &*leading_channel_;
  deps.registry = &process_.metrics();
  deps.log = process_.log();
  deps.host_name = process_.HostName();
  migrated_channel_.emplace(*channel_);
  leading_migrated_channel_.emplace(
      *migrated_channel_, [this] { return sidecar::CheckMayAct(election_.get()).status(); },
      sidecar::kLastCalls);
  deps.migrated_channel = &*leading_migrated_channel_;
  deps.names = {features_.name, std::string(translation::InTreePluginOf(features_.name))};
  deps.features = features_;
  deps.config = options_.ToConfig(gates_);
  deps.identity = ProcessIdentity(process_.loop(), process_.random(), features_.name);
  controller_ = std::make_unique<ProvisionController>(std::move(deps));
}

}  // namespace csinative::provisioner
