// SPDX-License-Identifier: Apache-2.0
//
// Where finished log records go: whole records, line feed included.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace csinative::log {

class Output {
 public:
  virtual ~Output() = default;
  // Any thread. One call is one record; a failure to write is dropped.
  virtual void Write(std::string_view record) = 0;
};

// One write(2) a record, unbuffered. fd is borrowed and must stay open; 2 is stderr. A broken pipe
// at stdout or stderr ends the process by SIGPIPE, as Go's runtime does.
std::unique_ptr<Output> NewFdOutput(int fd);

// Keeps the records, for tests. Any thread.
class CollectingOutput final : public Output {
 public:
  void Write(std::string_view record) override;
  // The records so far, without their final line feed.
  std::vector<std::string> Records() const;
  // The last record, or "" when there is none.
  std::string Last() const;
  void Clear();

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> records_;
};

}  // namespace csinative::log
