// SPDX-License-Identifier: Apache-2.0
//
// A place like a container's for this test: paths and ports that published manifests name are free
// there and are seen by nobody else. Needs root.
#pragma once

#include "lib/base/status.h"

namespace csinative {

// Moves the calling thread, and what it starts from now on, into mount and network namespaces of
// their own. Their root has all that the machine's has, but anything may be made in it, and /run
// and /var/lib are empty. Only the loopback interface is there. The second call does nothing.
Status EnterContainer();

}  // namespace csinative
