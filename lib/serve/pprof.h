// SPDX-License-Identifier: Apache-2.0
//
// The pages of --enable-pprof under /debug/pprof/ that make sense outside Go (common 10 and 22.3):
// the index, the command line, symbols and a processor profile. Loop only.
#pragma once

#include "lib/base/status.h"
#include "lib/serve/mux.h"

namespace csinative::serve {

// Registers the five paths of Go's net/http/pprof.
Status HandlePprof(Mux& mux);

}  // namespace csinative::serve
