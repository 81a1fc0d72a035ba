// SPDX-License-Identifier: Apache-2.0
//
// Collects what /debug shows (lib/serve/debug_page.h) from the parts of a controller. Made for one
// request and thrown away. Loop only.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "lib/csi/observed_channel.h"
#include "lib/kube/informer.h"
#include "lib/kube/work_queue.h"
#include "lib/serve/debug_page.h"
#include "lib/sidecar/debug_process.h"
#include "lib/sidecar/election.h"
#include "lib/sidecar/process.h"

namespace csinative::sidecar {

class DebugReport {
 public:
  // Of one queue; what is beyond is counted.
  static constexpr size_t kMaxItems = 1000;

  explicit DebugReport(Process& process);

  void AddFact(std::string name, std::string value) {
    snapshot_.facts.emplace_back(std::move(name), std::move(value));
  }
  // Null: there is no election.
  void AddElection(const Election* election);
  void AddCalls(const csi::ObservedChannel& channel) { AddCalls(channel.running()); }
  void AddCalls(const csi::ObservedChannel::Calls& calls) {
    AddDebugCalls(calls, now_, &snapshot_);
  }
  // `describe` says what a key stands for, if it is not the name itself; empty: it does not know.
  // `title`: what to call the queue; empty: its name.
  void AddQueue(const kube::WorkQueue& queue,
                const std::function<std::string(const std::string& key)>& describe = nullptr,
                std::string_view title = {});
  template <typename T>
  void AddWatch(const kube::Informer<T>& informer) {
    AddWatch(informer.resource(), informer.reflector(), informer.size(), informer.bytes());
  }

  MonotonicTime now() const { return now_; }
  // For what only one program has.
  serve::DebugSnapshot& snapshot() { return snapshot_; }
  serve::DebugSnapshot Take() { return std::move(snapshot_); }

 private:
  void AddWatch(const kube::ResourceInfo& resource, const kube::Reflector& reflector,
                size_t objects, size_t bytes);

  const MonotonicTime now_;
  serve::DebugSnapshot snapshot_;
};

}  // namespace csinative::sidecar
