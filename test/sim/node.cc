// SPDX-License-Identifier: Apache-2.0
#include "test/sim/node.h"

#include <algorithm>
#include <cerrno>
#include <set>
#include <utility>

#include "lib/base/strings.h"

namespace csinative::sim {
namespace {

constexpr Duration kQuickDisk = std::chrono::microseconds(20);
constexpr Duration kUsualDisk = std::chrono::milliseconds(2);
constexpr Duration kSlowDisk = std::chrono::seconds(10);

bool IsChange(const std::string& operation) {
  static const std::set<std::string> kReads = {"Stat",    "List",         "ReadFile",
                                               "Resolve", "IsMountPoint", "ReadMountTable"};
  return kReads.count(operation) == 0;
}

bool Has(const std::vector<std::string>& paths, const std::string& path) {
  return std::find(paths.begin(), paths.end(), path) != paths.end();
}

// Whether the path is inside of a volume: what is there belongs to the user.
bool IsUserData(const std::string& path) {
  return path.find("/mount/") != std::string::npos ||
         path.find("/globalmount/") != std::string::npos;
}

}  // namespace

Machine::Machine(Surroundings& world, Checker& checker, std::string node,
                 std::function<void(const IncarnationPtr&)> kill)
    : world_(world), checker_(checker), node_(std::move(node)), kill_(std::move(kill)) {
  fs_.set_hook([this](const std::string& operation, const std::string& path) {
    return BeforeDiskCall(operation, path);
  });
}

void Machine::PowerOff() {
  up_ = false;
  containers_.clear();
  fs_.ForgetMounts();
}

void Machine::StartContainer(const std::string& uid, std::vector<OpenVolume> volumes) {
  world_.trace.Add(node_, StrCat("container of ", uid, " starts"));
  containers_[uid] = std::move(volumes);
  CheckContainers();
}

void Machine::StopContainer(const std::string& uid) {
  if (containers_.count(uid) == 0) return;
  world_.trace.Add(node_, StrCat("container of ", uid, " has stopped"));
  CheckContainers();
  containers_.erase(uid);
}

void Machine::CheckContainers() {
  const auto lost = [&](const std::string& uid, const std::string& path) {
    checker_.Violation(
        StrCat(node_, ": ", path, " is gone while a container of ", uid, " has it open"));
  };
  for (const auto& [uid, volumes] : containers_) {
    for (const OpenVolume& open : volumes) {
      for (const std::string& path : open.mounts) {
        const auto mounted = fs_.IsMountPoint(path);
        if (!mounted.ok() || !*mounted) lost(uid, path);
      }
      for (const std::string& path : open.files) {
        if (!fs_.Stat(path).ok()) lost(uid, path);
      }
    }
  }
}

Status Machine::BeforeDiskCall(const std::string& operation, const std::string& path) {
  if (dying_) return CancelledError("the process is gone");
  const bool change = IsChange(operation);
  if (worker_ != nullptr && change) {
    if (world_.plan.Strikes(world_.plan.rates().disk_crash)) {
      world_.trace.Add(worker_->name, StrCat("dies before ", operation, " ", path));
      dying_ = true;
      return CancelledError("the process is gone");
    }
    if (world_.plan.Strikes(world_.plan.rates().disk_error)) {
      world_.trace.Add(worker_->name, StrCat(operation, " ", path, ": injected"));
      return OsStatus(operation == "Remove" || operation == "Unmount" ? EBUSY : ENOSPC,
                      StrCat(operation, " ", path));
    }
    changed_ = true;
  }
  if (!change) return Status();
  // Owner and mode are the volume manager's to change.
  if (IsUserData(path) && !operation.starts_with("Set")) {
    checker_.Violation(StrCat(node_, ": ", operation, " of ", path, ", which is in a volume"));
  }
  if (operation == "Unmount" || operation == "Remove") {
    for (const auto& [uid, volumes] : containers_) {
      for (const OpenVolume& open : volumes) {
        if (!Has(open.mounts, path) && !Has(open.files, path)) continue;
        checker_.Violation(StrCat(node_, ": ", operation, " of ", path, " while a container of ",
                                  uid, " has ", open.volume, " open"));
      }
    }
  }
  return Status();
}

void Machine::Work(const IncarnationPtr& process, UniqueFunction<void()> work) {
  if (!process->alive) return;
  worker_ = process;
  changed_ = false;
  work();
  worker_ = nullptr;
  if (!dying_ && changed_ && world_.plan.Strikes(world_.plan.rates().disk_crash)) {
    world_.trace.Add(process->name, "dies after work on the disk");
    dying_ = true;
  }
  if (std::exchange(dying_, false)) kill_(process);
}

void SimDisk::Submit(UniqueFunction<void()> work) {
  FaultPlan& plan = world_.plan;
  const bool slow = plan.Strikes(plan.rates().disk_slow);
  const MonotonicTime when =
      world_.loop.Now() + plan.Between(kQuickDisk, slow ? kSlowDisk : kUsualDisk);
  world_.loop.PostAt(when,
                     [machine = &machine_, process = process_, w = std::move(work)]() mutable {
                       machine->Work(process, std::move(w));
                     });
}

}  // namespace csinative::sim
