// SPDX-License-Identifier: Apache-2.0
#include "test/sim/trace.h"

#include <cinttypes>
#include <cstdio>

namespace csinative::sim {
namespace {

constexpr size_t kRecent = 60;

}  // namespace

void Trace::Add(std::string_view who, std::string_view what) {
  char time[40];
  const int64_t micros =
      std::chrono::duration_cast<std::chrono::microseconds>(clock_.Now() - start_).count();
  std::snprintf(time, sizeof(time), "%6" PRId64 ".%06" PRId64 " ", micros / 1000000,
                micros % 1000000);
  std::string line = time;
  line += who;
  line += ' ';
  line += what;
  for (const char c : line) digest_ = (digest_ ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  digest_ = (digest_ ^ static_cast<unsigned char>('\n')) * 1099511628211ull;
  ++lines_;
  if (sink_) sink_(line);
  recent_.push_back(std::move(line));
  if (recent_.size() > kRecent) recent_.pop_front();
}

}  // namespace csinative::sim
