// SPDX-License-Identifier: Apache-2.0
//
// embedded-apiserver: the API server of the tests on its own, for scripts and for kubectl.
//
//   embedded-apiserver [--address HOST:PORT] [--kubeconfig-out FILE] [--insecure-http]
//                      [--admin-token TOKEN] [--inject-service-account-volume]
//
// Prints its URL once it listens, and serves until SIGINT or SIGTERM.
#include <csignal>
#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>

#include "lib/async/run.h"
#include "lib/base/random.h"
#include "test/support/apiserver/api_server.h"

namespace {

using csinative::Random;
using csinative::Status;
using csinative::apiserver::EmbeddedApiServer;
using csinative::apiserver::EmbeddedApiServerOptions;

struct Arguments {
  EmbeddedApiServerOptions server;
  std::string kubeconfig_out;
  std::string admin_token;
};

bool Parse(int argc, char** argv, Arguments* out) {
  for (int i = 1; i < argc; ++i) {
    std::string_view argument = argv[i];
    if (argument == "--insecure-http") {
      out->server.tls = false;
    } else if (argument == "--inject-service-account-volume") {
      out->server.api.semantics.inject_service_account_volume = true;
    } else if (i + 1 < argc && argument == "--address") {
      out->server.address = argv[++i];
    } else if (i + 1 < argc && argument == "--kubeconfig-out") {
      out->kubeconfig_out = argv[++i];
    } else if (i + 1 < argc && argument == "--admin-token") {
      out->admin_token = argv[++i];
    } else {
      std::fprintf(stderr, "embedded-apiserver: unknown argument %s\n", argv[i]);
      return false;
    }
  }
  return true;
}

int Run(Arguments arguments) {
  csinative::async::RealLoop loop;
  std::unique_ptr<Random> random = csinative::NewSystemRandom();
  EmbeddedApiServer server(loop, *random, arguments.server);
  Status started = server.Start();
  if (!started.ok()) {
    std::fprintf(stderr, "embedded-apiserver: %s\n", started.message().c_str());
    return 1;
  }
  if (!arguments.admin_token.empty()) {
    server.api().tokens().Add(arguments.admin_token,
                              {"kubernetes-admin", {"system:masters", "system:authenticated"}, ""});
  }
  if (!arguments.kubeconfig_out.empty()) {
    std::ofstream file(arguments.kubeconfig_out);
    file << server.Kubeconfig(arguments.admin_token);
    file.close();
    if (!file) {
      std::fprintf(stderr, "embedded-apiserver: cannot write %s\n",
                   arguments.kubeconfig_out.c_str());
      return 1;
    }
  }
  std::printf("%s\n", server.url().c_str());
  std::fflush(stdout);
  loop.OnSignal({SIGINT, SIGTERM}, [&loop](int) { loop.Stop(); });
  loop.Run();
  csinative::async::RunTask(loop, server.Close());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  if (!Parse(argc, argv, &arguments)) return 2;
  return Run(std::move(arguments));
}
