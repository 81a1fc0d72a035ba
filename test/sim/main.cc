// SPDX-License-Identifier: Apache-2.0
//
// Runs simulated clusters; docs/simulation.md tells how to use it.
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "test/sim/shrink.h"
#include "test/sim/world.h"

namespace csinative::sim {
namespace {

constexpr char kUsage[] =
    "usage: sim [--seed N | --seeds A..B | --for SECONDS] [--hours H] [--jobs J]\n"
    "           [--trace] [--shrink] [--without FAULT,...] [--require-load] [--stop]\n"
    "           [--volume-manager | --mix]\n"
    "\n"
    "--volume-manager: csi-volume-manager serves the nodes; --mix: in worlds of even seeds.\n"
    "Without seeds, H hours are spread over fresh seeds, ten hours each; with --for, fresh seeds\n"
    "of H hours each (1) are begun until the time is over. --stop ends a job with its first\n"
    "violation.\n";
constexpr uint64_t kHoursOfFreshSeed = 10;
constexpr uint64_t kFreshSeeds = 1'000'000;  // more than any --for can begin
constexpr int kShrinkBudget = 200;
constexpr int kKeepBytes = 32 << 20;
constexpr uint64_t kWatchLogsOfEach = 16;

struct Arguments {
  uint64_t first = 0, last = 0;
  bool seeds_given = false;
  uint64_t seconds = 0;  // 0: until the last seed
  uint64_t hours = 1;
  uint64_t jobs = 1;
  bool trace = false;
  bool shrink = false;
  bool require_load = false;
  bool stop = false;
  enum class Nodes { kStandIn, kVolumeManager, kMix } nodes = Nodes::kStandIn;
  std::set<uint64_t> without;
};

bool ParseNumber(const char* text, const char* end_expected, uint64_t* out, const char** rest) {
  char* end = nullptr;
  *out = std::strtoull(text, &end, 10);
  if (end == text) return false;
  if (rest != nullptr) *rest = end;
  return end_expected == nullptr || std::strcmp(end, end_expected) == 0;
}

bool Parse(int argc, char** argv, Arguments* out) {
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--trace") {
      out->trace = true;
      continue;
    }
    if (name == "--shrink") {
      out->shrink = true;
      continue;
    }
    if (name == "--require-load") {
      out->require_load = true;
      continue;
    }
    if (name == "--stop") {
      out->stop = true;
      continue;
    }
    if (name == "--volume-manager") {
      out->nodes = Arguments::Nodes::kVolumeManager;
      continue;
    }
    if (name == "--mix") {
      out->nodes = Arguments::Nodes::kMix;
      continue;
    }
    if (i + 1 == argc) return false;
    const char* value = argv[++i];
    const char* rest = nullptr;
    if (name == "--seed") {
      if (!ParseNumber(value, "", &out->first, nullptr)) return false;
      out->last = out->first;
      out->seeds_given = true;
    } else if (name == "--seeds") {
      if (!ParseNumber(value, nullptr, &out->first, &rest) || std::strncmp(rest, "..", 2) != 0 ||
          !ParseNumber(rest + 2, "", &out->last, nullptr)) {
        return false;
      }
      out->seeds_given = true;
    } else if (name == "--for") {
      if (!ParseNumber(value, "", &out->seconds, nullptr) || out->seconds == 0) return false;
    } else if (name == "--hours") {
      if (!ParseNumber(value, "", &out->hours, nullptr)) return false;
    } else if (name == "--jobs") {
      if (!ParseNumber(value, "", &out->jobs, nullptr)) return false;
    } else if (name == "--without") {
      for (const char* at = value; *at != '\0'; at = *rest == ',' ? rest + 1 : rest) {
        uint64_t number = 0;
        if (!ParseNumber(at, nullptr, &number, &rest) || (*rest != ',' && *rest != '\0')) {
          return false;
        }
        out->without.insert(number);
      }
    } else {
      return false;
    }
  }
  return out->first <= out->last && out->hours > 0 && out->jobs > 0;
}

void Report(const World& world) {
  for (const std::string& line : world.trace().recent()) std::printf("  %s\n", line.c_str());
  for (const std::string& what : world.violations()) std::printf("  => %s\n", what.c_str());
}

void ShrinkSeed(const WorldOptions& options, uint64_t hours) {
  const Shrunk shrunk = Shrink(options, hours, kShrinkBudget, [](const Shrunk& so_far) {
    std::printf("  still fails with %zu faults: %s\n", so_far.needed, so_far.violation.c_str());
    std::fflush(stdout);
  });
  std::printf("  repeat with: --seed %" PRIu64 " --hours %" PRIu64, options.seed, shrunk.hours);
  const char* separator = " --without ";
  for (const uint64_t fault : shrunk.disabled) {
    std::printf("%s%" PRIu64, separator, fault);
    separator = ",";
  }
  std::printf("\n");
}

// False after a violation.
bool RunSeed(uint64_t seed, const Arguments& arguments, Totals* sum) {
  WorldOptions options;
  options.seed = seed;
  options.disabled_faults = arguments.without;
  options.watch_logs = seed % kWatchLogsOfEach == 0;
  options.volume_manager = arguments.nodes == Arguments::Nodes::kVolumeManager ||
                           (arguments.nodes == Arguments::Nodes::kMix && seed % 2 == 0);
  if (arguments.trace) {
    options.on_line = [](std::string_view line) {
      std::printf("%.*s\n", static_cast<int>(line.size()), line.data());
    };
  }
  World world(options);
  bool ok = true;
  for (uint64_t hour = 0; ok && hour < arguments.hours; ++hour) ok = world.RunHour();
  const Totals totals = world.totals();
  *sum += totals;
  if (!ok) {
    std::printf("seed %" PRIu64 ": VIOLATION after %" PRIu64 " hours\n", seed, totals.hours);
    Report(world);
    if (arguments.shrink) ShrinkSeed(options, totals.hours);
  } else if (arguments.first == arguments.last) {
    std::printf("seed %" PRIu64 ": digest %016" PRIx64 ", %zu lines\n", seed,
                world.trace().digest(), world.trace().lines());
  }
  return ok;
}

