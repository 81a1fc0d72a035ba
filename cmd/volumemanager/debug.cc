// SPDX-License-Identifier: Apache-2.0
#include "cmd/volumemanager/debug.h"

#include <string>
#include <utility>
#include <vector>

#include "lib/base/strings.h"

namespace csinative::volumemanager {
namespace {

using Work = serve::DebugSnapshot::Work;

// "pv-1 in default/web" for people; what is not known is left out.
std::string Describe(const NodeState& state, const OperationKey& key) {
  std::string spec;
  if (const ActualVolume* actual = state.actual.Find(key.volume)) spec = actual->spec.name;
  std::string pods;
  if (const DesiredVolume* desired = state.desired.Find(key.volume)) {
    for (const auto& [uid, row] : desired->pods) {
      spec = row.spec.name;
      if (!key.pod.empty() && key.pod != uid) continue;
      pods += StrCat(pods.empty() ? " in " : ", ", row.pod.ns, "/", row.pod.name);
    }
  }
  if (pods.empty() && !key.pod.empty()) pods = StrCat(" in pod ", key.pod);
  return StrCat(spec.empty() ? key.volume : spec, pods);
}

Work OperationRow(const NodeState& state, const PendingOperations::Info& info, MonotonicTime now) {
  Work row;
  row.queue = info.name;
  row.object = Describe(state, info.key);
  row.key = StrCat(info.key.volume, info.key.pod.empty() ? "" : " ", info.key.pod);
  row.state = info.started ? "in work" : "delayed";
  if (info.started) row.age = now - *info.started;
  row.failures = info.failures;
  if (info.failures > 0) {
    row.last_error = info.last_error;
    row.last_error_age = now - info.last_failed;
    if (!info.started) row.next_try_in = info.next_try - now;
  }
  return row;
}

// Pods' volumes that no operation may begin with yet.
std::vector<Work> WaitingToBeAttached(const NodeState& state) {
  std::vector<Work> rows;
  for (const auto& [volume, desired] : state.desired.volumes()) {
    if (!desired.attachable || state.actual.Find(volume) != nullptr) continue;
    for (const auto& [uid, row] : desired.pods) {
      rows.push_back({.queue = "attach",
                      .object = Describe(state, {volume, uid}),
                      .key = StrCat(volume, " ", uid),
                      .state = desired.reported_in_use ? "waits to be attached"
                                                       : "waits to be reported in use"});
    }
  }
  return rows;
}

void Keep(Work row, serve::DebugSnapshot* snapshot) {
  if (snapshot->work.size() < sidecar::DebugReport::kMaxItems) {
    snapshot->work.push_back(std::move(row));
  } else {
    ++snapshot->work_left_off;
  }
}

}  // namespace

void AddVolumes(const VolumeManager& manager, sidecar::DebugReport* report) {
  const NodeState& state = manager.state();
  size_t mounted = 0;
  for (const auto& [volume, actual] : state.actual.volumes()) mounted += actual.pods.size();
  size_t desired = 0;
  for (const auto& [volume, wanted] : state.desired.volumes()) desired += wanted.pods.size();
  report->AddFact("volumes of pods", StrCat(desired, " wanted, ", mounted, " mounted or in doubt"));
  for (const auto& [name, driver] : manager.drivers().drivers()) {
    report->AddFact(StrCat("driver ", name), StrCat(driver.version, " at ", driver.endpoint));
  }
  serve::DebugSnapshot::Queue operations{.name = "operations"};
  for (const PendingOperations::Info& info : state.pending.List()) {
    ++(info.started ? operations.processing : operations.delayed);
    Keep(OperationRow(state, info, report->now()), &report->snapshot());
  }
  for (Work& row : WaitingToBeAttached(state)) {
    ++operations.waiting;
    Keep(std::move(row), &report->snapshot());
  }
  report->snapshot().queues.push_back(std::move(operations));
  manager.ForEachInformer([&](const auto& informer) { report->AddWatch(informer); });
}

}  // namespace csinative::volumemanager
