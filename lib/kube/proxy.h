// SPDX-License-Identifier: Apache-2.0
//
// Which proxy the environment names for a server (kube-client 1, 6): HTTP_PROXY, HTTPS_PROXY,
// NO_PROXY and their lower-case forms. Any thread.
#pragma once

#include <string>

#include "lib/kube/environment.h"

namespace csinative::kube {

// `origin` is "scheme://host:port". Empty: no proxy. Loopback addresses never have one.
std::string ProxyFromEnvironment(const std::string& origin, const GetEnv& getenv);

}  // namespace csinative::kube
