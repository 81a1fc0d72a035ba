// SPDX-License-Identifier: Apache-2.0
#include "apis/meta/v1/labels.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "apis/meta/v1/names.h"

namespace csinative::apis {
namespace {

std::optional<int64_t> ParseInt64(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

void SortUnique(std::vector<std::string>* values) {
  std::sort(values->begin(), values->end());
  values->erase(std::unique(values->begin(), values->end()), values->end());
}

Status Unexpected(std::string_view found, std::string_view expected) {
  return InvalidArgumentError("unable to parse requirement: found '" + std::string(found) +
                              "', expected: " + std::string(expected));
}

// Cuts a selector's text into words and symbols and builds requirements from them.
class LabelParser {
 public:
  explicit LabelParser(std::string_view text) : rest_(text) { Advance(); }

  Result<std::vector<LabelRequirement>> Run() {
    std::vector<LabelRequirement> out;
    if (token_.kind == Kind::kEnd) return out;
    while (true) {
      CSI_ASSIGN_OR_RETURN(LabelRequirement requirement, Requirement());
      CSI_RETURN_IF_ERROR(requirement.Validate());
      out.push_back(std::move(requirement));
      if (token_.kind == Kind::kEnd) return out;
      if (!Skip(",")) return Unexpected(token_.text, "',' or 'end of string'");
      if (token_.kind != Kind::kWord && !Is("!")) {
        return Unexpected(token_.text, "identifier after ','");
      }
    }
  }

 private:
  enum class Kind { kEnd, kWord, kSymbol };
  struct Token {
    Kind kind = Kind::kEnd;
    std::string_view text;
  };

  static bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
  static bool IsSymbol(char c) { return std::string_view("=!(),><").find(c) != std::string::npos; }

  void Advance() {
    while (!rest_.empty() && IsSpace(rest_[0])) rest_.remove_prefix(1);
    if (rest_.empty()) {
      token_ = {};
      return;
    }
    size_t n = 0;
    if (IsSymbol(rest_[0])) {
      token_.kind = Kind::kSymbol;
      n = rest_.starts_with("==") || rest_.starts_with("!=") ? 2 : 1;
    } else {
      token_.kind = Kind::kWord;
      while (n < rest_.size() && !IsSpace(rest_[n]) && !IsSymbol(rest_[n])) ++n;
    }
    token_.text = rest_.substr(0, n);
    rest_.remove_prefix(n);
  }

  bool Is(std::string_view symbol) const {
    return token_.kind == Kind::kSymbol && token_.text == symbol;
  }
  bool Skip(std::string_view symbol) {
    if (!Is(symbol)) return false;
    Advance();
    return true;
  }

  Result<LabelRequirement> Requirement() {
    LabelRequirement out;
    bool negated = Skip("!");
    if (token_.kind != Kind::kWord) return Unexpected(token_.text, "identifier");
    out.key = token_.text;
    Advance();
    bool alone = token_.kind == Kind::kEnd || Is(",");
    if (negated && !alone) return Unexpected(token_.text, "',' or 'end of string'");
    if (alone) {
      out.op = negated ? SelectorOperator::kDoesNotExist : SelectorOperator::kExists;
      return out;
    }
    static constexpr std::pair<std::string_view, SelectorOperator> kOperators[] = {
        {"=", SelectorOperator::kEquals},     {"==", SelectorOperator::kEquals},
        {"!=", SelectorOperator::kNotEquals}, {"in", SelectorOperator::kIn},
        {"notin", SelectorOperator::kNotIn},  {">", SelectorOperator::kGreaterThan},
        {"<", SelectorOperator::kLessThan},
    };
    const auto* found = std::find_if(std::begin(kOperators), std::end(kOperators),
                                     [&](const auto& o) { return o.first == token_.text; });
    if (found == std::end(kOperators)) {
      return Unexpected(token_.text, "in, notin, =, ==, !=, gt, lt");
    }
    out.op = found->second;
    Advance();
    bool set = out.op == SelectorOperator::kIn || out.op == SelectorOperator::kNotIn;
    if (set) {
      CSI_ASSIGN_OR_RETURN(out.values, Set());
    } else if (token_.kind == Kind::kEnd || Is(",")) {
      out.values.emplace_back();
    } else if (token_.kind == Kind::kWord) {
      out.values.emplace_back(token_.text);
      Advance();
    } else {
      return Unexpected(token_.text, "identifier");
    }
    return out;
  }

  // "(a,,b)": an empty place is the empty value.
  Result<std::vector<std::string>> Set() {
    if (!Skip("(")) return Unexpected(token_.text, "'('");
    std::vector<std::string> values;
    while (true) {
      if (token_.kind == Kind::kWord) {
        values.emplace_back(token_.text);
        Advance();
      } else {
        values.emplace_back();
      }
      if (Skip(")")) break;
      if (!Skip(",")) return Unexpected(token_.text, "',' or ')'");
    }
    SortUnique(&values);
    return values;
  }

  std::string_view rest_;
  Token token_;
};

// A comma separates terms unless a backslash stands in front of it.
std::vector<std::string_view> SplitTerms(std::string_view text) {
  std::vector<std::string_view> terms;
  size_t start = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == ',') {
      terms.push_back(text.substr(start, i - start));
      start = i + 1;
    }
  }
  terms.push_back(text.substr(start));
  return terms;
}

Result<std::string> UnescapeFieldValue(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == ',' || c == '=') {
      return InvalidArgumentError("invalid field selector: unescaped character in value: " +
                                  std::to_string(static_cast<int>(c)));
    }
    if (c == '\\') {
      std::string_view sequence = text.substr(i, 2);
      if (sequence.size() < 2 || std::string_view("\\,=").find(sequence[1]) == std::string::npos) {
        return InvalidArgumentError("invalid field selector: invalid escape sequence: " +
                                    std::string(sequence));
      }
      c = sequence[1];
      ++i;
    }
    out.push_back(c);
  }
  return out;
}

}  // namespace

