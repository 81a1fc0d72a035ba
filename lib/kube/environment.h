// SPDX-License-Identifier: Apache-2.0
//
// The process environment as a value that tests can replace. Any thread.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace csinative::kube {

// Nothing for a variable that is not set.
using GetEnv = std::function<std::optional<std::string>(const std::string& name)>;

// The real one: read it at start-up, before other threads run.
GetEnv ProcessEnvironment();

// A gate of the client library, read from KUBE_FEATURE_<name> (kube-client 1). What is no boolean
// changes nothing.
bool GateEnabled(const GetEnv& getenv, const std::string& name, bool otherwise);

}  // namespace csinative::kube
