// SPDX-License-Identifier: Apache-2.0
//
// Topology terms: the labels that say where something is, and the order the driver gets them in
// (topology 6.4, 6.6, 6.7). Pure functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apis/namespaces.h"
#include "apis/storage/v1/storage.pb.h"
#include "proto/csi/v1/csi.pb.h"

namespace csinative::provisioner {

// Labels, sorted by key and then value. A key may occur twice.
using TopologyTerm = std::vector<std::pair<std::string, std::string>>;
using TopologyTerms = std::vector<TopologyTerm>;

// Fewer labels first, then label by label.
bool TermLess(const TopologyTerm& a, const TopologyTerm& b);

// Whether every label of `a` is in `b`. Both sorted.
bool IsSubset(const TopologyTerm& a, const TopologyTerm& b);

// Sorts, and drops equal neighbours.
void SortAndDeduplicate(TopologyTerms* terms);

// allowedTopologies of a class as terms: every combination of values. May be empty, although the
// class has terms.
TopologyTerms FlattenAllowed(const storage::StorageClass& klass);

// Where the preferred list of a claim without a node starts, among n > 0 terms: claims of one
// StatefulSet replica start together, and consecutive ordinals one after the other.
size_t SpreadOffset(std::string_view claim_name, size_t n);

// Terms as CSI messages, in their order starting at `offset`; empty terms are left out.
void AppendTopologies(const TopologyTerms& terms, size_t offset,
                      google::protobuf::RepeatedPtrField<::csi::v1::Topology>* out);

// For error texts, as Go prints them: "[{zone a} {rack b}]" and "[[{zone a}] [{zone c}]]".
std::string TermText(const TopologyTerm& term);
std::string TermsText(const TopologyTerms& terms);

}  // namespace csinative::provisioner