Status LabelRequirement::Validate() const {
  auto invalid = [&](std::string_view why) {
    return InvalidArgumentError("invalid requirement for key \"" + key + "\": " + std::string(why));
  };
  if (!IsLabelKey(key)) return invalid("not a label key");
  switch (op) {
    case SelectorOperator::kIn:
    case SelectorOperator::kNotIn:
      if (values.empty()) return invalid("for 'in', 'notin' operators, values set can't be empty");
      break;
    case SelectorOperator::kEquals:
    case SelectorOperator::kNotEquals:
      if (values.size() != 1) {
        return invalid("exact-match compatibility requires one single value");
      }
      break;
    case SelectorOperator::kExists:
    case SelectorOperator::kDoesNotExist:
      if (!values.empty()) {
        return invalid("values set must be empty for exists and does not exist");
      }
      break;
    case SelectorOperator::kGreaterThan:
    case SelectorOperator::kLessThan:
      if (values.size() != 1) {
        return invalid("for 'Gt', 'Lt' operators, exactly one value is required");
      }
      if (!ParseInt64(values[0])) {
        return invalid("for 'Gt', 'Lt' operators, the value must be an integer");
      }
      break;
  }
  for (const std::string& value : values) {
    if (!IsLabelValue(value)) return invalid("\"" + value + "\" is not a label value");
  }
  return Status::Ok();
}

bool LabelRequirement::Matches(const std::string* value) const {
  auto listed = [&] { return std::find(values.begin(), values.end(), *value) != values.end(); };
  switch (op) {
    case SelectorOperator::kEquals:
    case SelectorOperator::kIn:
      return value && listed();
    case SelectorOperator::kNotEquals:
    case SelectorOperator::kNotIn:
      return !value || !listed();
    case SelectorOperator::kExists:
      return value != nullptr;
    case SelectorOperator::kDoesNotExist:
      return value == nullptr;
    case SelectorOperator::kGreaterThan:
    case SelectorOperator::kLessThan: {
      if (!value || values.size() != 1) return false;
      std::optional<int64_t> have = ParseInt64(*value);
      std::optional<int64_t> bound = ParseInt64(values[0]);
      if (!have || !bound) return false;
      return op == SelectorOperator::kGreaterThan ? *have > *bound : *have < *bound;
    }
  }
  return false;
}

std::string LabelRequirement::ToString() const {
  std::string joined;
  for (const std::string& value : values) {
    if (&value != &values.front()) joined.push_back(',');
    joined += value;
  }
  switch (op) {
    case SelectorOperator::kEquals:
      return key + "=" + joined;
    case SelectorOperator::kNotEquals:
      return key + "!=" + joined;
    case SelectorOperator::kIn:
      return key + " in (" + joined + ")";
    case SelectorOperator::kNotIn:
      return key + " notin (" + joined + ")";
    case SelectorOperator::kExists:
      return key;
    case SelectorOperator::kDoesNotExist:
      return "!" + key;
    case SelectorOperator::kGreaterThan:
      return key + ">" + joined;
    case SelectorOperator::kLessThan:
      return key + "<" + joined;
  }
  return key;
}

LabelSelector LabelSelector::Nothing() {
  LabelSelector out;
  out.nothing_ = true;
  return out;
}

