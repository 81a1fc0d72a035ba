// SPDX-License-Identifier: Apache-2.0
//
// A mount namespace for this test alone: what it and its children mount is seen by nobody else and
// goes with it.
#pragma once

#include "lib/base/status.h"

namespace csinative {

// Moves the calling thread, and what it starts from now on, into a new namespace. Needs root
// (CAP_SYS_ADMIN); the failure says so.
Status EnterOwnMountNamespace();

}  // namespace csinative
