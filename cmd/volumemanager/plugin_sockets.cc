// SPDX-License-Identifier: Apache-2.0
#include "cmd/volumemanager/plugin_sockets.h"

#include <utility>

#include "lib/async/timeout.h"
#include "lib/base/strings.h"
#include "lib/csi/calls.h"
#include "lib/kube/rate_limiter.h"
#include "proto/pluginregistration/v1/api.pb.h"

namespace csinative::volumemanager {
namespace {

using ::pluginregistration::InfoRequest;
using ::pluginregistration::PluginInfo;
using ::pluginregistration::RegistrationStatus;
using ::pluginregistration::RegistrationStatusResponse;

constexpr char kGetInfo[] = "/pluginregistration.Registration/GetInfo";
constexpr char kNotify[] = "/pluginregistration.Registration/NotifyRegistrationStatus";
constexpr char kCsiPluginType[] = "CSIPlugin";

// kubelet's plugin manager (volumemanager-csi 14).
constexpr Duration kDialLimit = std::chrono::seconds(10);
constexpr Duration kInfoLimit = std::chrono::seconds(1);
constexpr Duration kNotifyLimit = std::chrono::seconds(5);
constexpr Duration kNodeInfoLimit = std::chrono::minutes(2);
constexpr Duration kFirstRetry = std::chrono::milliseconds(500);
constexpr Duration kLongestRetry = std::chrono::seconds(122);
constexpr int kWorkers = 4;
constexpr int kMaxDepth = 4;

DriverNodeInfo FromResponse(const ::csi::v1::NodeGetInfoResponse& response) {
  DriverNodeInfo info;
  info.node_id = response.node_id();
  info.max_volumes = response.max_volumes_per_node();
  for (const auto& [key, value] : response.accessible_topology().segments()) {
    info.topology[key] = value;
  }
  return info;
}

}  // namespace

PluginSockets::PluginSockets(Deps deps)
    : deps_(std::move(deps)),
      paths_(deps_.root),
      queue_(*deps_.loop,
             {.limiter = std::make_shared<kube::ExponentialLimiter>(kFirstRetry, kLongestRetry)}) {}

async::Task<void> PluginSockets::Run() {
  const async::TaskContext context = co_await async::CurrentContext();
  async::Scope scope(*deps_.loop, context.cancel);
  scope.Spawn(Watch());
  scope.Spawn(kube::RunWorkers(&queue_, kWorkers,
                               [this](std::string path) { return Sync(std::move(path)); }));
  co_await scope.Join();
}

void PluginSockets::ScanDirectory(mount::FileSystem& fs, const std::string& directory, int depth,
                                  Scan* scan) {
  scan->directories.push_back(directory);
  const auto entries = fs.List(directory);
  if (!entries.ok()) return;
  for (const mount::DirectoryEntry& entry : *entries) {
    if (entry.name.starts_with('.')) continue;
    const std::string path = StrCat(directory, "/", entry.name);
    if (entry.type == mount::FileType::kDirectory && depth < kMaxDepth) {
      ScanDirectory(fs, path, depth + 1, scan);
    } else if (entry.type == mount::FileType::kSocket) {
      const auto info = fs.Stat(path);
      if (info.ok()) scan->sockets[path] = {info->inode, info->changed_ns};
    }
  }
}

async::Task<void> PluginSockets::Rescan() {
  auto scan = co_await async::Blocking(
      *deps_.blocking, [fs = deps_.fs, directory = paths_.Registry()]() -> Result<Scan> {
        Scan found;
        ScanDirectory(*fs, directory, 0, &found);
        return found;
      });
  if (!scan.ok()) co_return;
  deps_.watch->Watch(scan->directories);
  for (auto& [path, socket] : sockets_) {
    if (!scan->sockets.contains(path) && socket.seen) {
      socket.seen.reset();
      queue_.Forget(path);
      queue_.Add(path);
    }
  }
  for (const auto& [path, identity] : scan->sockets) {
    Socket& socket = sockets_[path];
    if (socket.seen == identity) continue;
    socket.seen = identity;
    queue_.Forget(path);
    queue_.Add(path);
  }
}

async::Task<void> PluginSockets::Watch() {
  for (;;) {
    // Watches are set before the folder is listed for good, so that nothing is missed in between.
    deps_.watch->Watch({paths_.Registry()});
    co_await Rescan();
    (void)co_await async::WithTimeout(deps_.rescan, deps_.watch->WaitForChange());
    Status running = co_await async::CancellationStatus();
    if (!running.ok()) break;
  }
  queue_.ShutDown();
}

async::Task<Status> PluginSockets::Sync(std::string path) {
  CSI_CO_RETURN_IF_ERROR(co_await async::CancellationStatus());
  const auto found = sockets_.find(path);
  if (found == sockets_.end()) co_return Status();
  const std::optional<Identity> wanted = found->second.seen;
  if (found->second.registered == wanted) {
    if (!wanted) sockets_.erase(found);
    co_return Status();
  }
  if (found->second.registered) {
    const std::string driver = std::exchange(found->second.driver, "");
    found->second.registered.reset();
    co_await Deregister(driver);
  }
  if (wanted) co_return co_await Register(path, *wanted);
  queue_.Add(path);  // forgets the socket, unless it has come back
  co_return Status();
}

async::Task<Status> PluginSockets::Notify(std::shared_ptr<rpc::Channel> plugin, Status result) {
  RegistrationStatus status;
  status.set_plugin_registered(result.ok());
  if (!result.ok()) status.set_error(result.message());
  RegistrationStatusResponse response;
  co_return co_await async::WithTimeout(kNotifyLimit, plugin->Call(kNotify, status, &response));
}

async::Task<Status> PluginSockets::Register(std::string path, Identity identity) {
  auto plugin = co_await async::WithTimeout(kDialLimit, deps_.connector->ConnectPlugin(path));
  if (!plugin.ok()) {
    Status failure =
        plugin.status().WithContext(StrCat("RegisterPlugin error -- dial failed at socket ", path));
    deps_.log.Error(failure, "Failed to register plugin", "path", path);
    co_return failure;
  }
  PluginInfo info;
  const InfoRequest request;
  Status asked = co_await async::WithTimeout(kInfoLimit, (*plugin)->Call(kGetInfo, request, &info));
  if (!asked.ok()) {
    Status failure = asked.WithContext(StrCat(
        "RegisterPlugin error -- failed to get plugin info using RPC GetInfo at socket ", path));
    deps_.log.Error(failure, "Failed to register plugin", "path", path);
    co_return failure;
  }
  if (info.type() != kCsiPluginType) {
    // Plugins of devices and the like belong to the container agent.
    deps_.log.V(2).Info("Ignoring a plugin that is no CSI driver", "path", path, "type",
                        info.type());
    co_return Status();
  }
  const std::string endpoint = info.endpoint().empty() ? path : info.endpoint();
  const std::vector<std::string> versions(info.supported_versions().begin(),
                                          info.supported_versions().end());
  auto version = ChooseVersion(versions);
  Status result = version.status();
  if (result.ok()) result = deps_.drivers->CheckNew(info.name(), *version);
  if (!result.ok()) {
    result =
        result.WithContext(StrCat("RegisterPlugin error -- plugin validation failed with err: "
                                  "kubernetes.io/csi: validation failed for CSI Driver ",
                                  info.name(), " at endpoint ", endpoint));
  } else {
    result = co_await RegisterDriver(info.name(), endpoint, *version);
    result = result.WithContext("RegisterPlugin error -- plugin registration failed with err");
  }
  CSI_CO_RETURN_IF_ERROR(co_await async::CancellationStatus());
  Status told = co_await Notify(*plugin, result);
  if (!told.ok()) {
    deps_.log.Error(told, "Failed to tell the plugin its registration status", "path", path);
  }
  if (!result.ok()) {
    deps_.log.Error(result, "Failed to register plugin", "path", path, "driver", info.name());
    co_return result;
  }
  const auto found = sockets_.find(path);
  if (found != sockets_.end()) {
    found->second.registered = identity;
    found->second.driver = info.name();
    // It may have gone meanwhile.
    if (found->second.seen != identity) queue_.Add(path);
  }
  deps_.log.Info("Registered CSI driver", "driver", info.name(), "endpoint", endpoint, "version",
                 *version);
  co_return Status();
}

async::Task<Status> PluginSockets::RegisterDriver(std::string name, std::string endpoint,
                                                  std::string version) {
  if (!mount::IsPathComponent(name)) {
    co_return InvalidArgumentError(StrCat("not a driver name: \"", name, "\""));
  }
  auto channel =
      co_await async::WithTimeout(kDialLimit, deps_.connector->ConnectDriver(endpoint, name));
  if (!channel.ok()) co_return channel.status();
  auto answer = co_await async::WithTimeout(
      kNodeInfoLimit,
      csi::Call<::csi::v1::NodeGetInfoRequest>(**channel, ::csi::v1::NodeGetInfoRequest()));
  if (!answer.ok()) co_return answer.status();
  CSI_CO_RETURN_IF_ERROR(co_await deps_.node_info->Install(name, FromResponse(*answer)));
  // Somebody else may have registered the name meanwhile.
  Status still_new = deps_.drivers->CheckNew(name, version);
  if (still_new.ok()) {
    deps_.drivers->Add(name, {std::move(endpoint), std::move(version), *std::move(channel)});
  }
  co_return still_new;
}

async::Task<void> PluginSockets::Deregister(std::string driver) {
  if (driver.empty()) co_return;
  deps_.drivers->Remove(driver);
  deps_.log.Info("Deregistered CSI driver", "driver", driver);
  Status removed = co_await deps_.node_info->Uninstall(driver);
  if (!removed.ok() && !IsCancelled(removed)) {
    deps_.log.Error(removed, "Failed to remove the driver from the node", "driver", driver);
  }
}

}  // namespace csinative::volumemanager
