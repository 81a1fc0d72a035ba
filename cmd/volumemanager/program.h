// SPDX-License-Identifier: Apache-2.0
//
// csi-volume-manager after its flags are read (volumemanager 19.8): lock, root folder, API server,
// metrics, and the controllers until the process is told to end. Loop only.
#pragma once

#include <memory>
#include <string>

#include "cmd/volumemanager/connector.h"
#include "cmd/volumemanager/inotify_watch.h"
#include "cmd/volumemanager/options.h"
#include "cmd/volumemanager/volume_manager.h"
#include "lib/async/blocking.h"
#include "lib/base/unique_fd.h"
#include "lib/mount/real_file_system.h"
#include "lib/serve/debug_page.h"
#include "lib/sidecar/api_clients.h"
#include "lib/sidecar/diagnostics.h"
#include "lib/sidecar/process.h"

namespace csinative::volumemanager {

class Program {
 public:
  // Borrowed: both outlive the program.
  Program(sidecar::RealProcess& process, const Options& options)
      : process_(process), options_(options) {}

  // The exit code.
  async::Task<int> Run();

 private:
  // Each ends the process with 1 when it fails.
  bool FindNodeName();
  bool OpenRoot();
  bool LockRoot();
  bool ConnectToApi();
  bool Serve();
  serve::DebugSnapshot TakeSnapshot();
  void StopOnSignal(async::Scope* scope);
  bool Fail(const Status& status, std::string text);

  sidecar::RealProcess& process_;
  const Options& options_;
  std::string node_;
  UniqueFd lock_;
  std::unique_ptr<mount::RealFileSystem> fs_;
  // More threads than the shared pool has: each dead mount can hold one.
  async::ThreadPool disk_{16};
  std::unique_ptr<sidecar::ApiClients> api_;
  std::unique_ptr<kube::Client> client_;
  std::unique_ptr<kube::Client> event_client_;
  std::unique_ptr<sidecar::Diagnostics> server_;
  std::unique_ptr<InotifyWatch> watch_;
  std::unique_ptr<Connector> connector_;
  std::unique_ptr<VolumeManager> manager_;
};

}  // namespace csinative::volumemanager
