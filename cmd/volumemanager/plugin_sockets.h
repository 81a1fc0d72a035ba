// SPDX-License-Identifier: Apache-2.0
//
// Kubelet's side of plugin registration (volumemanager-csi 14): drivers announce themselves by a
// socket in plugins_registry; each is asked who it is, written into the API, and told the result.
// A socket that goes away takes its driver with it. Loop only.
//
// One operation at a time for each socket; a failure is repeated with growing delays. A socket that
// was replaced by another of the same name is deregistered first.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "cmd/volumemanager/directory_watch.h"
#include "cmd/volumemanager/driver_registry.h"
#include "cmd/volumemanager/node_info.h"
#include "cmd/volumemanager/paths.h"
#include "lib/async/blocking.h"
#include "lib/async/scope.h"
#include "lib/async/task.h"
#include "lib/kube/work_queue.h"
#include "lib/log/logger.h"
#include "lib/mount/file_system.h"
#include "lib/rpc/channel.h"

namespace csinative::volumemanager {

// Connects to sockets of plugins and drivers.
class PluginConnector {
 public:
  virtual ~PluginConnector() = default;
  // The registration service at this path. Fails at once where nobody listens, else waits.
  virtual async::Task<Result<std::shared_ptr<rpc::Channel>>> ConnectPlugin(std::string path) = 0;
  // The node service of a driver; comes back by itself when the driver has restarted.
  virtual async::Task<Result<std::shared_ptr<rpc::Channel>>> ConnectDriver(std::string path,
                                                                           std::string driver) = 0;
};

class PluginSockets {
 public:
  // Borrowed parts outlive this.
  struct Deps {
    async::EventLoop* loop;
    mount::FileSystem* fs;
    async::BlockingExecutor* blocking;
    DirectoryWatch* watch;
    PluginConnector* connector;
    DriverRegistry* drivers;
    NodeInfo* node_info;
    std::string root;
    Duration rescan = std::chrono::seconds(10);  // safety net
    log::Logger log;
  };
  explicit PluginSockets(Deps deps);

  // Until cancelled. Registered drivers stay registered in the API.
  async::Task<void> Run();

 private:
  // Which socket: another one of the same path differs.
  struct Identity {
    uint64_t inode = 0;
    int64_t changed_ns = 0;
    bool operator==(const Identity&) const = default;
  };
  struct Socket {
    std::optional<Identity> seen;        // by the last scan
    std::optional<Identity> registered;  // what was registered
    std::string driver;
  };
  using Found = std::map<std::string, Identity>;
  struct Scan {
    Found sockets;
    std::vector<std::string> directories;
  };

  static void ScanDirectory(mount::FileSystem& fs, const std::string& directory, int depth,
                            Scan* scan);
  async::Task<void> Rescan();
  async::Task<void> Watch();
  async::Task<Status> Sync(std::string path);
  async::Task<Status> Register(std::string path, Identity identity);
  async::Task<Status> RegisterDriver(std::string name, std::string endpoint, std::string version);
  async::Task<Status> Notify(std::shared_ptr<rpc::Channel> plugin, Status result);
  async::Task<void> Deregister(std::string driver);

  const Deps deps_;
  const Paths paths_;
  std::map<std::string, Socket> sockets_;  // by path
  kube::WorkQueue queue_;
};

}  // namespace csinative::volumemanager
