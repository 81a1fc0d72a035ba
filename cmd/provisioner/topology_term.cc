// SPDX-License-Identifier: Apache-2.0
#include "cmd/provisioner/topology_term.h"

#include <algorithm>
#include <charconv>

#include "lib/base/strings.h"

namespace csinative::provisioner {
namespace {

// FNV-1, not FNV-1a.
uint32_t Hash(std::string_view text) {
  uint32_t hash = 2166136261u;
  for (const char c : text) {
    hash *= 16777619u;
    hash ^= static_cast<uint8_t>(c);
  }
  return hash;
}

TopologyTerms FlattenTerm(const core::TopologySelectorTerm& selector) {
  TopologyTerms terms;
  for (const auto& expression : selector.matchlabelexpressions()) {
    TopologyTerms product;
    for (const std::string& value : expression.values()) {
      if (terms.empty()) {
        product.push_back({{expression.key(), value}});
        continue;
      }
      for (TopologyTerm term : terms) {
        term.emplace_back(expression.key(), value);
        product.push_back(std::move(term));
      }
    }
    // An expression without values discards what was there; the next one starts anew.
    terms = std::move(product);
  }
  return terms;
}

}  // namespace

bool TermLess(const TopologyTerm& a, const TopologyTerm& b) {
  if (a.size() != b.size()) return a.size() < b.size();
  return a < b;
}

bool IsSubset(const TopologyTerm& a, const TopologyTerm& b) {
  size_t at = 0;
  for (const auto& [key, value] : b) {
    if (at == a.size()) return true;
    if (a[at].first != key) continue;
    if (a[at].second != value) return false;
    ++at;
  }
  return at == a.size();
}

void SortAndDeduplicate(TopologyTerms* terms) {
  std::sort(terms->begin(), terms->end(), TermLess);
  terms->erase(std::unique(terms->begin(), terms->end()), terms->end());
}

TopologyTerms FlattenAllowed(const storage::StorageClass& klass) {
  TopologyTerms all;
  for (const auto& selector : klass.allowedtopologies()) {
    for (TopologyTerm& term : FlattenTerm(selector)) {
      std::sort(term.begin(), term.end());
      all.push_back(std::move(term));
    }
  }
  return all;
}

size_t SpreadOffset(std::string_view claim_name, size_t n) {
  uint32_t ordinal = 0;
  std::string_view hashed = claim_name;
  if (const size_t dash = claim_name.rfind('-'); dash != std::string_view::npos) {
    const std::string_view digits = claim_name.substr(dash + 1);
    const char* end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, ordinal);
    if (!digits.empty() && stop == end && error == std::errc()) {
      hashed = claim_name.substr(0, dash);
      if (const size_t inner = hashed.rfind('-'); inner != std::string_view::npos) {
        hashed = hashed.substr(inner + 1);
      }
    } else {
      ordinal = 0;
    }
  }
  return static_cast<uint32_t>(Hash(hashed) + ordinal) % n;
}

void AppendTopologies(const TopologyTerms& terms, size_t offset,
                      google::protobuf::RepeatedPtrField<::csi::v1::Topology>* out) {
  for (size_t i = 0; i < terms.size(); ++i) {
    const TopologyTerm& term = terms[(offset + i) % terms.size()];
    if (term.empty()) continue;
    auto* segments = out->Add()->mutable_segments();
    for (const auto& [key, value] : term) (*segments)[key] = value;
  }
}

std::string TermText(const TopologyTerm& term) {
  std::vector<std::string> labels;
  for (const auto& [key, value] : term) labels.push_back(StrCat("{", key, " ", value, "}"));
  return StrCat("[", Join(labels, " "), "]");
}

std::string TermsText(const TopologyTerms& terms) {
  std::vector<std::string> parts;
  for (const TopologyTerm& term : terms) parts.push_back(TermText(term));
  return StrCat("[", Join(parts, " "), "]");
}

}  // namespace csinative::provisioner
