// SPDX-License-Identifier: Apache-2.0
//
// apiserver_parity: runs the request script against the embedded API server and a real one, or its
// recorded answers, and reports every difference. Exit code 0: none, 1: some, 2: it could not run.
//
//   apiserver_parity --script FILE --golden FILE
//   apiserver_parity --script FILE --server URL [--ca FILE] [--token TOKEN]
//                    [--cert FILE --key FILE] [--record FILE]
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>

#include "test/cluster/parity/compare.h"
#include "test/cluster/parity/servers.h"

namespace {

using namespace csinative;          // NOLINT: a main of one page
using namespace csinative::parity;  // NOLINT

Result<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream contents;
  contents << file.rdbuf();
  if (!file) return NotFoundError("cannot read " + path);
  return contents.str();
}

Result<Answers> RunOn(const std::vector<Step>& steps, Server& server) {
  Answers answers;
  CSI_RETURN_IF_ERROR(RunScript(
      steps, server, [&](const Step& step, const Answer& answer) { answers[step.name] = answer; }));
  return answers;
}

Result<std::unique_ptr<Server>> Connect(std::map<std::string, std::string> flags) {
  RemoteConfig config{.url = flags["--server"], .token = flags["--token"]};
  if (!flags["--ca"].empty()) {
    CSI_ASSIGN_OR_RETURN(config.tls.ca_pem, ReadFile(flags["--ca"]));
  }
  if (!flags["--cert"].empty()) {
    CSI_ASSIGN_OR_RETURN(config.tls.client_certificate_pem, ReadFile(flags["--cert"]));
    CSI_ASSIGN_OR_RETURN(config.tls.client_key_pem, ReadFile(flags["--key"]));
  }
  return NewRemoteServer(std::move(config));
}

Result<int> Run(std::map<std::string, std::string> flags) {
  CSI_ASSIGN_OR_RETURN(std::string script, ReadFile(flags["--script"]));
  CSI_ASSIGN_OR_RETURN(std::vector<Step> steps, ParseScript(script));
  Answers theirs;
  if (flags.contains("--server")) {
    CSI_ASSIGN_OR_RETURN(std::unique_ptr<Server> real, Connect(flags));
    CSI_ASSIGN_OR_RETURN(theirs, RunOn(steps, *real));
    if (flags.contains("--record")) {
      std::ofstream file(flags["--record"], std::ios::binary);
      file << FormatGolden(steps, theirs);
      file.close();
      if (!file) return InternalError("cannot write " + flags["--record"]);
    }
  } else {
    CSI_ASSIGN_OR_RETURN(std::string golden, ReadFile(flags["--golden"]));
    CSI_ASSIGN_OR_RETURN(theirs, ParseGolden(golden));
  }
  std::unique_ptr<Server> embedded = NewEmbeddedServer();
  CSI_ASSIGN_OR_RETURN(Answers ours, RunOn(steps, *embedded));
  std::vector<Difference> differences = Compare(steps, ours, theirs);
  for (const Difference& difference : differences) {
    std::printf("%s\n    %s\n", difference.step.c_str(), difference.text.c_str());
  }
  std::printf("%zu requests, %zu answers differ\n", steps.size(), differences.size());
  return differences.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::map<std::string, std::string> flags;
  for (int i = 1; i + 1 < argc; i += 2) flags[argv[i]] = argv[i + 1];
  if (argc % 2 == 0 || !flags.contains("--script") ||
      (!flags.contains("--server") && !flags.contains("--golden"))) {
    std::fprintf(stderr, "usage: see the head of test/cluster/parity/main.cc\n");
    return 2;
  }
  Result<int> code = Run(std::move(flags));
  if (!code.ok()) {
    std::fprintf(stderr, "apiserver_parity: %s\n", code.status().message().c_str());
    return 2;
  }
  return *code;
}
