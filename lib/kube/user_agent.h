// SPDX-License-Identifier: Apache-2.0
//
// The User-Agent of API requests (kube-client 6). Pure; any thread.
#pragma once

#include <string>

namespace csinative::kube {

struct UserAgentParts {
  std::string program;  // argv[0]; its last component counts
  std::string version;  // counts up to the first '-'
  std::string commit;   // its first seven characters count
  std::string os;
  std::string arch;
};

// "csi-provisioner/v1.2.3 (linux/amd64) kubernetes/abcdefg"; "unknown" for what is empty.
std::string UserAgentText(const UserAgentParts& parts);

// The same of parts that are whole already.
std::string JoinUserAgent(const UserAgentParts& parts);

}  // namespace csinative::kube
