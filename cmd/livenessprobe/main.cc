// SPDX-License-Identifier: Apache-2.0
//
// livenessprobe: reads flags, and hands over to Program (registrar 4.2, steps 1 to 3).
#include "cmd/livenessprobe/options.h"
#include "cmd/livenessprobe/program.h"
#include "lib/cli/auto_max_procs.h"
#include "lib/cli/flag_set.h"
#include "lib/sidecar/command_line.h"
#include "lib/sidecar/process.h"

namespace csinative::livenessprobe {
namespace {

// Ends the process unless the command line asks for work.
void ReadFlags(sidecar::RealProcess& process, Options& options, cli::AutoMaxProcs& max_procs) {
  cli::FlagSet flags(cli::Grammar::kGo, process.program());
  options.Register(flags, &max_procs);
  sidecar::ParseOrExit(process, flags);
}

void CheckOptions(sidecar::RealProcess& process, const Options& options) {
  if (!options.logging.ValidateAndApply(process.log()).ok()) process.Exit(1);
  const Status listeners = options.CheckListeners();
  if (!listeners.ok()) {
    process.log().Error(nullptr, listeners.message());
    process.Exit(1);
  }
}

}  // namespace
}  // namespace csinative::livenessprobe

int main(int argc, char** argv) {
  using namespace csinative;
  sidecar::RealProcess process(argc, argv);
  livenessprobe::Options options;
  cli::AutoMaxProcs max_procs(process.log());
  livenessprobe::ReadFlags(process, options, max_procs);
  livenessprobe::CheckOptions(process, options);
  livenessprobe::Program program(process, options);
  process.Run(program.Run());
}
