// SPDX-License-Identifier: Apache-2.0
//
// kinds_check: every kind that lib/kube has a client for, on a real API server beside kubectl.
// Exit code 0: all as it should be, 1: not, 2: it could not run.
//
//   kinds_check --kubeconfig FILE --kubectl PROGRAM --texts FILE --definition FILE...
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "apis/json/parse.h"
#include "lib/kube/config.h"
#include "lib/kube/http_transport.h"
#include "lib/sidecar/process.h"
#include "test/cluster/kinds/kinds_check.h"

namespace csinative::kinds {
namespace {

struct Flags {
  std::string kubeconfig, kubectl, texts;
  std::vector<std::string> definitions;
};

async::Task<Result<std::vector<std::string>>> Check(sidecar::RealProcess* process, Flags flags) {
  std::ifstream file(flags.texts, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  rapidjson::Document texts;
  CSI_CO_RETURN_IF_ERROR(apis::ParseJson(text.str(), &texts));
  CSI_CO_ASSIGN_OR_RETURN(const std::vector<Kind> kinds, MakeCatalogue(texts));

  CSI_CO_ASSIGN_OR_RETURN(kube::RestConfig config,
                          kube::LoadConfig({.kubeconfig = flags.kubeconfig}, process->log()));
  CSI_CO_ASSIGN_OR_RETURN(
      auto transport, kube::NewHttpTransport(process->real_loop(), std::move(config), "kinds_check",
                                             process->log()));
  kube::ClientOptions options{.user_agent = "kinds_check", .qps = -1};
  CSI_CO_ASSIGN_OR_RETURN(auto protobuf, kube::Client::Create(process->loop(), process->random(),
                                                              *transport, process->log(), options));
  options.protobuf = false;
  CSI_CO_ASSIGN_OR_RETURN(auto json, kube::Client::Create(process->loop(), process->random(),
                                                          *transport, process->log(), options));

  Kubectl kubectl(process->blocking(), flags.kubectl, flags.kubeconfig);
  CSI_CO_RETURN_IF_ERROR(co_await InstallDefinitions(&kubectl, flags.definitions));
  KindsCheck check({.loop = process->loop(),
                    .random = process->random(),
                    .kubectl = kubectl,
                    .protobuf = *protobuf,
                    .json = *json},
                   kinds);
  const Status ran = co_await check.Run();
  std::vector<std::string> failures = check.failures();
  std::printf("%zu kinds, %zu objects, %zu comparisons\n", kinds.size(), check.objects(),
              check.comparisons());
  // What went wrong before explains why it could not go on.
  if (!ran.ok()) {
    for (const std::string& failure : failures) std::printf("%s\n", failure.c_str());
    co_return ran;
  }
  co_return failures;
}

async::Task<int> Main(sidecar::RealProcess* process, Flags flags) {
  auto failures = co_await Check(process, std::move(flags));
  if (!failures.ok()) {
    std::fprintf(stderr, "kinds_check: %s\n", failures.status().ToString().c_str());
    co_return 2;
  }
  for (const std::string& failure : *failures) std::printf("%s\n", failure.c_str());
  std::printf("%zu failures\n", failures->size());
  co_return failures->empty() ? 0 : 1;
}

}  // namespace
}  // namespace csinative::kinds

int main(int argc, char** argv) {
  csinative::sidecar::RealProcess process(argc, argv);
  csinative::kinds::Flags flags;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view flag = argv[i];
    if (flag == "--kubeconfig") flags.kubeconfig = argv[i + 1];
    if (flag == "--kubectl") flags.kubectl = argv[i + 1];
    if (flag == "--texts") flags.texts = argv[i + 1];
    if (flag == "--definition") flags.definitions.emplace_back(argv[i + 1]);
  }
  if (argc % 2 == 0 || flags.kubeconfig.empty() || flags.kubectl.empty() || flags.texts.empty() ||
      flags.definitions.empty()) {
    std::fprintf(stderr, "usage: see the head of test/cluster/kinds/main.cc\n");
    return 2;
  }
  process.Run(csinative::kinds::Main(&process, std::move(flags)));
}