struct Part {
  Totals totals;
  uint64_t failed = 0;
};

// Every `jobs`-th seed from `first` + `number` on.
Part RunPart(const Arguments& arguments, uint64_t number) {
  Part part;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(arguments.seconds);
  for (uint64_t seed = arguments.first + number; seed <= arguments.last; seed += arguments.jobs) {
    if (arguments.seconds > 0 && std::chrono::steady_clock::now() >= end) break;
    if (!RunSeed(seed, arguments, &part.totals)) ++part.failed;
    std::fflush(stdout);
    if (arguments.stop && part.failed > 0) break;
  }
  return part;
}

// One process for each job: the simulation itself is single-threaded.
bool RunAll(const Arguments& arguments, Part* sum) {
  if (arguments.jobs == 1) {
    *sum = RunPart(arguments, 0);
    return true;
  }
  std::vector<int> results;
  for (uint64_t number = 0; number < arguments.jobs; ++number) {
    int ends[2];
    if (::pipe(ends) != 0) return false;
    const pid_t child = ::fork();
    if (child < 0) return false;
    if (child == 0) {
      ::close(ends[0]);
      const Part part = RunPart(arguments, number);
      const bool told = ::write(ends[1], &part, sizeof(part)) == sizeof(part);
      ::_exit(told ? 0 : 1);
    }
    ::close(ends[1]);
    results.push_back(ends[0]);
  }
  bool complete = true;
  for (const int result : results) {
    Part part;
    complete &= ::read(result, &part, sizeof(part)) == sizeof(part);
    ::close(result);
    sum->totals += part.totals;
    sum->failed += part.failed;
  }
  while (::wait(nullptr) > 0) {
  }
  return complete;
}

int Main(int argc, char** argv) {
  Arguments arguments;
  if (!Parse(argc, argv, &arguments)) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  if (!arguments.seeds_given) {
    uint64_t count = kFreshSeeds;
    if (arguments.seconds == 0) {
      count = (arguments.hours + kHoursOfFreshSeed - 1) / kHoursOfFreshSeed;
      arguments.hours = std::min(arguments.hours, kHoursOfFreshSeed);
    }
    arguments.first =
        static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()) /
        1'000'000 * 1000;
    arguments.last = arguments.first + count - 1;
  }
  if (arguments.seconds > 0) {
    std::printf("seeds from %" PRIu64 " on, %" PRIu64 " hours each\n", arguments.first,
                arguments.hours);
  } else {
    std::printf("seeds %" PRIu64 "..%" PRIu64 ", %" PRIu64 " hours each\n", arguments.first,
                arguments.last, arguments.hours);
  }
  std::fflush(stdout);
  // Processes die all the time: giving their memory back to the system and fetching it again costs.
  (void)::mallopt(M_TRIM_THRESHOLD, kKeepBytes);
  (void)::mallopt(M_TOP_PAD, kKeepBytes);
  (void)::mallopt(M_MMAP_THRESHOLD, kKeepBytes);
  const auto start = std::chrono::steady_clock::now();
  Part sum;
  if (!RunAll(arguments, &sum)) {
    std::fprintf(stderr, "sim: a job ended without its result\n");
    return 1;
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const double hours = static_cast<double>(sum.totals.hours);
  const double operations = static_cast<double>(sum.totals.operations) / hours;
  const double faults = static_cast<double>(sum.totals.faults) / hours;
  const double crashes = static_cast<double>(sum.totals.crashes) / hours;
  std::printf("%" PRIu64 " violations in %" PRIu64
              " virtual hours, %.1f s (%.0f an hour and job)\n",
              sum.failed, sum.totals.hours, seconds,
              hours / seconds * 3600 / static_cast<double>(arguments.jobs));
  std::printf("each hour: %.0f operations, %.0f faults, %.1f crashes\n", operations, faults,
              crashes);
  std::printf("most by one process in a minute: %d API requests, %d calls for one volume\n",
              sum.totals.max_requests, sum.totals.max_calls);
  std::printf("%" PRIu64 " volumes taken off nodes out of band, %" PRIu64 " put back\n",
              sum.totals.thefts, sum.totals.mended);
  std::printf("%" PRIu64 " volumes of claims deleted while csi-provisioner was dead\n",
              sum.totals.known_leaks);
  if (arguments.require_load && (operations < 200 || faults < 60 || crashes < 5)) {
    std::printf("too little happened: 200 operations, 60 faults and 5 crashes are wanted\n");
    return 1;
  }
  // One seed in four has a driver that lists its volumes.
  const bool lists = arguments.last - arguments.first >= 3;
  if (arguments.require_load && lists && static_cast<double>(sum.totals.mended) < hours / 4) {
    std::printf("too few volumes were put back: one in four hours is wanted\n");
    return 1;
  }
  return sum.failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace csinative::sim

int main(int argc, char** argv) { return csinative::sim::Main(argc, argv); }
