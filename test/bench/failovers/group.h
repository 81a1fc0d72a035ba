// SPDX-License-Identifier: Apache-2.0
//
// Three replicas of csi-attacher on an API server of their own, of which the leader is lost again
// and again. Loop only.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "lib/async/real_loop.h"
#include "lib/async/scope.h"
#include "lib/base/random.h"
#include "test/bench/failovers/load.h"
#include "test/bench/failovers/replica.h"
#include "test/bench/failovers/sample.h"
#include "test/support/apiserver/api_handler.h"

namespace csinative::failovers {

struct GroupOptions {
  std::string name;
  std::string dir;
  std::string bin_dir;
  std::string driver_socket;
  std::string volume_handle;
  Timing timing;
  uint64_t seed = 1;  // of the moments at which faults happen
};

class Group {
 public:
  // Borrowed: loop, random.
  Group(async::RealLoop& loop, Random& random, GroupOptions options);

  // Takes kinds from `work`, which groups share, until none is left. All objects outlive the task.
  async::Task<Status> Run(std::deque<Kind>* work, std::vector<Sample>* samples);

 private:
  async::Task<Status> Start();
  async::Task<Status> Work(std::deque<Kind>* work, std::vector<Sample>* samples);
  async::Task<Result<Sample>> FailOver(Kind kind);
  // Waits until there is a leader that works and the others have seen its lease.
  async::Task<Result<Replica*>> Settle();
  void Hit(Kind kind, Replica* leader);
  // What the old leader does once another leads.
  async::Task<Status> Aftermath(Kind kind, Replica* old, MonotonicTime hit, Sample* sample);
  async::Task<Status> Until(std::string what, std::function<bool()> done, Duration limit);
  // As stored; empty when nobody does.
  std::string Holder();

  async::RealLoop& loop_;
  const GroupOptions options_;
  std::unique_ptr<Random> chance_;
  apiserver::ApiHandler api_;
  const testing::CertificateAuthority authority_;
  const std::string token_;
  std::array<std::unique_ptr<Replica>, 3> replicas_;
  Load load_;
};

}  // namespace csinative::failovers
