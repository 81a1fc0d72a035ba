// SPDX-License-Identifier: Apache-2.0
//
// csi-volume-manager: reads flags, and hands over to Program.
#include <cstdio>
#include <string>

#include "cmd/volumemanager/options.h"
#include "cmd/volumemanager/program.h"
#include "lib/cli/auto_max_procs.h"
#include "lib/cli/feature_gates.h"
#include "lib/cli/flag_set.h"
#include "lib/cli/version.h"
#include "lib/http/shared_context.h"
#include "lib/sidecar/command_line.h"
#include "lib/sidecar/process.h"

namespace csinative::volumemanager {
namespace {

// Ends the process unless the command line asks for work.
void ReadFlags(sidecar::RealProcess& process, Options& options, cli::FeatureGates& gates,
               cli::AutoMaxProcs& max_procs) {
  cli::FlagSet flags(cli::Grammar::kPflag, process.program());
  options.Register(flags, gates, &max_procs);
  sidecar::ParseOrExit(process, flags);
}

void CheckOptions(sidecar::RealProcess& process, const Options& options, cli::FeatureGates& gates) {
  if (!options.logging.ValidateAndApply(process.log()).ok()) process.Exit(1);
  if (const auto failure = gates.Apply(options.gates, process.log())) {
    process.log().Error(*failure, "failed to store flag gates", "featureGates",
                        cli::FormatGates(options.gates));
    process.Exit(1);
  }
  if (options.version) {
    std::fputs(cli::VersionText(process.program()).c_str(), stdout);
    process.Exit(0);
  }
  process.log().Info("Version", "version", cli::BuildVersion());
  Status valid = options.Validate();
  if (!valid.ok()) {
    process.log().Error(valid, "Invalid command line");
    process.Exit(1);
  }
}

}  // namespace
}  // namespace csinative::volumemanager

int main(int argc, char** argv) {
  using namespace csinative;
  sidecar::RealProcess process(argc, argv, &http::SharedContext());
  volumemanager::Options options;
  cli::FeatureGates gates = volumemanager::Gates();
  cli::AutoMaxProcs max_procs(process.log());
  volumemanager::ReadFlags(process, options, gates, max_procs);
  volumemanager::CheckOptions(process, options, gates);
  volumemanager::Program program(process, options);
  process.Run(program.Run());
}
