// SPDX-License-Identifier: Apache-2.0
//
// csi-node-driver-registrar after its flags are read: learns the driver's name and then answers
// the kubelet until it is told to end (registrar 3.2). Loop only.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cmd/registrar/driver_watch.h"
#include "cmd/registrar/health.h"
#include "cmd/registrar/options.h"
#include "cmd/registrar/registration_service.h"
#include "cmd/registrar/registration_socket.h"
#include "lib/async/task.h"
#include "lib/csi/observed_channel.h"
#include "lib/http/server.h"
#include "lib/rpc/channel.h"
#include "lib/rpc/server.h"
#include "lib/serve/debug_page.h"
#include "lib/serve/mux.h"
#include "lib/sidecar/process.h"

namespace csinative::registrar {

class Program {
 public:
  // Borrowed: both outlive the program.
  Program(sidecar::RealProcess& process, const Options& options)
      : process_(process), options_(options) {}

  // The exit code, if it ends at all: normally a signal or the kubelet's refusal ends the process.
  async::Task<int> Run();

 private:
  // Each ends the process when it fails, as registrar 3.2 says.
  async::Task<bool> LearnDriverName();
  bool Listen();
  // The server alone; logs why not.
  bool StartRegistration();
  bool ServeHttp();
  // From here on SIGTERM takes the registration back.
  void HandleSigterm();
  void TakeBack();

  // The driver at the address says that it is another one: its registration goes, exit 1.
  // Differs: upstream does not look at the driver again (docs/compatibility.md).
  void TakeBackRenamed(const std::string& name);

  // Makes the socket again when somebody has removed it. Ends when it is cancelled.
  // Differs: --recreate-socket is not in upstream (docs/compatibility.md).
  async::Task<void> KeepSocket();

  async::Task<Result<std::unique_ptr<csi::ObservedChannel>>> DialDriver();
  async::Task<Result<std::string>> AskName(rpc::Channel* channel);
  async::Task<Result<std::string>> DialAndAskName();
  async::Task<Result<std::string>> AskAgain();
  // One error record, exit 1.
  bool Fail(const Status& status, std::string text);
  async::Task<void> AnswerHealth(http::ResponseWriter* writer);
  serve::DebugSnapshot TakeSnapshot();

  sidecar::RealProcess& process_;
  const Options& options_;
  std::string driver_;
  // For /debug.
  struct Asked {
    std::string answer;  // of the driver, or of the last health check
    MonotonicTime when{};
  };
  const std::shared_ptr<csi::ObservedChannel::Calls> calls_ =
      std::make_shared<csi::ObservedChannel::Calls>();
  std::optional<Asked> driver_asked_;
  std::optional<Asked> health_asked_;
  std::optional<DriverWatch> watch_;
  std::optional<RegistrationSocket> socket_;
  std::optional<RegistrationService> service_;
  std::unique_ptr<rpc::Server> registration_;  // null while the socket cannot be made again
  std::optional<HealthCheck> health_;
  serve::Mux mux_;
  std::unique_ptr<http::Server> http_;
};

}  // namespace csinative::registrar
