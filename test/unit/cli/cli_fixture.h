// SPDX-License-Identifier: Apache-2.0
//
// The flags of a small controller in both grammars: enough for every row of common 20.1.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lib/cli/auto_max_procs.h"
#include "lib/cli/common_flags.h"
#include "lib/cli/feature_gates.h"
#include "lib/cli/flag_set.h"

namespace csinative::cli {

class TestProgram {
 public:
  explicit TestProgram(Grammar grammar)
      : gates(grammar == Grammar::kPflag ? ProvisionerGates() : AttacherGates()),
        flags(grammar, "/csi-test") {
    common.Register(flags);
    logging.Register(flags, &auto_max_procs);
    gates.RegisterFlag(flags, &gate_map);
    flags.DurationFlag("timeout", &timeout, "limit");
    flags.UintFlag("worker-threads", &worker_threads, "threads");
    flags.BoolFlag("strict-topology", &strict_topology, "strict");
    flags.FloatFlag("kube-api-capacity-qps", &capacity_qps, "limit");
    flags.IntFlag("capacity-ownerref-level", &ownerref_level, "level");
  }

  ParseResult Parse(const std::vector<std::string>& arguments) {
    std::vector<const char*> pointers;
    for (const std::string& argument : arguments) pointers.push_back(argument.c_str());
    return flags.Parse(pointers);
  }

  CommonFlags common;
  LoggingFlags logging;
  AutoMaxProcs auto_max_procs{log::Logger(), {.root = "/nonexistent"}};
  FeatureGates gates;
  GateMap gate_map;
  Duration timeout = std::chrono::seconds(15);
  uint64_t worker_threads = 10;
  bool strict_topology = false;
  float capacity_qps = 1;
  int64_t ownerref_level = 1;
  FlagSet flags;
};

}  // namespace csinative::cli
