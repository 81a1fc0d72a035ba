// SPDX-License-Identifier: Apache-2.0
//
// The first step of every main. Start-up only.
#pragma once

#include "lib/cli/flag_set.h"
#include "lib/sidecar/process.h"

namespace csinative::sidecar {

// Parses the process's arguments. Unless they ask for work, ends the process with the text and the
// code that the grammar demands (common 1).
void ParseOrExit(RealProcess& process, cli::FlagSet& flags);

}  // namespace csinative::sidecar
