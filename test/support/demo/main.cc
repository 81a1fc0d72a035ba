// SPDX-License-Identifier: Apache-2.0
//
// The demo: an embedded API server, the sample driver and all programs of this project take a pod's
// claims from creation to mounted, written, unmounted and deleted, and each step is shown.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>

#include "lib/base/go_duration.h"
#include "lib/base/random.h"
#include "test/support/demo/demo.h"
#include "test/support/demo/mount_namespace.h"

namespace csinative::demo {
namespace {

namespace fs = std::filesystem;

async::Task<void> Supervise(Demo* demo, Status* result, async::RealLoop* loop) {
  *result = co_await demo->Run();
  loop->Stop();
}

int Main(int argc, char** argv) {
  const std::string bin_dir = fs::read_symlink("/proc/self/exe").parent_path();
  bool keep = false;
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "--keep") {
      keep = true;
    } else {
      std::fprintf(stderr, "usage: %s [--keep]   (--keep: leave logs behind)\n", argv[0]);
      return 2;
    }
  }

  ::signal(SIGPIPE, SIG_IGN);
  Status entered = EnterMountNamespace();
  if (!entered.ok()) {
    std::fprintf(stderr, "the demo mounts volumes, in a mount namespace of its own: %s\n",
                 entered.message().c_str());
    return 1;
  }
  auto random = NewSystemRandom();
  async::RealLoop loop;
  Demo demo(loop, *random, bin_dir);
  if (keep) demo.KeepFiles();
  async::Scope scope(loop);
  Status result;
  int interrupted = 0;
  loop.OnSignal({SIGINT, SIGTERM, SIGHUP}, [&](int signal) {
    interrupted = signal;
    scope.Cancel();
  });
  const MonotonicTime start = loop.Now();
  scope.Spawn(Supervise(&demo, &result, &loop));
  while (!scope.empty()) loop.Run();

  if (interrupted != 0) {
    std::printf("\ninterrupted: everything was stopped%s\n",
                keep ? (", logs are in " + demo.dir()).c_str() : " and removed");
    return 128 + interrupted;
  }
  if (!result.ok()) {
    demo.KeepFiles();
    std::fprintf(stderr, "\ndemo failed: %s\nlogs are in %s\n", result.message().c_str(),
                 demo.dir().c_str());
    return 1;
  }
  std::printf(
      "\ndone in %s, nothing left over\n",
      FormatGoDuration(std::chrono::duration_cast<std::chrono::milliseconds>(loop.Now() - start))
          .c_str());
  if (keep) std::printf("logs are in %s\n", demo.dir().c_str());
  return 0;
}

}  // namespace
}  // namespace csinative::demo

int main(int argc, char** argv) { return csinative::demo::Main(argc, argv); }
