// SPDX-License-Identifier: Apache-2.0
#include "cmd/volumemanager/inotify_watch.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace csinative::volumemanager {

Result<std::unique_ptr<InotifyWatch>> InotifyWatch::Start(async::EventLoop& loop) {
  UniqueFd inotify(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!inotify.valid()) return OsStatus(errno, "inotify_init1");
  UniqueFd stop(::eventfd(0, EFD_CLOEXEC));
  if (!stop.valid()) return OsStatus(errno, "eventfd");
  return std::unique_ptr<InotifyWatch>(new InotifyWatch(loop, std::move(inotify), std::move(stop)));
}

InotifyWatch::InotifyWatch(async::EventLoop& loop, UniqueFd inotify, UniqueFd stop)
    : loop_(loop), inotify_(std::move(inotify)), stop_(std::move(stop)) {
  reader_ = std::thread([this] { Read(); });
}

InotifyWatch::~InotifyWatch() {
  const uint64_t one = 1;
  (void)!::write(stop_.get(), &one, sizeof(one));
  reader_.join();
}

void InotifyWatch::Watch(const std::vector<std::string>& directories) {
  for (auto at = watched_.begin(); at != watched_.end();) {
    if (std::find(directories.begin(), directories.end(), at->first) != directories.end()) {
      ++at;
      continue;
    }
    (void)::inotify_rm_watch(inotify_.get(), at->second);
    at = watched_.erase(at);
  }
  constexpr uint32_t kEvents =
      IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_ONLYDIR;
  for (const std::string& directory : directories) {
    // Again for one that is known: it may be a new folder of the same name.
    const int id = ::inotify_add_watch(inotify_.get(), directory.c_str(), kEvents);
    if (id >= 0) watched_[directory] = id;
  }
}

async::Task<Status> InotifyWatch::WaitForChange() {
  CSI_CO_RETURN_IF_ERROR(co_await state_->changed.Wait());
  state_->changed.Reset();
  co_return Status();
}

void InotifyWatch::Read() {
  char buffer[16384];
  for (;;) {
    pollfd fds[2] = {{inotify_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
    if (::poll(fds, 2, -1) < 0 && errno != EINTR) return;
    if (fds[1].revents != 0) return;
    // What exactly happened does not matter: the folder is listed again.
    while (::read(inotify_.get(), buffer, sizeof(buffer)) > 0) {
    }
    loop_.Post([state = state_] { state->changed.Set(); });
  }
}

}  // namespace csinative::volumemanager
