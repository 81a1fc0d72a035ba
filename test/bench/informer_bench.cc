// SPDX-License-Identifier: Apache-2.0
//
// The informers of csi-provisioner for claims and volumes, as a process that does nothing else:
// what test/cluster/lib/bench-informer.sh measures.
//
//   informer_bench --kubeconfig FILE [--keep all]
//
// Prints a line when the caches are filled, and one for each SIGUSR1. `--keep all` keeps every
// field that apis/ declares instead of those csi-provisioner reads. Ends with SIGTERM.
#include <sys/resource.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "cmd/provisioner/caches.h"
#include "lib/async/scope.h"
#include "lib/async/sync.h"
#include "lib/base/strings.h"
#include "lib/http/shared_context.h"
#include "lib/kube/config.h"
#include "lib/sidecar/api_clients.h"
#include "lib/sidecar/process.h"

namespace csinative {
namespace {

int64_t CpuMicroseconds() {
  rusage usage = {};
  ::getrusage(RUSAGE_SELF, &usage);
  return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * int64_t{1000000} +
         usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
}

class Bench {
 public:
  Bench(sidecar::RealProcess& process, kube::Client& client, bool keep_all)
      : process_(process),
        caches_(process.loop(), process.random(), client, process.log(),
                {.index_clones = true, .index_restores = true}) {
    if (keep_all) {
      caches_.claims().set_prune([](core::PersistentVolumeClaim*) {});
      caches_.volumes().set_prune([](core::PersistentVolume*) {});
    }
    Count(caches_.claims());
    Count(caches_.volumes());
  }

  async::Task<void> Run() {
    process_.real_loop().OnSignal({SIGUSR1}, [this](int) { Report("report"); });
    async::Scope scope(process_.loop());
    const MonotonicTime start = process_.loop().Now();
    caches_.Start(&scope);
    const Status synced = co_await caches_.WaitForSync();
    if (!synced.ok()) process_.Fatal(synced.ToString());
    const auto wall =
        std::chrono::duration_cast<std::chrono::microseconds>(process_.loop().Now() - start);
    Report(StrCat("synced wall_us=", wall.count()));
    async::Event never;  // SIGTERM ends the process
    (void)co_await never.Wait();
    co_await scope.Close();
  }

 private:
  template <typename T>
  void Count(kube::Informer<T>& informer) {
    informer.AddHandler({.on_add = [this](const T&, kube::AddKind) { ++events_; },
                         .on_update = [this](const T&, const T&) { ++events_; },
                         .on_delete = [this](const T&) { ++events_; }});
  }

  void Report(std::string_view what) {
    std::printf("%.*s cpu_us=%jd events=%jd objects=%zu store_bytes=%zu\n",
                static_cast<int>(what.size()), what.data(),
                static_cast<intmax_t>(CpuMicroseconds()), static_cast<intmax_t>(events_),
                caches_.claims().size() + caches_.volumes().size(),
                caches_.claims().bytes() + caches_.volumes().bytes());
    std::fflush(stdout);
  }

  sidecar::RealProcess& process_;
  provisioner::Caches caches_;
  int64_t events_ = 0;
};

async::Task<int> Main(sidecar::RealProcess* process, std::string kubeconfig, bool keep_all) {
  auto api = sidecar::ConnectApi(*process, {.kubeconfig = kubeconfig}, -1);
  if (!api.ok()) process->Fatal(api.status().ToString());
  auto client = (*api)->NewClient(-1, 0);
  if (!client.ok()) process->Fatal(client.status().ToString());
  Bench bench(*process, **client, keep_all);
  co_await bench.Run();
  co_return 0;
}

}  // namespace
}  // namespace csinative

int main(int argc, char** argv) {
  csinative::sidecar::RealProcess process(argc, argv, &csinative::http::SharedContext());
  std::string kubeconfig;
  bool keep_all = false;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view flag = argv[i];
    if (flag == "--kubeconfig") kubeconfig = argv[i + 1];
    if (flag == "--keep") keep_all = std::string_view(argv[i + 1]) == "all";
  }
  if (kubeconfig.empty()) {
    std::fprintf(stderr, "usage: informer_bench --kubeconfig FILE [--keep all]\n");
    return 2;
  }
  process.Run(csinative::Main(&process, std::move(kubeconfig), keep_all));
}
