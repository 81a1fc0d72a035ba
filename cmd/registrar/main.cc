// SPDX-License-Identifier: Apache-2.0
//
// csi-node-driver-registrar: reads flags, and hands over to Program (registrar 3.2, steps 1 to 9).
#include <cstdio>
#include <string>

#include "cmd/registrar/options.h"
#include "cmd/registrar/program.h"
#include "lib/cli/auto_max_procs.h"
#include "lib/cli/flag_set.h"
#include "lib/cli/version.h"
#include "lib/sidecar/command_line.h"
#include "lib/sidecar/process.h"

namespace csinative::registrar {
namespace {

// Ends the process unless the command line asks for work.
void ReadFlags(sidecar::RealProcess& process, Options& options, cli::AutoMaxProcs& max_procs) {
  cli::FlagSet flags(cli::Grammar::kGo, process.program());
  options.Register(flags, &max_procs);
  sidecar::ParseOrExit(process, flags);
}

void CheckOptions(sidecar::RealProcess& process, const Options& options) {
  if (!options.logging.ValidateAndApply(process.log()).ok()) process.Exit(1);
  if (options.version) {
    std::fputs(cli::VersionText(process.program()).c_str(), stdout);
    process.Exit(0);
  }
  if (options.kubelet_registration_path.empty()) {
    process.log().Error(nullptr, "kubelet-registration-path is a required parameter");
    process.Exit(1);
  }
  if (options.probe_mode()) process.Exit(0);
  process.log().Info("Version", "version", cli::BuildVersion());
  process.log().Info("Running node-driver-registrar", "mode", options.mode);
  const Status listener = options.CheckListener();
  if (!listener.ok()) {
    process.log().Error(nullptr, listener.message());
    process.Exit(1);
  }
  if (options.connection_timeout != Duration::zero()) {
    process.log().Info("--connection-timeout is deprecated and will have no effect");
  }
}

}  // namespace
}  // namespace csinative::registrar

int main(int argc, char** argv) {
  using namespace csinative;
  sidecar::RealProcess process(argc, argv);
  registrar::Options options;
  cli::AutoMaxProcs max_procs(process.log());
  registrar::ReadFlags(process, options, max_procs);
  registrar::CheckOptions(process, options);
  registrar::Program program(process, options);
  process.Run(program.Run());
}
