// SPDX-License-Identifier: Apache-2.0
//
// csi-attacher: reads flags, and hands over to Program (attacher 3, steps 1 to 6).
#include <cstdio>
#include <string>

#include "cmd/attacher/options.h"
#include "cmd/attacher/program.h"
#include "lib/cli/auto_max_procs.h"
#include "lib/cli/feature_gates.h"
#include "lib/cli/flag_set.h"
#include "lib/cli/version.h"
#include "lib/http/shared_context.h"
#include "lib/sidecar/command_line.h"
#include "lib/sidecar/process.h"

namespace csinative::attacher {
namespace {

// Ends the process unless the command line asks for work.
void ReadFlags(sidecar::RealProcess& process, Options& options, cli::FeatureGates& gates,
               cli::AutoMaxProcs& max_procs) {
  cli::FlagSet flags(cli::Grammar::kGo, process.program());
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
  if (options.common.version) {
    std::fputs(cli::VersionText(process.program()).c_str(), stdout);
    process.Exit(0);
  }
  process.log().Info("Version", "version", cli::BuildVersion());
  if (!options.common.CheckListener().ok()) {
    process.log().Error(nullptr,
                        "Only one of `--metrics-address` and `--http-endpoint` can be set");
    process.Exit(1);
  }
}

}  // namespace
}  // namespace csinative::attacher

int main(int argc, char** argv) {
  using namespace csinative;
  sidecar::RealProcess process(argc, argv, &http::SharedContext());
  attacher::Options options;
  cli::FeatureGates gates = cli::AttacherGates();
  cli::AutoMaxProcs max_procs(process.log());
  attacher::ReadFlags(process, options, gates, max_procs);
  attacher::CheckOptions(process, options, gates);
  attacher::Program program(process, options, gates);
  process.Run(program.Run());
}
