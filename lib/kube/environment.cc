// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/environment.h"

#include <cstdlib>

namespace csinative::kube {

GetEnv ProcessEnvironment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe): start-up only
    if (value == nullptr) return std::nullopt;
    return value;
  };
}

bool GateEnabled(const GetEnv& getenv, const std::string& name, bool otherwise) {
  const std::string value = getenv("KUBE_FEATURE_" + name).value_or("");
  // Go: strconv.ParseBool.
  for (const char* yes : {"1", "t", "T", "TRUE", "true", "True"}) {
    if (value == yes) return true;
  }
  for (const char* no : {"0", "f", "F", "FALSE", "false", "False"}) {
    if (value == no) return false;
  }
  return otherwise;
}

}  // namespace csinative::kube
