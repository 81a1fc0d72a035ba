// SPDX-License-Identifier: Apache-2.0
//
// csi-volume-manager as a program of a simulated machine. One thread.
#pragma once

#include "test/sim/node.h"
#include "test/sim/node_driver.h"
#include "test/sim/process.h"

namespace csinative::sim {

// Borrowed: `calls`, the machine and the driver on it outlive the program.
std::unique_ptr<Program> NewVolumeManager(Program::Setup setup, Driver& calls, Machine& machine,
                                          NodeDriver& driver);

}  // namespace csinative::sim
