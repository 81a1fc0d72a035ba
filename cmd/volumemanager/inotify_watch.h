// SPDX-License-Identifier: Apache-2.0
//
// DirectoryWatch by inotify. One thread sits in read(); it posts to the loop.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <thread>

#include "cmd/volumemanager/directory_watch.h"
#include "lib/async/event_loop.h"
#include "lib/async/sync.h"
#include "lib/base/unique_fd.h"

namespace csinative::volumemanager {

class InotifyWatch final : public DirectoryWatch {
 public:
  // `loop` outlives the watch.
  static Result<std::unique_ptr<InotifyWatch>> Start(async::EventLoop& loop);
  ~InotifyWatch() override;

  void Watch(const std::vector<std::string>& directories) override;
  async::Task<Status> WaitForChange() override;

 private:
  // Shared with steps that are posted and may run after the watch is gone.
  struct State {
    async::Event changed;
  };
  InotifyWatch(async::EventLoop& loop, UniqueFd inotify, UniqueFd stop);
  void Read();

  async::EventLoop& loop_;
  const UniqueFd inotify_;
  const UniqueFd stop_;  // an eventfd
  const std::shared_ptr<State> state_ = std::make_shared<State>();
  std::map<std::string, int> watched_;
  std::thread reader_;
};

}  // namespace csinative::volumemanager
