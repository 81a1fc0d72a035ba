// SPDX-License-Identifier: Apache-2.0
//
// Tells that something in a folder may have changed. An interface, so that tests and simulation
// decide when. Loop only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lib/async/task.h"
#include "lib/base/result.h"

namespace csinative::volumemanager {

class DirectoryWatch {
 public:
  virtual ~DirectoryWatch() = default;
  // Which folders to watch from now on, instead of those before. A folder that is not there is
  // left out.
  virtual void Watch(const std::vector<std::string>& directories) = 0;
  // Ok after a change since the last call that returned Ok, or the reason of a cancellation. One
  // caller at a time.
  virtual async::Task<Status> WaitForChange() = 0;
};

}  // namespace csinative::volumemanager
