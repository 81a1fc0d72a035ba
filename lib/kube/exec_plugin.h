// SPDX-License-Identifier: Apache-2.0
//
// Credentials from a plugin: an external program that prints a token or a certificate (kube-client
// 5). They are kept until they expire or the server rejects them. Loop only; the program runs
// beside the loop.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "lib/async/task.h"
#include "lib/async/waiter.h"
#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/kube/command_runner.h"
#include "lib/kube/exec_config.h"

namespace csinative::kube {

// At most `threshold` times in each interval, counted from its first use.
class Sometimes {
 public:
  Sometimes(const Clock& clock, int threshold, Duration interval)
      : clock_(&clock), threshold_(threshold), interval_(interval) {}
  bool Allow();

 private:
  const Clock* clock_;
  int threshold_;
  Duration interval_;
  std::optional<MonotonicTime> window_;
  int count_ = 0;
};

struct ExecCredential {
  std::string token;            // empty: none
  std::string certificate_pem;  // both or none
  std::string key_pem;
  std::optional<WallTime> expires;
};

// What a plugin printed. kInvalidArgument for what is no answer in the version that was asked for.
Result<ExecCredential> ParseExecCredential(std::string_view output, std::string_view api_version);

class ExecPlugin {
 public:
  struct Options {
    bool stdin_is_terminal = false;
  };
  // kInvalidArgument for a version that is not known. Borrowed: clock and runner.
  static Result<std::unique_ptr<ExecPlugin>> Create(const Clock& clock, CommandRunner& runner,
                                                    ExecConfig config,
                                                    std::optional<ExecCluster> cluster,
                                                    Options options);

  // Changes with the credentials: whoever used others has to reconnect.
  struct Current {
    ExecCredential credential;
    uint64_t generation = 0;
  };
  // The credentials, from the program if there are none or they expired. One run at a time;
  // whoever asks meanwhile gets its result.
  async::Task<Result<Current>> Get();
  // The server rejected the credentials of that generation: the next Get() runs the program.
  void OnUnauthorized(uint64_t generation);

 private:
  ExecPlugin(const Clock& clock, CommandRunner& runner, ExecConfig config,
             std::optional<ExecCluster> cluster, Options options);
  bool Usable() const;
  async::Task<Status> Refresh();
  Status Explain(const Status& failure);

  const Clock& clock_;
  CommandRunner& runner_;
  const ExecConfig config_;
  const std::optional<ExecCluster> cluster_;
  const Options options_;
  Sometimes hints_;
  std::optional<ExecCredential> cached_;
  uint64_t generation_ = 0;
  bool running_ = false;
  async::WaiterList waiting_;
};

// What the plugin of this configuration is told about the server. Reads the authority file;
// kInvalidArgument if that is impossible.
struct RestConfig;
Result<std::optional<ExecCluster>> ExecClusterOf(const RestConfig& config);

}  // namespace csinative::kube
