// SPDX-License-Identifier: Apache-2.0
//
// Which kubeconfig files are read, and how several become one (kube-client 2.2). Any thread; reads
// files.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/kube/environment.h"
#include "lib/kube/kubeconfig.h"
#include "lib/log/logger.h"

namespace csinative::kube {

struct LoadingRules {
  // Only this file, and it has to be there.
  std::string explicit_path;
  // Otherwise these, the first with a say first; missing ones are passed over.
  std::vector<std::string> precedence;
  // Log at V(1) when none of them is there.
  bool warn_if_all_missing = false;
  // Destination to source: a missing destination is first copied from its source, where older
  // releases kept it.
  std::map<std::string, std::string> migrations;

  // The files that will be read, in order.
  std::vector<std::string> Files() const;
};

// $KUBECONFIG, a list separated by colons, or $HOME/.kube/config.
LoadingRules DefaultLoadingRules(const GetEnv& getenv);

// The first entry of each name, wholly, and the first current context.
Kubeconfig MergeKubeconfigs(std::vector<Kubeconfig> files);

// Reads and merges. A missing explicit file fails; all files that cannot be understood are named.
Result<Kubeconfig> LoadKubeconfig(const LoadingRules& rules, const log::Logger& log);

// Copies old files to where they are expected now, byte for byte.
Status MigrateKubeconfigs(const LoadingRules& rules);

}  // namespace csinative::kube
