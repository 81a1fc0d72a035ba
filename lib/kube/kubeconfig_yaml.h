// SPDX-License-Identifier: Apache-2.0
//
// Reading the YAML of a kubeconfig. Internal to kubeconfig.cc. Any thread.
#pragma once

#include <yaml-cpp/yaml.h>

#include <string>
#include <string_view>
#include <vector>

#include "lib/base/status.h"

namespace csinative::kube {

// Reads fields of one YAML mapping; remembers the first thing that is wrong in *problem, which
// outlives it.
class YamlFields {
 public:
  YamlFields(YAML::Node node, std::string path, Status* problem);

  void Text(const char* key, std::string* out) const;
  void Flag(const char* key, bool* out) const;
  void Base64(const char* key, std::string* out) const;
  void List(const char* key, std::vector<std::string>* out) const;
  // The value as JSON text.
  void Json(const char* key, std::string* out) const;
  YamlFields Object(const char* key) const { return {Member(key), PathOf(key), problem_}; }
  bool Has(const char* key) const;
  std::vector<std::string> Keys() const;
  // The elements of a list of mappings.
  template <typename Visit>
  void Elements(const char* key, Visit visit) const {
    const YAML::Node value = Member(key);
    if (!value || value.IsNull()) return;
    if (!value.IsSequence()) return Complain(PathOf(key), "is not a list");
    size_t index = 0;
    for (const YAML::Node& item : value) {
      visit(YamlFields(item, PathOf(key) + "[" + std::to_string(index++) + "]", problem_));
    }
  }

 private:
  bool IsNull() const { return !node_ || node_.IsNull(); }
  YAML::Node Member(const char* key) const;
  std::string PathOf(const char* key) const;
  void Complain(const std::string& where, std::string_view what) const;

  const YAML::Node node_;
  std::string path_;
  Status* problem_;
};

}  // namespace csinative::kube
