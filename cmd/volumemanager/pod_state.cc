// SPDX-License-Identifier: Apache-2.0
#include "cmd/volumemanager/pod_state.h"

#include <algorithm>

#include "apis/meta/v1/time.h"

namespace csinative::volumemanager {
namespace {

// Kubelet stops the containers of a pod that was deleted by force with at least this grace.
constexpr Duration kShortestGrace = std::chrono::seconds(1);
// Grace time of pods nobody knows (rule 11): the API's default.
constexpr Duration kUnknownGrace = std::chrono::seconds(30);

using Statuses = google::protobuf::RepeatedPtrField<core::ContainerStatus>;

void Collect(const Statuses& statuses, std::set<std::string>* terminated, bool* running) {
  for (const core::ContainerStatus& status : statuses) {
    if (status.state().has_running()) *running = true;
    if (status.state().has_terminated()) terminated->insert(status.name());
  }
}

}  // namespace

ContainerFacts InspectContainers(const core::Pod& pod) {
  ContainerFacts facts;
  const core::PodStatus& status = pod.status();
  facts.terminal = status.phase() == "Succeeded" || status.phase() == "Failed";
  facts.deleting = pod.metadata().has_deletiontimestamp();
  std::set<std::string> terminated;
  Collect(status.initcontainerstatuses(), &terminated, &facts.running);
  Collect(status.containerstatuses(), &terminated, &facts.running);
  Collect(status.ephemeralcontainerstatuses(), &terminated, &facts.running);
  facts.untouched = !status.has_starttime() && status.initcontainerstatuses().empty() &&
                    status.containerstatuses().empty() &&
                    status.ephemeralcontainerstatuses().empty();
  facts.all_terminated = !facts.running;
  for (const core::Container& container : pod.spec().initcontainers()) {
    if (!terminated.contains(container.name())) facts.all_terminated = false;
  }
  for (const core::Container& container : pod.spec().containers()) {
    if (!terminated.contains(container.name())) facts.all_terminated = false;
  }
  for (const core::EphemeralContainer& container : pod.spec().ephemeralcontainers()) {
    if (!terminated.contains(container.ephemeralcontainercommon().name())) {
      facts.all_terminated = false;
    }
  }
  return facts;
}

void PodStates::SetListed() {
  if (!listed_) listed_ = clock_.Now();
}

void PodStates::Update(const core::Pod& pod) {
  Record& record = records_[pod.metadata().uid()];
  const bool same = record.pod.metadata().has_uid() &&
                    record.pod.status().SerializeAsString() == pod.status().SerializeAsString();
  if (!same) record.changed = clock_.Now();
  record.pod = pod;
  record.facts = InspectContainers(pod);
  record.deleted.reset();
}

void PodStates::Remove(const std::string& uid) {
  const auto found = records_.find(uid);
  if (found != records_.end() && !found->second.deleted) found->second.deleted = clock_.Now();
}

void PodStates::ForgetTombstone(const std::string& uid) {
  const auto found = records_.find(uid);
  if (found != records_.end() && found->second.deleted) records_.erase(found);
}

void PodStates::AddStatic(const std::string& uid) {
  if (uid.empty()) return;
  static_.insert(uid);
  directories_.erase(uid);
}

void PodStates::AddDirectory(const std::string& uid) {
  if (!records_.contains(uid) && !static_.contains(uid)) directories_.insert(uid);
}

void PodStates::ForgetDirectory(const std::string& uid) { directories_.erase(uid); }

bool PodStates::MayRemoveDirectory(const std::string& uid) const {
  return records_.contains(uid) || directories_.contains(uid);
}

const core::Pod* PodStates::Find(const std::string& uid) const {
  const auto found = records_.find(uid);
  return found == records_.end() || found->second.deleted ? nullptr : &found->second.pod;
}

std::vector<std::string> PodStates::Uids() const {
  std::vector<std::string> uids;
  for (const auto& [uid, record] : records_) {
    if (!record.deleted) uids.push_back(uid);
  }
  return uids;
}

std::vector<std::string> PodStates::Tombstones() const {
  std::vector<std::string> uids;
  for (const auto& [uid, record] : records_) {
    if (record.deleted) uids.push_back(uid);
  }
  return uids;
}

PodStates::Verdict PodStates::From(MonotonicTime when) const {
  if (clock_.Now() >= when) return {.terminating = true, .removable = true};
  return {.terminating = true, .removable = false, .ask_again = when};
}

PodStates::Verdict PodStates::JudgeObject(const Record& record) const {
  const ContainerFacts& facts = record.facts;
  if (record.deleted) {
    if (facts.ended() || options_.force_delay <= Duration::zero()) {  // rule 9
      return {.terminating = true, .removable = true};
    }
    const Duration grace = std::chrono::seconds(record.pod.spec().terminationgraceperiodseconds());
    return From(*record.deleted + std::max(grace, kShortestGrace) + options_.force_delay);
  }
  if (!facts.deleting && !facts.terminal) return {};                   // rule 2
  if (facts.ended()) return {.terminating = true, .removable = true};  // 3, 5, 6
  if (facts.running) return {.terminating = true};                     // 4, 8
  // Rule 7: an agent may be starting a container right now.
  MonotonicTime when = record.changed;
  if (const auto end = apis::ToWallTime(record.pod.metadata().deletiontimestamp())) {
    when = std::max(when, clock_.Now() + (*end - clock_.WallNow()));
  }
  return From(when + options_.settle);
}

PodStates::Verdict PodStates::Judge(const std::string& uid) const {
  if (!listed_) return {};  // rule 1
  const auto found = records_.find(uid);
  if (found == records_.end()) {  // rule 11
    if (static_.contains(uid)) return {};
    if (options_.force_delay <= Duration::zero()) return From(*listed_);
    return From(*listed_ + kUnknownGrace + options_.force_delay);
  }
  if (found->second.removable) return {.terminating = true, .removable = true};
  const Verdict verdict = JudgeObject(found->second);
  found->second.removable = verdict.removable;
  return verdict;
}

}  // namespace csinative::volumemanager
