// SPDX-License-Identifier: Apache-2.0
#include "cmd/volumemanager/volumes_in_use.h"

#include <algorithm>

#include "lib/base/json_string.h"
#include "lib/base/strings.h"

namespace csinative::volumemanager {
namespace {

constexpr Duration kFirstRetry = std::chrono::milliseconds(100);
constexpr Duration kLongestRetry = std::chrono::seconds(10);

// A list that becomes empty is removed.
std::string PatchOf(const std::set<std::string>& volumes) {
  if (volumes.empty()) return R"({"status":{"volumesInUse":null}})";
  std::vector<std::string> quoted;
  for (const std::string& volume : volumes) {
    quoted.push_back(JsonString(volume, JsonEscaping::kHtml));
  }
  return StrCat(R"({"status":{"volumesInUse":[)", Join(quoted, ","), "]}}");
}

}  // namespace

std::set<std::string> ComputeVolumesInUse(const NodeState& state) {
  std::set<std::string> volumes;
  for (const auto& [name, volume] : state.desired.volumes()) {
    if (volume.attachable) volumes.insert(name);
  }
  for (const auto& [name, volume] : state.actual.volumes()) {
    if (volume.attachable == Attachability::kYes) volumes.insert(name);
  }
  return volumes;
}

void VolumesInUse::MarkReported(const core::Node& node) {
  const auto& listed = node.status().volumesinuse();
  deps_.state->desired.SetReportedInUse({listed.begin(), listed.end()});
  deps_.state->reconcile.Notify();
}

void VolumesInUse::OnNode(const core::Node& node) {
  // One that was found on disk, or taken in, before it was attached.
  for (const core::AttachedVolume& attached : node.status().volumesattached()) {
    deps_.state->actual.MarkAttachable(attached.name());
  }
  MarkReported(node);
  deps_.state->report.Notify();
}

async::Task<void> VolumesInUse::Run() {
  Duration retry = kFirstRetry;
  for (;;) {
    Status written = co_await Write();
    Duration pause = deps_.config.status_period;
    if (written.ok()) {
      retry = kFirstRetry;
    } else {
      if (!IsCancelled(written)) {
        deps_.log.Error(written, "Failed to update the volumes in use", "node", deps_.config.node);
      }
      pause = retry;
      retry = std::min<Duration>(retry * 2, kLongestRetry);
    }
    Status waited = co_await deps_.state->report.Wait(deps_.loop->Now() + pause);
    if (!waited.ok()) co_return;
  }
}

async::Task<Status> VolumesInUse::Write() {
  // Before everything that is mounted is known, the list of the last run is the safe one.
  if (!deps_.state->states_synced) co_return Status();
  constexpr int kTries = 3;
  for (int i = 0; i < kTries; ++i) {
    const auto node = deps_.nodes->Get(deps_.config.node);
    if (!node) co_return Status();
    const std::set<std::string> volumes = ComputeVolumesInUse(*deps_.state);
    const auto& listed = node->status().volumesinuse();
    if (volumes == std::set<std::string>(listed.begin(), listed.end())) {
      MarkReported(*node);
      co_return Status();
    }
    auto patched = co_await deps_.client->Patch<core::Node>(
        {"", deps_.config.node}, kube::PatchType::kStrategic, PatchOf(volumes), "status");
    if (!patched.ok()) co_return patched.status();
    // A Node that the watch brought meanwhile may be newer than the answer: it stays.
    const auto cached = deps_.nodes->Get(deps_.config.node);
    if (cached && cached->metadata().resourceversion() == node->metadata().resourceversion()) {
      deps_.nodes->OverwriteForNow(*patched);
      MarkReported(*patched);
      co_return Status();
    }
  }
  co_return UnavailableError("the Node changes too quickly");
}

}  // namespace csinative::volumemanager
