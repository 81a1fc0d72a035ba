// SPDX-License-Identifier: Apache-2.0
#include "lib/log/output.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace csinative::log {
namespace {

// Go's runtime ends a program whose stdout or stderr has no reader any more, although a broken pipe
// elsewhere is only an error (common 17.1).
void EndByBrokenPipe() {
  if (::getpid() == 1) ::_exit(2);  // the kernel would drop the signal
  ::signal(SIGPIPE, SIG_DFL);
  ::raise(SIGPIPE);
}

class FdOutput final : public Output {
 public:
  explicit FdOutput(int fd) : fd_(fd) {}

  void Write(std::string_view record) override {
    // One record stays in one piece even when the kernel takes it in several.
    const std::lock_guard<std::mutex> lock(mutex_);
    while (!record.empty()) {
      const ssize_t written = ::write(fd_, record.data(), record.size());
      if (written < 0) {
        if (errno == EINTR) continue;
        if (errno == EPIPE && (fd_ == 1 || fd_ == 2)) EndByBrokenPipe();
        return;
      }
      record.remove_prefix(static_cast<size_t>(written));
    }
  }

 private:
  const int fd_;
  std::mutex mutex_;
};

}  // namespace

std::unique_ptr<Output> NewFdOutput(int fd) { return std::make_unique<FdOutput>(fd); }

void CollectingOutput::Write(std::string_view record) {
  if (!record.empty() && record.back() == '\n') record.remove_suffix(1);
  const std::lock_guard<std::mutex> lock(mutex_);
  records_.emplace_back(record);
}

std::vector<std::string> CollectingOutput::Records() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return records_;
}

std::string CollectingOutput::Last() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return records_.empty() ? std::string() : records_.back();
}

void CollectingOutput::Clear() {
  const std::lock_guard<std::mutex> lock(mutex_);
  records_.clear();
}

}  // namespace csinative::log
