// SPDX-License-Identifier: Apache-2.0
#include "test/bench/failovers/sample.h"

#include <algorithm>
#include <cstdio>

#include "lib/base/go_duration.h"
#include "lib/base/strings.h"

namespace csinative::failovers {
namespace {

// For the requests themselves, on a machine that does other things too.
constexpr Duration kTolerance = std::chrono::milliseconds(300);

// A write that was checked before the process was stopped may leave it afterwards.
constexpr size_t kWritesUnderWay = 1;

const char* NameOf(Kind kind) {
  switch (kind) {
    case Kind::kKill:
      return "kill -9";
    case Kind::kStop:
      return "SIGSTOP, SIGCONT";
    case Kind::kReset:
      return "network: reset";
    case Kind::kBlackHole:
      return "network: black hole";
  }
  return "";
}

double Seconds(Duration d) { return std::chrono::duration<double>(d).count(); }

// When the old leader has to be gone: it may be about to renew, and tries to for so long. One that
// goes on after a stop usually sees the new leader at its first attempt.
Duration ExitLimit(const Timing& timing) { return timing.retry + timing.renew; }

struct Row {
  std::vector<Duration> takeovers;
  size_t too_late = 0;
  size_t late_exits = 0;
  Duration slowest_exit{0};
  size_t most_late_writes = 0;
  size_t with_late_writes = 0;
};

Row Summarize(const std::vector<Sample>& samples, Kind kind, Duration lease) {
  Row row;
  for (const Sample& sample : samples) {
    if (sample.kind != kind || sample.timing.lease != lease) continue;
    row.takeovers.push_back(sample.takeover);
    if (sample.takeover > Limit(sample.timing) + kTolerance) ++row.too_late;
    if (sample.exit.value_or(Duration(0)) > ExitLimit(sample.timing) + kTolerance) {
      ++row.late_exits;
    }
    row.slowest_exit = std::max(row.slowest_exit, sample.exit.value_or(Duration(0)));
    row.most_late_writes = std::max(row.most_late_writes, sample.late_writes);
    if (sample.late_writes > 0) ++row.with_late_writes;
  }
  std::sort(row.takeovers.begin(), row.takeovers.end());
  return row;
}

}  // namespace

Duration Limit(const Timing& timing) { return timing.lease + timing.retry; }

Status Report(const std::vector<Sample>& samples) {
  std::vector<Timing> timings;
  for (const Sample& sample : samples) {
    const auto same = [&](const Timing& t) { return t.lease == sample.timing.lease; };
    if (std::none_of(timings.begin(), timings.end(), same)) timings.push_back(sample.timing);
  }
  size_t broken = 0;
  std::printf(
      "\n| lease / deadline / retry | leader is lost by | count | median s | max s | limit s | "
      "later | exit: max / limit s | late writes: most | samples with |\n"
      "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|\n");
  for (const Timing& timing : timings) {
    for (Kind kind : {Kind::kKill, Kind::kStop, Kind::kReset, Kind::kBlackHole}) {
      const Row row = Summarize(samples, kind, timing.lease);
      if (row.takeovers.empty()) continue;
      const size_t allowed = kind == Kind::kStop ? kWritesUnderWay : 0;
      broken += row.too_late + row.late_exits + (row.most_late_writes > allowed ? 1 : 0);
      std::printf(
          "| %s / %s / %s | %s | %zu | %.2f | %.2f | %.1f | %zu | %.2f / %.1f | %zu | %zu |\n",
          FormatGoDuration(timing.lease).c_str(), FormatGoDuration(timing.renew).c_str(),
          FormatGoDuration(timing.retry).c_str(), NameOf(kind), row.takeovers.size(),
          Seconds(row.takeovers[row.takeovers.size() / 2]), Seconds(row.takeovers.back()),
          Seconds(Limit(timing)), row.too_late, Seconds(row.slowest_exit),
          Seconds(ExitLimit(timing)), row.most_late_writes, row.with_late_writes);
    }
  }
  std::printf("tolerance of the limits: %.1f s\n", Seconds(kTolerance));
  if (broken > 0) return FailedPreconditionError(StrCat(broken, " promises were broken"));
  return Status();
}

}  // namespace csinative::failovers