Result<LabelSelector> LabelSelector::Parse(std::string_view text) {
  CSI_ASSIGN_OR_RETURN(std::vector<LabelRequirement> requirements, LabelParser(text).Run());
  LabelSelector out;
  for (LabelRequirement& requirement : requirements) {
    CSI_RETURN_IF_ERROR(out.Add(std::move(requirement)));
  }
  return out;
}

Result<LabelSelector> LabelSelector::FromProto(const meta::LabelSelector* selector) {
  if (!selector) return Nothing();
  LabelSelector out;
  for (const StringEntry& label : selector->matchlabels()) {
    CSI_RETURN_IF_ERROR(out.Add({label.key(), SelectorOperator::kEquals, {label.value()}}));
  }
  for (const meta::LabelSelectorRequirement& expression : selector->matchexpressions()) {
    LabelRequirement requirement{
        .key = expression.key(),
        .op = SelectorOperator::kExists,
        .values = {expression.values().begin(), expression.values().end()}};
    const std::string& op = expression.operator_();
    if (op == "In") {
      requirement.op = SelectorOperator::kIn;
    } else if (op == "NotIn") {
      requirement.op = SelectorOperator::kNotIn;
    } else if (op == "DoesNotExist") {
      requirement.op = SelectorOperator::kDoesNotExist;
    } else if (op != "Exists") {
      return InvalidArgumentError("\"" + op + "\" is not a valid label selector operator");
    }
    CSI_RETURN_IF_ERROR(out.Add(std::move(requirement)));
  }
  return out;
}

Status LabelSelector::Add(LabelRequirement requirement) {
  SortUnique(&requirement.values);
  CSI_RETURN_IF_ERROR(requirement.Validate());
  auto at = std::upper_bound(requirements_.begin(), requirements_.end(), requirement,
                             [](const auto& a, const auto& b) { return a.key < b.key; });
  requirements_.insert(at, std::move(requirement));
  return Status::Ok();
}

bool LabelSelector::Matches(const Entries<StringEntry>& labels) const {
  return !nothing_ && std::all_of(requirements_.begin(), requirements_.end(), [&](const auto& r) {
    return r.Matches(GetEntry(labels, r.key));
  });
}

std::string LabelSelector::ToString() const {
  std::string out;
  for (const LabelRequirement& requirement : requirements_) {
    if (!out.empty()) out.push_back(',');
    out += requirement.ToString();
  }
  return out;
}

Result<FieldSelector> FieldSelector::Parse(std::string_view text) {
  std::vector<std::string_view> terms = SplitTerms(text);
  std::sort(terms.begin(), terms.end());
  FieldSelector out;
  for (std::string_view term : terms) {
    if (term.empty()) continue;
    size_t at = term.find('=');
    if (at == std::string_view::npos) {
      return InvalidArgumentError("invalid selector: '" + std::string(text) +
                                  "'; can't understand '" + std::string(term) + "'");
    }
    FieldRequirement requirement;
    requirement.equal = at == 0 || term[at - 1] != '!';
    requirement.field = term.substr(0, requirement.equal ? at : at - 1);
    std::string_view value = term.substr(at + 1);
    if (requirement.equal && value.starts_with('=')) value.remove_prefix(1);
    CSI_ASSIGN_OR_RETURN(requirement.value, UnescapeFieldValue(value));
    // Upstream: a term that says nothing about nothing is left out.
    if (requirement.field.empty() && requirement.value.empty()) continue;
    out.requirements_.push_back(std::move(requirement));
  }
  return out;
}

FieldSelector FieldSelector::Equal(std::string field, std::string value) {
  FieldSelector out;
  out.requirements_.push_back(
      {.field = std::move(field), .equal = true, .value = std::move(value)});
  return out;
}

bool FieldSelector::Matches(const std::function<std::string(std::string_view)>& get) const {
  return std::all_of(requirements_.begin(), requirements_.end(),
                     [&](const auto& r) { return (get(r.field) == r.value) == r.equal; });
}

std::optional<std::string> FieldSelector::RequiredValue(std::string_view field) const {
  for (const FieldRequirement& requirement : requirements_) {
    if (requirement.equal && requirement.field == field) return requirement.value;
  }
  return std::nullopt;
}

std::string FieldSelector::ToString() const {
  std::string out;
  for (const FieldRequirement& requirement : requirements_) {
    if (!out.empty()) out.push_back(',');
    out +=
        requirement.field + (requirement.equal ? "=" : "!=") + EscapeFieldValue(requirement.value);
  }
  return out;
}

std::string EscapeFieldValue(std::string_view value) {
  std::string out;
  for (char c : value) {
    if (c == '\\' || c == ',' || c == '=') out.push_back('\\');
    out.push_back(c);
  }
  return out;
}

}  // namespace csinative::apis
