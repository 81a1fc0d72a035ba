// SPDX-License-Identifier: Apache-2.0
#include "cmd/volumemanager/program.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include "cmd/volumemanager/debug.h"
#include "cmd/volumemanager/paths.h"
#include "lib/base/strings.h"
#include "lib/kube/config.h"
#include "lib/metrics/process_collector.h"
#include "lib/sidecar/debug_report.h"

namespace csinative::volumemanager {
namespace {

async::Task<void> RunManager(VolumeManager* manager, Status* result) {
  *result = co_await manager->Run();
}

}  // namespace

bool Program::Fail(const Status& status, std::string text) {
  process_.log().Error(status, text);
  process_.Exit(1);
  return false;
}

async::Task<int> Program::Run() {
  if (!FindNodeName() || !OpenRoot() || !LockRoot()) co_return 1;
  Status shared = fs_->ShareRoot();
  if (!shared.ok()) {
    Fail(shared, "Failed to make the root folder a shared mount, which needs CAP_SYS_ADMIN");
    co_return 1;
  }
  if (!ConnectToApi() || !Serve()) co_return 1;
  auto watch = InotifyWatch::Start(process_.loop());
  if (!watch.ok()) {
    Fail(watch.status(), "Failed to watch for plugins");
    co_return 1;
  }
  watch_ = *std::move(watch);
  connector_ = std::make_unique<Connector>(process_.loop(), process_.metrics(), process_.log());
  manager_ =
      std::make_unique<VolumeManager>(VolumeManager::Deps{.loop = &process_.loop(),
                                                          .random = &process_.random(),
                                                          .client = client_.get(),
                                                          .event_client = event_client_.get(),
                                                          .fs = fs_.get(),
                                                          .blocking = &disk_,
                                                          .watch = watch_.get(),
                                                          .connector = connector_.get(),
                                                          .config = options_.ToConfig(node_),
                                                          .log = process_.log()});
  Status result;
  const async::TaskContext context = co_await async::CurrentContext();
  async::Scope scope(process_.loop(), context.cancel);
  StopOnSignal(&scope);
  scope.Spawn(RunManager(manager_.get(), &result));
  co_await scope.Join();
  if (!result.ok() && !IsCancelled(result)) {
    Fail(result, "Failed to prepare the root folder");
    co_return 1;
  }
  co_return 0;
}

void Program::StopOnSignal(async::Scope* scope) {
  process_.real_loop().OnSignal({SIGTERM, SIGINT}, [this, scope](int) {
    process_.log().Info("Stopping; volumes stay mounted");
    scope->Cancel();
  });
}

bool Program::FindNodeName() {
  node_ = options_.hostname_override;
  if (node_.empty()) node_ = process_.GetEnv("NODE_NAME").value_or("");
  if (node_.empty()) node_ = ToLower(process_.HostName());
  node_ = std::string(TrimSpace(node_));
  if (!node_.empty()) return true;
  return Fail(InvalidArgumentError("the host has no name"),
              "Failed to find the name of this node; set --hostname-override");
}

bool Program::OpenRoot() {
  auto fs = mount::RealFileSystem::Open(options_.root_dir);
  if (!fs.ok()) return Fail(fs.status(), "Failed to open the root folder");
  fs_ = *std::move(fs);
  return true;
}

bool Program::LockRoot() {
  const std::string path = Paths(options_.root_dir).LockFile();
  lock_.reset(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock_.valid()) return Fail(OsStatus(errno, StrCat("open ", path)), "Failed to lock");
  if (::flock(lock_.get(), LOCK_EX | LOCK_NB) == 0) return true;
  return Fail(OsStatus(errno, StrCat("lock ", path)),
              "Another volume manager uses this root folder");
}

bool Program::ConnectToApi() {
  kube::ConfigSources sources;
  sources.kubeconfig = options_.kubeconfig;
  const auto qps = static_cast<double>(options_.kube_api_qps);
  auto api = sidecar::ConnectApi(process_, sources, qps);
  if (!api.ok()) return Fail(api.status(), "Failed to create the API client's configuration");
  api_ = *std::move(api);
  auto client = api_->NewClient(qps, options_.kube_api_burst);
  if (!client.ok()) return Fail(client.status(), "Failed to create the API client");
  client_ = *std::move(client);
  auto events = api_->NewClient(static_cast<double>(options_.event_qps), options_.event_burst);
  if (!events.ok()) return Fail(events.status(), "Failed to create the client for events");
  event_client_ = *std::move(events);
  return true;
}

bool Program::Serve() {
  if (options_.http_endpoint.empty()) return true;
  metrics::AddProcessCollector(process_.metrics(), process_.loop(), {});
  auto server = sidecar::Diagnostics::Start(
      process_, {.address = options_.http_endpoint, .metrics_path = options_.metrics_path});
  if (!server.ok()) {
    process_.log().Error(server.status(), "Failed to start the HTTP server", "address",
                         options_.http_endpoint, "path", options_.metrics_path);
    process_.Exit(1);
    return false;
  }
  server_ = *std::move(server);
  // A metrics path of that name has been there first.
  (void)serve::HandleDebug(server_->mux(), [this] { return TakeSnapshot(); });
  process_.log().Info("ServeMux listening", "address", options_.http_endpoint);
  return true;
}

serve::DebugSnapshot Program::TakeSnapshot() {
  sidecar::DebugReport report(process_);
  report.AddFact("node", node_);
  report.AddFact("root folder", options_.root_dir);
  if (connector_) report.AddCalls(connector_->calls());
  if (manager_) AddVolumes(*manager_, &report);
  return report.Take();
}

}  // namespace csinative::volumemanager
