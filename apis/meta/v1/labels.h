// SPDX-License-Identifier: Apache-2.0
//
// Label and field selectors: their text, the LabelSelector object, and matching (kube-client 21).
// Values; any thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apis/core/v1/maps.h"
#include "apis/map_entry.pb.h"
#include "apis/meta/v1/meta.pb.h"
#include "apis/namespaces.h"
#include "lib/base/result.h"

namespace csinative::apis {

enum class SelectorOperator {
  kEquals,  // also "=="
  kNotEquals,
  kIn,
  kNotIn,
  kExists,
  kDoesNotExist,
  kGreaterThan,
  kLessThan,
};

// One term of a label selector.
struct LabelRequirement {
  std::string key;
  SelectorOperator op = SelectorOperator::kExists;
  std::vector<std::string> values;  // sorted, each once

  // InvalidArgument when key, operator and values do not go together or have a wrong shape.
  Status Validate() const;
  // `value` is the object's label, nullptr when it has none.
  bool Matches(const std::string* value) const;
  std::string ToString() const;
};

// Requirements that must all hold. The default matches everything.
class LabelSelector {
 public:
  LabelSelector() = default;
  static LabelSelector Everything() { return {}; }
  static LabelSelector Nothing();

  // "a=b,c in (d,e),!f". White space is free; the empty text matches everything.
  static Result<LabelSelector> Parse(std::string_view text);
  // The object's form: an empty selector matches everything, no selector (nullptr) nothing.
  static Result<LabelSelector> FromProto(const meta::LabelSelector* selector);

  // Keeps the requirements sorted by key. InvalidArgument: nothing is added.
  Status Add(LabelRequirement requirement);

  bool Matches(const Entries<StringEntry>& labels) const;
  // True for the default selector and for Parse("").
  bool MatchesEverything() const { return !nothing_ && requirements_.empty(); }
  bool MatchesNothing() const { return nothing_; }
  const std::vector<LabelRequirement>& requirements() const { return requirements_; }

  // Sorted by key, values sorted, "==" as "=". Nothing() prints as "".
  std::string ToString() const;

 private:
  bool nothing_ = false;
  std::vector<LabelRequirement> requirements_;
};

// One term of a field selector. An absent field has the value "".
struct FieldRequirement {
  std::string field;
  bool equal = true;
  std::string value;
};

class FieldSelector {
 public:
  // The default matches everything.
  FieldSelector() = default;
  // "metadata.name=x,status.phase!=Running"; backslash escapes '\', ',' and '=' in values.
  // Field names are not checked: what a resource supports is the server's business.
  static Result<FieldSelector> Parse(std::string_view text);
  static FieldSelector Equal(std::string field, std::string value);

  // `get` gives the value of a field, "" when the object has none.
  bool Matches(const std::function<std::string(std::string_view field)>& get) const;
  // The value that the selector demands of `field`, if it demands one.
  std::optional<std::string> RequiredValue(std::string_view field) const;
  bool MatchesEverything() const { return requirements_.empty(); }
  const std::vector<FieldRequirement>& requirements() const { return requirements_; }

  // Sorted by field, "==" as "=", values escaped.
  std::string ToString() const;

 private:
  std::vector<FieldRequirement> requirements_;
};

// Backslashes before '\', ',' and '='.
std::string EscapeFieldValue(std::string_view value);

}  // namespace csinative::apis
