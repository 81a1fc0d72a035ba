// SPDX-License-Identifier: Apache-2.0
//
// The programs of a simulated cluster: ours, each with leader election as in production, and the
// stand-in for kube-controller-manager. One thread.
#pragma once

#include "cmd/volumecontroller/caches.h"
#include "test/sim/process.h"

namespace csinative::sim {

inline constexpr char kDriverName[] = "sim.csi.example";
inline constexpr char kSystemNamespace[] = "kube-system";

// What csi-provisioner is told: whether it keeps claims whose volumes are being made.
enum class HoldClaims { kNo, kYes };
std::unique_ptr<Program> NewProvisioner(Program::Setup setup, Driver& driver, HoldClaims hold);
std::unique_ptr<Program> NewAttacher(Program::Setup setup, Driver& driver);
// Borrowed: the caches, which run elsewhere and start after this was made.
std::unique_ptr<Program> NewControllerManager(Program::Setup setup,
                                              volumecontroller::Caches& caches);

}  // namespace csinative::sim
