// SPDX-License-Identifier: Apache-2.0
//
// Runs simulated clusters.
//
//   sim --seed N [--hours H] [--trace]      one world
//   sim --seeds A..B [--hours H]            one world for each seed, H hours each
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "test/sim/world.h"

namespace csinative::sim {
namespace {

struct Arguments {
  uint64_t first = 1, last = 1;
  uint64_t hours = 1;
  bool trace = false;
};

bool Parse(int argc, char** argv, Arguments* out) {
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--trace") {
      out->trace = true;
      continue;
    }
    if (i + 1 == argc) return false;
    char* end = nullptr;
    const char* value = argv[++i];
    if (name == "--seed") {
      out->first = out->last = std::strtoull(value, &end, 10);
    } else if (name == "--hours") {
      out->hours = std::strtoull(value, &end, 10);
    } else if (name == "--seeds") {
      out->first = std::strtoull(value, &end, 10);
      if (std::strncmp(end, "..", 2) != 0) return false;
      out->last = std::strtoull(end + 2, &end, 10);
    } else {
      return false;
    }
    if (end == value || *end != '\0') return false;
  }
  return out->first <= out->last && out->hours > 0;
}

// False after a violation.
bool RunSeed(uint64_t seed, const Arguments& arguments, Totals* sum) {
  WorldOptions options;
  options.seed = seed;
  if (arguments.trace) {
    options.on_line = [](std::string_view line) {
      std::printf("%.*s\n", static_cast<int>(line.size()), line.data());
    };
  }
  World world(options);
  bool ok = true;
  for (uint64_t hour = 0; ok && hour < arguments.hours; ++hour) ok = world.RunHour();
  const Totals totals = world.totals();
  sum->operations += totals.operations;
  sum->faults += totals.faults;
  sum->crashes += totals.crashes;
  sum->hours += totals.hours;
  sum->known_leaks += totals.known_leaks;
  if (!ok) {
    std::printf("seed %" PRIu64 ": VIOLATION after %" PRIu64 " hours\n", seed, totals.hours);
    for (const std::string& line : world.trace().recent()) std::printf("  %s\n", line.c_str());
    for (const std::string& what : world.violations()) std::printf("  => %s\n", what.c_str());
  } else if (arguments.first == arguments.last) {
    std::printf("seed %" PRIu64 ": digest %016" PRIx64 ", %zu lines\n", seed,
                world.trace().digest(), world.trace().lines());
  }
  return ok;
}

int Main(int argc, char** argv) {
  Arguments arguments;
  if (!Parse(argc, argv, &arguments)) {
    std::fprintf(stderr, "usage: sim --seed N | --seeds A..B [--hours H] [--trace]\n");
    return 2;
  }
  const auto start = std::chrono::steady_clock::now();
  Totals sum;
  uint64_t failed = 0;
  for (uint64_t seed = arguments.first; seed <= arguments.last; ++seed) {
    if (!RunSeed(seed, arguments, &sum)) ++failed;
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const double hours = static_cast<double>(sum.hours);
  std::printf(
      "%" PRIu64 " seeds, %" PRIu64 " failed; %" PRIu64 " virtual hours in %.1f s (%.0f an hour)\n",
      arguments.last - arguments.first + 1, failed, sum.hours, seconds, hours / seconds * 3600);
  std::printf("each hour: %.0f operations, %.0f faults, %.1f crashes\n",
              static_cast<double>(sum.operations) / hours, static_cast<double>(sum.faults) / hours,
              static_cast<double>(sum.crashes) / hours);
  std::printf("%" PRIu64 " volumes of claims deleted while csi-provisioner was dead\n",
              sum.known_leaks);
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace csinative::sim

int main(int argc, char** argv) { return csinative::sim::Main(argc, argv); }
