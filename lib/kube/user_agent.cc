// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/user_agent.h"

#include <string_view>

#include "lib/base/strings.h"

namespace csinative::kube {
namespace {

std::string OrUnknown(std::string_view text) {
  return std::string(text.empty() ? "unknown" : text);
}

}  // namespace

std::string JoinUserAgent(const UserAgentParts& parts) {
  return StrCat(parts.program, "/", parts.version, " (", parts.os, "/", parts.arch, ") kubernetes/",
                parts.commit);
}

std::string UserAgentText(const UserAgentParts& parts) {
  const std::string_view program = parts.program;
  const std::string_view version = parts.version;
  const std::string_view commit = parts.commit;
  return JoinUserAgent({.program = OrUnknown(program.substr(program.rfind('/') + 1)),
                        .version = OrUnknown(version.substr(0, version.find('-'))),
                        .commit = OrUnknown(commit.substr(0, 7)),
                        .os = parts.os,
                        .arch = parts.arch});
}

}  // namespace csinative::kube
