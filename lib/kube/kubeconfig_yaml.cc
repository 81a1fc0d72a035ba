// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/kubeconfig_yaml.h"

#include <charconv>
#include <map>
#include <utility>

#include "lib/base/base64.h"
#include "lib/base/json_string.h"
#include "lib/base/strings.h"

namespace csinative::kube {
namespace {

// Deeper nesting is refused, so that the recursion below ends, and so is longer text: anchors can
// stand for themselves many times over.
constexpr int kMaxDepth = 100;
constexpr size_t kMaxJson = size_t{1} << 20;

bool IsJsonNumber(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const char last = text.empty() ? ' ' : text.back();
  const size_t first_digit = !text.empty() && text[0] == '-' ? 1 : 0;
  return error == std::errc() && end == text.data() + text.size() && last >= '0' && last <= '9' &&
         text.size() > first_digit && text[first_digit] >= '0' && text[first_digit] <= '9' &&
         (text[first_digit] != '0' || text.size() == first_digit + 1 ||
          text[first_digit + 1] == '.');
}

// A scalar by YAML's core schema: quoted text is a string, plain text may be something else.
std::string ScalarJson(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  if (node.Tag() == "?" && (text == "true" || text == "false" || IsJsonNumber(text))) return text;
  return JsonString(text);
}

bool AppendJson(const YAML::Node& node, int depth, std::string* out) {
  if (depth > kMaxDepth || out->size() > kMaxJson) return false;
  if (!node || node.IsNull()) {
    *out += "null";
    return true;
  }
  if (node.IsScalar()) {
    *out += ScalarJson(node);
    return true;
  }
  bool first = true;
  if (node.IsSequence()) {
    *out += '[';
    for (const YAML::Node& item : node) {
      if (!std::exchange(first, false)) *out += ',';
      if (!AppendJson(item, depth + 1, out)) return false;
    }
    *out += ']';
    return true;
  }
  // Sorted by key, as encoding/json writes maps.
  std::map<std::string, YAML::Node> members;
  for (const auto& member : node) members[member.first.Scalar()] = member.second;
  *out += '{';
  for (const auto& [key, value] : members) {
    if (!std::exchange(first, false)) *out += ',';
    *out += JsonString(key);
    *out += ':';
    if (!AppendJson(value, depth + 1, out)) return false;
  }
  *out += '}';
  return true;
}

}  // namespace

YamlFields::YamlFields(YAML::Node node, std::string path, Status* problem)
    : node_(std::move(node)), path_(std::move(path)), problem_(problem) {
  if (!IsNull() && !node_.IsMap()) Complain(path_, "is not a mapping");
}

void YamlFields::Text(const char* key, std::string* out) const {
  const YAML::Node value = Member(key);
  if (!value || value.IsNull()) return;
  if (!value.IsScalar()) return Complain(PathOf(key), "is not a string");
  *out = value.Scalar();
}

void YamlFields::Flag(const char* key, bool* out) const {
  std::string text;
  Text(key, &text);
  if (text.empty()) return;
  if (text != "true" && text != "false") return Complain(PathOf(key), "is not a boolean");
  *out = text == "true";
}

void YamlFields::Base64(const char* key, std::string* out) const {
  std::string text;
  Text(key, &text);
  Result<std::string> decoded = Base64Decode(text);
  if (!decoded.ok()) return Complain(PathOf(key), decoded.status().message());
  *out = *std::move(decoded);
}

void YamlFields::List(const char* key, std::vector<std::string>* out) const {
  const YAML::Node value = Member(key);
  if (!value || value.IsNull()) return;
  if (!value.IsSequence()) return Complain(PathOf(key), "is not a list");
  for (const YAML::Node& item : value) {
    if (!item.IsScalar()) return Complain(PathOf(key), "holds something else than strings");
    out->push_back(item.Scalar());
  }
}

void YamlFields::Json(const char* key, std::string* out) const {
  const YAML::Node value = Member(key);
  if (!value) return;
  out->clear();
  if (!AppendJson(value, 0, out)) Complain(PathOf(key), "is too large");
}

bool YamlFields::Has(const char* key) const {
  const YAML::Node value = Member(key);
  return value && !value.IsNull();
}

std::vector<std::string> YamlFields::Keys() const {
  std::vector<std::string> keys;
  if (IsNull() || !node_.IsMap()) return keys;
  for (const auto& member : node_) keys.push_back(member.first.Scalar());
  return keys;
}

YAML::Node YamlFields::Member(const char* key) const {
  if (IsNull() || !node_.IsMap()) return YAML::Node(YAML::NodeType::Undefined);
  return node_[key];
}

std::string YamlFields::PathOf(const char* key) const {
  return path_.empty() ? key : StrCat(path_, ".", key);
}

void YamlFields::Complain(const std::string& where, std::string_view what) const {
  if (problem_->ok()) {
    *problem_ =
        InvalidArgumentError(StrCat("yaml: ", where.empty() ? "the document" : where, " ", what));
  }
}

}  // namespace csinative::kube
