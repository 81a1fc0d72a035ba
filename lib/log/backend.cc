// SPDX-License-Identifier: Apache-2.0
#include "lib/log/backend.h"

#include <unistd.h>

#include <ctime>
#include <string>
#include <utility>

#include "lib/log/format.h"

namespace csinative::log {

Backend::Backend(std::shared_ptr<Output> output) : Backend(std::move(output), Options{}) {}

Backend::Backend(std::shared_ptr<Output> output, Options options)
    : output_(std::move(output)),
      clock_(*options.clock),
      pid_(options.pid != 0 ? options.pid : ::getpid()) {
  // localtime_r need not look at TZ by itself.
  ::tzset();
}

void Backend::SetVmodule(std::vector<VmoduleRule> rules) {
  const std::lock_guard<std::mutex> lock(mutex_);
  vmodule_ = std::move(rules);
  has_vmodule_.store(!vmodule_.empty(), std::memory_order_relaxed);
}

bool Backend::EnabledByModule(int level, const std::source_location& location) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return VmoduleLevel(vmodule_, ModuleName(location.file_name())) >= level;
}

void Backend::Write(const Record& record) {
  std::string line;
  line.reserve(256);
  if (format_.load(std::memory_order_relaxed) == Format::kJson) {
    AppendJsonRecord(line, record, clock_.WallNow());
  } else {
    AppendTextRecord(line, record, clock_.WallNow(), pid_);
  }
  output_->Write(line);
}

}  // namespace csinative::log
