// SPDX-License-Identifier: Apache-2.0
#include "lib/sidecar/command_line.h"

#include <cstdio>

namespace csinative::sidecar {

void ParseOrExit(RealProcess& process, cli::FlagSet& flags) {
  const cli::ParseResult parsed = flags.Parse(process.arguments());
  if (parsed.outcome == cli::ParseResult::Outcome::kParsed) return;
  std::fputs(parsed.stderr_text.c_str(), stderr);
  process.Exit(parsed.exit_code);
}

}  // namespace csinative::sidecar
