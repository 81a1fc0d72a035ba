// SPDX-License-Identifier: Apache-2.0
//
// Keys that must be retried slowly, each with the time it came and the UID of its StorageClass
// (common 14). Loop only.
//
// Differs: upstream scans all entries every 100 ms; here they leave in the order they came, and the
// sweeper sleeps until the first one is due. Seen from outside an entry still leaves at a multiple
// of 100 ms of the sweeper's start.
#pragma once

#include <list>
#include <optional>
#include <string>
#include <unordered_map>

#include "lib/async/sync.h"
#include "lib/async/task.h"
#include "lib/base/clock.h"

namespace csinative::csi {

class SlowSet {
 public:
  // `clock` outlives the set.
  SlowSet(const Clock& clock, Duration retention) : clock_(clock), retention_(retention) {}

  // True if the key was absent. An entry that is there, expired or not, stays as it is.
  bool Add(const std::string& key, std::string storage_class_uid);
  // Whether it has expired does not matter.
  std::optional<std::string> Get(const std::string& key) const;
  // Present and younger than the retention time.
  bool Contains(const std::string& key) const;
  void Remove(const std::string& key);
  // Negative for an entry that has expired and was not swept yet; zero for an absent key.
  Duration TimeRemaining(const std::string& key) const;

  // Removes what is older than the retention time.
  void Sweep();
  // Sweeps until cancelled.
  async::Task<void> Run();

  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    std::string key;
    MonotonicTime added;
    std::string storage_class_uid;
  };

  const Clock& clock_;
  const Duration retention_;
  std::list<Entry> entries_;  // oldest first
  std::unordered_map<std::string, std::list<Entry>::iterator> index_;
  async::Signal added_;
};

}  // namespace csinative::csi
