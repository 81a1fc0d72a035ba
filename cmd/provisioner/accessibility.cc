// SPDX-License-Identifier: Apache-2.0
#include "cmd/provisioner/accessibility.h"

#include <algorithm>
#include <map>

#include "lib/base/go_quote.h"
#include "lib/base/strings.h"
#include "lib/kube/errors.h"

namespace csinative::provisioner {
namespace {

constexpr std::string_view kGenerating = "error generating accessibility requirements";

bool HasAll(const NodeLabels& labels, const TopologyKeys& keys) {
  return std::all_of(keys.begin(), keys.end(),
                     [&](const std::string& key) { return labels.contains(key); });
}

// REQUIRES: HasAll(labels, keys).
TopologyTerm TermOf(const NodeLabels& labels, const TopologyKeys& keys) {
  TopologyTerm term;
  for (const std::string& key : keys) term.emplace_back(key, labels.find(key)->second);
  std::sort(term.begin(), term.end());
  return term;
}

// Go's %v of a map.
std::string LabelsText(const NodeLabels& labels) {
  std::vector<std::string> parts;
  for (const auto& [key, value] : labels) parts.push_back(StrCat(key, ":", value));
  return StrCat("map[", Join(parts, " "), "]");
}

std::string KeysText(const TopologyKeys& keys) { return StrCat("[", Join(keys, " "), "]"); }

// Topology 6.2: the term of the selected node. Sets *keys_out.
Result<TopologyTerm> SelectedTerm(const AccessibilityInputs& inputs, const NodeTopology& nodes,
                                  RememberedTopology* remembered, TopologyKeys* keys_out) {
  const std::string& node = inputs.selected_node;
  TopologyKeys keys = remembered->keys;
  if (keys.empty()) {
    std::optional<TopologyKeys> reported = nodes.KeysOf(node);
    if (!reported) {
      return kube::CacheNotFound("csinode.storage.k8s.io", node)
          .WithContext(StrCat("failed to get selected CSINode ", node));
    }
    keys = *std::move(reported);
    if (!keys.empty()) remembered->keys = keys;
  }
  if (keys.empty()) {
    return FailedPreconditionError(StrCat(kGenerating, ": no topology key found for node ", node));
  }
  if (!HasAll(remembered->node_labels, keys)) {
    std::optional<NodeLabels> labels = nodes.LabelsOf(node);
    if (labels && !labels->empty()) remembered->node_labels = *labels;
    if (!labels || !HasAll(*labels, keys)) {
      return FailedPreconditionError(StrCat(kGenerating, ": topology labels from selected node ",
                                            LabelsText(labels.value_or(NodeLabels())),
                                            " does not match topology keys from CSINode ",
                                            KeysText(keys)));
    }
    *keys_out = keys;
    return TermOf(*labels, keys);
  }
  *keys_out = keys;
  return TermOf(remembered->node_labels, keys);
}

// Topology 6.5. `keys` is empty without a selected node.
Result<TopologyTerms> Aggregate(const NodeTopology& nodes, Random& random,
                                RememberedTopology* remembered, TopologyKeys keys) {
  if (keys.empty()) keys = remembered->keys;
  if (keys.empty()) {
    // One key set speaks for the cluster; which one is left to chance, so that a wrong node does
    // not break every claim.
    std::vector<TopologyKeys> all = nodes.AllKeys();
    if (all.empty()) {
      return FailedPreconditionError(StrCat(kGenerating, ": no available topology found"));
    }
    keys = std::move(all[random.Below(all.size())]);
    remembered->keys = keys;
  }
  if (!remembered->requisite.empty()) return remembered->requisite;
  TopologyTerms terms;
  for (const NodeLabels& labels : nodes.LabelsWith(keys)) terms.push_back(TermOf(labels, keys));
  if (terms.empty()) {
    return FailedPreconditionError(
        StrCat(kGenerating, ": topologyKeys ", KeysText(keys), " were not found on any nodes"));
  }
  remembered->requisite = terms;
  return terms;
}

::csi::v1::TopologyRequirement Requirement(const TopologyTerms& terms, size_t offset) {
  ::csi::v1::TopologyRequirement out;
  AppendTopologies(terms, 0, out.mutable_requisite());
  AppendTopologies(terms, offset, out.mutable_preferred());
  return out;
}

}  // namespace

Result<std::optional<::csi::v1::TopologyRequirement>> AccessibilityRequirements(
    const AccessibilityInputs& inputs, const NodeTopology& nodes, Random& random,
    RememberedTopology* remembered) {
  using Requirements = std::optional<::csi::v1::TopologyRequirement>;
  const bool has_node = !inputs.selected_node.empty();
  const bool has_allowed = inputs.klass->allowedtopologies_size() > 0;
  TopologyTerm selected;
  TopologyKeys selected_keys;
  TopologyTerms allowed = FlattenAllowed(*inputs.klass);

  if (has_node) {
    CSI_ASSIGN_OR_RETURN(selected, SelectedTerm(inputs, nodes, remembered, &selected_keys));
    if (inputs.policy.strict) {
      const bool fits = !has_allowed ||
                        std::any_of(allowed.begin(), allowed.end(), [&](const TopologyTerm& term) {
                          return IsSubset(term, selected);
                        });
      if (!fits) {
        return FailedPreconditionError(
            StrCat(kGenerating, ": selected node ", GoQuote(inputs.selected_node), " topology ",
                   TermText(selected), " is not in allowed topologies: ", TermsText(allowed)));
      }
      return Requirements(Requirement({selected}, 0));
    }
  }

  TopologyTerms requisite;
  if (has_allowed) {
    requisite = std::move(allowed);
  } else if (has_node || inputs.policy.immediate) {
    CSI_ASSIGN_OR_RETURN(requisite, Aggregate(nodes, random, remembered, selected_keys));
  }
  if (requisite.empty()) return Requirements();
  SortAndDeduplicate(&requisite);
  if (!has_node) {
    return Requirements(Requirement(requisite, SpreadOffset(inputs.claim_name, requisite.size())));
  }
  for (size_t i = 0; i < requisite.size(); ++i) {
    if (IsSubset(requisite[i], selected)) return Requirements(Requirement(requisite, i));
  }
  return FailedPreconditionError(StrCat(kGenerating, ": topology ", TermText(selected),
                                        " from selected node ", GoQuote(inputs.selected_node),
                                        " is not in requisite: ", TermsText(requisite)));
}

std::optional<core::VolumeNodeAffinity> NodeAffinityOf(const ::csi::v1::Volume& volume) {
  if (volume.accessible_topology_size() == 0) return std::nullopt;
  core::VolumeNodeAffinity affinity;
  // Present even when every topology is empty, as upstream: the API server then refuses the volume.
  core::NodeSelector* required = affinity.mutable_required();
  for (const ::csi::v1::Topology& topology : volume.accessible_topology()) {
    if (topology.segments().empty()) continue;
    core::NodeSelectorTerm* term = required->add_nodeselectorterms();
    const std::map<std::string, std::string> sorted(topology.segments().begin(),
                                                    topology.segments().end());
    for (const auto& [key, value] : sorted) {
      core::NodeSelectorRequirement* expression = term->add_matchexpressions();
      expression->set_key(key);
      expression->set_operator_("In");
      expression->add_values(value);
    }
  }
  return affinity;
}

}  // namespace csinative::provisioner
