// SPDX-License-Identifier: Apache-2.0
//
// A mount namespace for the demo and its children: nothing that they mount is seen outside, and all
// of it goes with them. Before any thread is started.
#pragma once

#include <string>

#include "lib/base/status.h"

namespace csinative::demo {

// As root a mount namespace, as a normal user a user namespace around it, in which the user is
// root. The failure says what the machine does not allow.
Status EnterMountNamespace();

// Detaches whatever is mounted below the folder.
void UnmountBelow(const std::string& folder);

}  // namespace csinative::demo
