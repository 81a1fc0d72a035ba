// SPDX-License-Identifier: Apache-2.0
//
// Which pods of this node exist, and from when on no container of one can be running: nothing of a
// pod is unmounted before that. There is no container runtime to ask, so it is inferred from the
// API object, erring towards waiting (volumemanager 19.1 to 19.3). Loop only.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "apis/core/v1/pod.pb.h"
#include "apis/namespaces.h"
#include "lib/base/clock.h"

namespace csinative::volumemanager {

// What is known of the containers of one object.
struct ContainerFacts {
  bool terminal = false;        // phase Succeeded or Failed
  bool deleting = false;        // deletionTimestamp is set
  bool running = false;         // some container says so
  bool all_terminated = false;  // every declared container says so
  bool untouched = false;       // no agent has picked the pod up

  // Rules 3, 5 and 6: nothing can run any more.
  bool ended() const {
    if (terminal) return !running;
    return deleting && (all_terminated || untouched);
  }
};
ContainerFacts InspectContainers(const core::Pod& pod);

class PodStates {
 public:
  struct Options {
    Duration settle;
    Duration force_delay;
  };
  // `clock` outlives this.
  PodStates(const Clock& clock, Options options) : clock_(clock), options_(options) {}

  // The first complete list is in.
  void SetListed();
  bool listed() const { return listed_.has_value(); }

  // The object as it is now; another UID under the same name is another pod. Returns whether the
  // status changed in a way that matters here.
  void Update(const core::Pod& pod);
  // The object is gone.
  void Remove(const std::string& uid);
  // Nothing of the pod is left on this node.
  void ForgetTombstone(const std::string& uid);

  // A static pod, which the API shows as a mirror under another UID. It counts as running as long
  // as this process lives: when its mirror goes, nothing is said of its containers.
  void AddStatic(const std::string& uid);

  // A directory that was there when the process started, or was made for a pod that had been
  // forgotten meanwhile.
  void AddDirectory(const std::string& uid);
  void ForgetDirectory(const std::string& uid);
  // Such a directory, or one of a pod that was seen. Any other may belong to a pod that the API has
  // not told of yet.
  bool MayRemoveDirectory(const std::string& uid) const;
  // What was added and not forgotten, sorted.
  std::vector<std::string> Directories() const {
    return {directories_.begin(), directories_.end()};
  }

  // Null when the object does not exist (any more).
  const core::Pod* Find(const std::string& uid) const;
  // Of existing pods, sorted.
  std::vector<std::string> Uids() const;
  // Of pods that existed, sorted.
  std::vector<std::string> Tombstones() const;

  struct Verdict {
    bool terminating = false;  // no new container can start: no volume is added
    bool removable = false;    // no container can be running: volumes may be unmounted
    // When to ask again, if time alone makes it removable.
    std::optional<MonotonicTime> ask_again;
  };
  // Removable implies terminating, and never returns to false for a UID.
  Verdict Judge(const std::string& uid) const;

 private:
  struct Record {
    core::Pod pod;
    ContainerFacts facts;
    MonotonicTime changed;                 // of the status
    std::optional<MonotonicTime> deleted;  // the object is gone since
    mutable bool removable = false;        // sticks
  };
  Verdict JudgeObject(const Record& record) const;
  Verdict From(MonotonicTime when) const;

  const Clock& clock_;
  const Options options_;
  std::optional<MonotonicTime> listed_;
  std::map<std::string, Record> records_;
  std::set<std::string> static_;       // UIDs, a handful on a node
  std::set<std::string> directories_;  // of UIDs without a record
};

}  // namespace csinative::volumemanager
