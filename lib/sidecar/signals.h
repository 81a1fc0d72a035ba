// SPDX-License-Identifier: Apache-2.0
//
// What signals do to a program whose original is written in Go (common 17.1).
#pragma once

namespace csinative::sidecar {

// TERM, INT and HUP end the process by the signal; as PID 1, for which the kernel drops the default
// action, with exit code 2. QUIT and ABRT: exit code 2. PIPE, USR1, USR2, ALRM, IO, XCPU and the
// real-time signals are ignored. An INT or HUP that was ignored when the program started stays
// ignored. Call once, before threads start.
void InstallDefaultSignalHandling();

}  // namespace csinative::sidecar
