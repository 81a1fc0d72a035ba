// SPDX-License-Identifier: Apache-2.0
//
// csi-provisioner: reads flags, and hands over to Program (provisioner 3, steps 1 to 6).
#include <cstdio>
#include <string>

#include "cmd/provisioner/options.h"
#include "cmd/provisioner/program.h"
#include "lib/cli/auto_max_procs.h"
#include "lib/cli/feature_gates.h"
#include "lib/cli/flag_set.h"
#include "lib/cli/version.h"
#include "lib/http/shared_context.h"
#include "lib/sidecar/command_line.h"
#include "lib/sidecar/process.h"

namespace csinative::provisioner {
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
    process.Fatal(failure->text);
  }
  if (options.node_deployment && process.GetEnv("NODE_NAME").value_or("").empty()) {
    process.Fatal(
        "The NODE_NAME environment variable must be set when using "
        "--enable-node-deployment.");
  }
  if (options.common.version) {
    std::fputs(cli::VersionText(process.program()).c_str(), stdout);
    process.Exit(0);
  }
  process.log().Info("Version", "version", cli::BuildVersion());
  if (!options.common.CheckListener().ok()) {
    process.log().Errorf("only one of `--metrics-address` and `--http-endpoint` can be set.");
    process.Exit(1);
  }
  for (const std::string& flag : options.Unsupported()) {
    process.Fatal("--" + flag + " is not supported by this build yet");
  }
  for (const std::string& flag : options.WithoutEffect()) {
    process.log().Warningf("--{} has no effect in this build yet", flag);
  }
}

}  // namespace
}  // namespace csinative::provisioner

int main(int argc, char** argv) {
  using namespace csinative;
  sidecar::RealProcess process(argc, argv, &http::SharedContext());
  provisioner::Options options;
  cli::FeatureGates gates = cli::ProvisionerGates();
  cli::AutoMaxProcs max_procs(process.log());
  provisioner::ReadFlags(process, options, gates, max_procs);
  provisioner::CheckOptions(process, options, gates);
  provisioner::Program program(process, options, gates);
  process.Run(program.Run());
}
