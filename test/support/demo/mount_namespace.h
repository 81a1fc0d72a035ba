// SPDX-License-Identifier: Apache-2.0
//
// A mount namespace for the demo and its children: nothing that they mount is seen outside, and all
// of it goes with them. Before any thread is started.
#pragma once

#include <string>
#include <vector>

#include "lib/base/result.h"

namespace csinative::demo {

// As root a mount namespace, as a normal user a user namespace around it, in which the user is
// root. The failure says what the machine does not allow.
Status EnterMountNamespace();

// Where something is mounted at the folder or below it, in the order in which it can be unmounted.
Result<std::vector<std::string>> MountPointsAtOrBelow(const std::string& folder);

// Detaches all of that.
void UnmountAtOrBelow(const std::string& folder);

}  // namespace csinative::demo
