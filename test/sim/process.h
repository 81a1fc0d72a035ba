// SPDX-License-Identifier: Apache-2.0
//
// A simulated process: programs under test on a loop of their own, which can be thrown away at any
// moment and is started again a little later, as kubelet would. One thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "lib/async/scope.h"
#include "lib/base/random.h"
#include "lib/kube/client.h"
#include "lib/metrics/registry.h"
#include "test/sim/links.h"

namespace csinative::sim {

// Everything of one run of a process. A program derives from it and holds its controllers as
// members, so that they are destroyed before what they borrow.
class Program {
 public:
  struct Setup {
    Surroundings& world;
    apiserver::ApiHandler& api;
    IncarnationPtr incarnation;
    bool faulty;
    std::function<void()> exit;  // ends this run; it returns, and the loop is discarded soon
  };
  explicit Program(Setup setup);
  virtual ~Program() = default;

  // The program's life; returning from it is an exit.
  virtual async::Task<void> Run() = 0;

 protected:
  std::unique_ptr<kube::Client> NewClient(
      float qps, int burst, std::function<Result<MonotonicTime>()> before_write = nullptr);
  // Writes nothing unless the world watches logs; then everything, to be searched for secrets.
  const log::Logger& log() const { return log_; }
  async::VirtualLoop& loop() { return setup_.incarnation->loop; }

  Setup setup_;
  std::unique_ptr<Random> random_;
  std::unique_ptr<kube::ApiTransport> transport_;
  metrics::Registry registry_;

 private:
  log::Logger log_;
};

class SimProcess {
 public:
  using Factory = std::function<std::unique_ptr<Program>(Program::Setup)>;

  // Borrowed: world, api and scheduler outlive the process.
  SimProcess(std::string name, async::VirtualScheduler& scheduler, Surroundings& world,
             apiserver::ApiHandler& api, bool faulty, Factory factory);
  ~SimProcess();

  const std::string& name() const { return name_; }
  void Start();
  // Ends it now, wherever it is; it starts again after `pause`. Not from its own loop.
  void Crash(Duration pause);
  // Stops it as SIGSTOP does, for a while. Not from its own loop.
  void Pause(Duration pause);
  // Breaks its connections to the API server; no request gets through for a while.
  void CutOff(Duration duration);
  // Ends it for good. Not from its own loop.
  void Stop();
  bool running() const { return incarnation_ != nullptr; }
  bool Is(const IncarnationPtr& incarnation) const { return incarnation_ == incarnation; }

 private:
  void Discard();

  const std::string name_;
  async::VirtualScheduler& scheduler_;
  Surroundings& world_;
  apiserver::ApiHandler& api_;
  const bool faulty_;
  const Factory factory_;
  IncarnationPtr incarnation_;
  std::unique_ptr<Program> program_;
  std::unique_ptr<async::Scope> scope_;
  async::ScopedTimer restart_, resume_;
};

}  // namespace csinative::sim
