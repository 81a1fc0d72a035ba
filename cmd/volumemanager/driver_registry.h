// SPDX-License-Identifier: Apache-2.0
//
// The drivers that have registered with this node, by name (volumemanager-csi 5, 14). Loop only.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/rpc/channel.h"

namespace csinative::volumemanager {

// The highest usable version of a driver's list: major 1. The failure is upstream's text.
Result<std::string> ChooseVersion(const std::vector<std::string>& versions);
// Whether `a` is lower than `b`, by their numbers. REQUIRES: results of ChooseVersion.
bool IsLowerVersion(const std::string& a, const std::string& b);

class DriverRegistry {
 public:
  struct Driver {
    std::string endpoint;  // path of its socket
    std::string version;
    std::shared_ptr<rpc::Channel> channel;
  };

  // Called after each change.
  void set_on_change(std::function<void()> on_change) { on_change_ = std::move(on_change); }

  // Fails for a driver that is registered with this version or a higher one.
  Status CheckNew(const std::string& name, const std::string& version) const;
  void Add(const std::string& name, Driver driver);
  void Remove(const std::string& name);

  const std::map<std::string, Driver>& drivers() const { return drivers_; }
  // Users and tools match on the text of the failure. The caller keeps the channel while it calls.
  Result<std::shared_ptr<rpc::Channel>> Find(const std::string& name) const;

 private:
  std::function<void()> on_change_;
  std::map<std::string, Driver> drivers_;
};

}  // namespace csinative::volumemanager
