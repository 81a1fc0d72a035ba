// SPDX-License-Identifier: Apache-2.0
//
// Which operations on volumes run, which may start, and which have to wait after a failure
// (volumemanager 7.0). An operation is keyed by its volume and, where several pods may be served at
// once, by the pod. Loop only.
//
// Differs: each kind of operation has its own back-off. Upstream forgets the back-off of one when
// another of the volume starts, which its loop of 100 ms makes harmless: here two that fail in turn
// would run without any pause.
#pragma once

#include <list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/status.h"

namespace csinative::volumemanager {

struct OperationKey {
  std::string volume;
  std::string pod;  // UID; empty: the operation is alone on its volume

  bool Matches(const OperationKey& other) const {
    return volume == other.volume && (pod.empty() || other.pod.empty() || pod == other.pod);
  }
  bool operator==(const OperationKey&) const = default;
};

class PendingOperations {
 public:
  static constexpr Duration kFirstDelay = std::chrono::milliseconds(500);
  static constexpr Duration kLongestDelay = std::chrono::seconds(122);

  explicit PendingOperations(const Clock& clock) : clock_(clock) {}

  enum class Start { kStarted, kRunning, kBackoff };
  // kStarted: the caller runs the operation and calls Finish() with the same key.
  Start TryStart(const OperationKey& key, const std::string& name);
  // Returns how long the operation has to wait; zero after success.
  Duration Finish(const OperationKey& key, const Status& result);

  // Whether one that matches runs.
  bool IsRunning(const OperationKey& key) const;
  size_t running() const { return running_; }
  // When the next one that waits may start again.
  std::optional<MonotonicTime> NextRetry() const;
  // What failed may start at once: something has changed in the world.
  void ClearBackoff();
  // For /debug: what runs, and what has failed and not succeeded since, by volume.
  struct Info {
    OperationKey key;
    std::string name;
    std::optional<MonotonicTime> started;  // nothing: it does not run
    int failures = 0;                      // in a row
    std::string last_error;                // cut to kMaxErrorBytes
    MonotonicTime last_failed{};           // if there are failures
    MonotonicTime next_try{};              // the same; it may be over
  };
  static constexpr size_t kMaxErrorBytes = 1024;
  std::vector<Info> List() const;
  // Nothing of the volume is left.
  void Forget(const std::string& volume);

 private:
  struct Backoff {
    Duration delay = Duration::zero();
    MonotonicTime failed;
    int failures = 0;
    std::string error;
  };
  struct Entry {
    OperationKey key;
    std::string running;                      // name of the operation; empty: none
    MonotonicTime started{};                  // of that one
    std::map<std::string, Backoff> backoffs;  // by name
  };
  using Entries = std::list<Entry>;

  const Clock& clock_;
  std::map<std::string, Entries> volumes_;
  size_t running_ = 0;
};

}  // namespace csinative::volumemanager
