// SPDX-License-Identifier: Apache-2.0
//
// Which cluster and user of a kubeconfig are meant, what replaces parts of them, and whether that
// makes sense (kube-client 2.3, 2.4). Any thread; validation looks at files.
#pragma once

#include <string>

#include "lib/base/result.h"
#include "lib/kube/kubeconfig.h"

namespace csinative::kube {

// What flags put in place of the file's content; empty means the file's.
struct KubeOverrides {
  std::string context_name;
  KubeContext context;  // names of cluster and user, and the namespace
  KubeCluster cluster;
  KubeUser user;
};

// Puts non-empty members of `from` into *to. Lists and the plugin are replaced as a whole, maps
// are merged by key; an empty member clears nothing.
void MergeCluster(const KubeCluster& from, KubeCluster* to);
void MergeUser(const KubeUser& from, KubeUser* to);

struct KubeSelection {
  std::string context_name;
  bool context_missing = false;
  std::string cluster_name;
  KubeCluster cluster;  // empty if there is none
  std::string user_name;
  KubeUser user;  // empty if there is none
  std::string ns = "default";
  bool ns_overridden = false;  // by the overrides, not by the context
};

// The current context's entries under the overrides, on top of cluster_defaults. A context that is
// named by the file and missing is left to ValidateSelection; kInvalidArgument for an override that
// names something that is not there.
Result<KubeSelection> SelectContext(const Kubeconfig& config, const KubeOverrides& overrides,
                                    const KubeCluster& cluster_defaults = {});

// Ok, or kInvalidArgument "invalid configuration: ..." with everything that is wrong.
Status ValidateSelection(const KubeSelection& selection);
// The failure of ValidateSelection that means: there is no configuration at all.
bool IsEmptyConfig(const Status& failure);

// The same for one context of a file, and for a whole file with entries that nobody uses.
Status ValidateContext(const Kubeconfig& config, const std::string& context_name);
Status ValidateKubeconfig(const Kubeconfig& config);

}  // namespace csinative::kube
