// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/proxy.h"

#include <gtest/gtest.h>

#include <map>

namespace csinative::kube {
namespace {

struct Case {
  const char* name;
  const char* origin;
  const char* no_proxy;
  bool proxied;
};

class ProxyTest : public ::testing::TestWithParam<Case> {};

TEST_P(ProxyTest, FollowsNoProxy) {
  const Case& c = GetParam();
  const GetEnv getenv = [&](const std::string& name) -> std::optional<std::string> {
    if (name == "https_proxy" || name == "http_proxy") return "http://proxy:1";
    if (name == "NO_PROXY") return c.no_proxy;
    return std::nullopt;
  };
  EXPECT_EQ(ProxyFromEnvironment(c.origin, getenv), c.proxied ? "http://proxy:1" : "");
}

INSTANTIATE_TEST_SUITE_P(
    NoProxy, ProxyTest,
    ::testing::Values(
        Case{"Nothing", "https://api.example.com:6443", "", true},
        Case{"Everything", "https://api.example.com:6443", "*", false},
        Case{"Loopback", "https://127.0.0.5:6443", "", false},
        Case{"Loopback6", "https://[::1]:6443", "", false},
        Case{"Localhost", "http://localhost", "", false},
        Case{"SameHost", "https://api.example.com:6443", "other, api.example.com", false},
        Case{"ParentDomain", "https://api.example.com", "example.com", false},
        Case{"SuffixOnly", "https://example.com", ".example.com", true},
        Case{"NotASuffix", "https://badexample.com", "example.com", true},
        Case{"OtherPort", "https://api.example.com:6443", "api.example.com:443", true},
        Case{"SamePort", "https://api.example.com", "api.example.com:443", false},
        Case{"Address", "https://10.1.2.3:443", "10.1.2.3", false},
        Case{"Network", "https://10.1.2.3:443", "10.1.0.0/16", false},
        Case{"OtherNetwork", "https://10.2.2.3:443", "10.1.0.0/16", true},
        Case{"Network6", "https://[fd00::1]:443", "fd00::/8", false},
        Case{"BadNetwork", "https://10.2.2.3:443", "10.0.0.0/99,x/8,/", true}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace csinative::kube
