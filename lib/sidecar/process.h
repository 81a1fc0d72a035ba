// SPDX-License-Identifier: Apache-2.0
//
// Everything one program has from its surroundings: loop, clock, randomness, log, metrics, threads
// for blocking calls, environment and the way out. There are no mutable globals, so that one test
// or simulation can hold many processes. Loop only, except where said.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/async/blocking.h"
#include "lib/async/event_loop.h"
#include "lib/async/real_loop.h"
#include "lib/async/task.h"
#include "lib/base/random.h"
#include "lib/log/backend.h"
#include "lib/log/logger.h"
#include "lib/metrics/registry.h"

namespace csinative::sidecar {

class Process {
 public:
  virtual ~Process() = default;

  virtual async::EventLoop& loop() = 0;
  virtual Random& random() = 0;
  virtual log::Backend& log_backend() = 0;
  virtual metrics::Registry& metrics() = 0;
  virtual async::BlockingExecutor& blocking() = 0;
  virtual std::optional<std::string> GetEnv(const std::string& name) = 0;
  virtual std::string HostName() = 0;  // of the kernel, not of the environment

  // Ends the process with this code. Production does not return from it; a simulated process is
  // discarded at the next step, so nothing of consequence may follow a call.
  virtual void Exit(int code) = 0;

  // Begins the program again from its first line, with the same arguments, under the same process
  // id: to whoever watches the process it goes on. Does not return. Where there is no such thing it
  // ends with exit code 1, for somebody to start it again.
  virtual void StartAnew() { Exit(1); }

  const log::Logger& log() const { return log_; }
  // argv[0], and its last path element.
  const std::string& program() const { return program_; }
  std::string program_name() const;

  // klog's fatal: one F record, exit 255 (common 5.9).
  void Fatal(std::string text);
  // What a Go panic shows of itself: a raw line on stderr, exit 2 (common 17.2).
  void Panic(std::string text);

 protected:
  log::Logger log_;
  std::string program_;
};

// The process that production runs: the machine's clock and randomness, stderr, real exit.
class RealProcess final : public Process {
 public:
  // Installs the default signal handling (signals.h) and raises the limit of open files.
  // `shared` as for RealLoop.
  RealProcess(int argc, char** argv, boost::asio::io_context* shared = nullptr);
  ~RealProcess() override;

  async::EventLoop& loop() override { return loop_; }
  Random& random() override { return *random_; }
  log::Backend& log_backend() override { return *backend_; }
  metrics::Registry& metrics() override { return metrics_; }
  async::BlockingExecutor& blocking() override { return pool_; }
  std::optional<std::string> GetEnv(const std::string& name) override;
  std::string HostName() override;
  void Exit(int code) override;
  void StartAnew() override;

  async::RealLoop& real_loop() { return loop_; }
  // Arguments without argv[0].
  const std::vector<const char*>& arguments() const { return arguments_; }

  // Runs the program's task on the loop and exits with its result: does not return.
  [[noreturn]] void Run(async::Task<int> main_task);

 private:
  char** const argv_;
  std::vector<const char*> arguments_;
  std::shared_ptr<log::Backend> backend_;
  std::unique_ptr<Random> random_;
  metrics::Registry metrics_;
  async::ThreadPool pool_{4};
  async::RealLoop loop_;
};

}  // namespace csinative::sidecar
