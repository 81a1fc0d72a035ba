// SPDX-License-Identifier: Apache-2.0
//
// The sample driver as a program.
#include <csignal>
#include <cstdio>
#include <optional>
#include <string>

#include "lib/async/real_loop.h"
#include "lib/async/run.h"
#include "lib/async/sync.h"
#include "lib/base/strings.h"
#include "lib/cli/flag_set.h"
#include "test/support/driver/sample_driver.h"

namespace csinative::driver {
namespace {

cli::CustomFlag Each(std::function<Status(std::string_view)> set) {
  cli::CustomFlag flag;
  flag.set = std::move(set);
  return flag;
}

Status AddSegments(std::string_view text, std::map<std::string, std::string>* out) {
  for (std::string_view item : Split(text, ',')) {
    const size_t equals = item.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      return InvalidArgumentError("want KEY=VALUE[,...]");
    }
    (*out)[std::string(item.substr(0, equals))] = std::string(item.substr(equals + 1));
  }
  return Status();
}

void Register(cli::FlagSet& flags, DriverOptions& o, Faults& faults, std::string& mode,
              bool& not_ready) {
  flags.StringFlag("endpoint", &o.endpoint, "Socket to listen on, unix:///absolute/path.");
  flags.StringFlag("state-dir", &o.state_dir, "Folder for volumes and snapshots.");
  flags.StringFlag("driver-name", &o.name, "Name the driver answers with.");
  flags.StringFlag("node-id", &o.node_id, "Id of the node this instance serves.");
  flags.BoolFlag("not-ready", &not_ready, "Answers to Probe that it is not ready.");
  flags.IntFlag("unready-probes", &o.unready_probes,
                "Answers to so many Probes, the first ones, that it is not ready.");
  flags.StringFlag("mode", &mode, "Services to offer: controller, node or all.");
  flags.StringFlag("log", &o.log_file, "File for one JSON line a call.");
  flags.BoolFlag(
      "any-volume", &o.any_volume,
      "ControllerPublishVolume succeeds for volumes that are not there, and keeps nothing "
      "of it. For measuring.");
  flags.IntFlag("max-volumes-per-node", &o.max_volumes_per_node, "0: no limit.");
  flags.IntFlag("capacity-bytes", &o.capacity_bytes, "Size of the storage backend.");
  flags.IntFlag("max-volume-bytes", &o.max_volume_bytes, "Size of the largest volume.");
  flags.Custom("backing", Each([&o](std::string_view text) {
                 if (text != "directory" && text != "image") {
                   return InvalidArgumentError("want directory or image");
                 }
                 o.image_backing = text == "image";
                 return Status();
               }),
               "Data of volumes with a filesystem: directory (fast) or image.");
  flags.Custom("other-nodes", Each([&o](std::string_view text) {
                 for (std::string_view node : Split(text, ',')) o.other_nodes.emplace_back(node);
                 return Status();
               }),
               "Further node ids that volumes may be published at.");
  flags.Custom("without", Each([&o](std::string_view text) {
                 for (std::string_view name : Split(text, ',')) o.without.emplace(name);
                 return Status();
               }),
               "Capabilities that are not announced, e.g. CLONE_VOLUME,NODE.EXPAND_VOLUME.");
  flags.Custom("mutable-parameters", Each([&o](std::string_view text) {
                 o.mutable_parameters.clear();
                 for (std::string_view key : Split(text, ',')) o.mutable_parameters.emplace(key);
                 return Status();
               }),
               "Keys that volume attributes classes may have; iops,throughput,tier if not given.");
  flags.Custom("topology",
               Each([&o](std::string_view text) { return AddSegments(text, &o.topology); }),
               "Topology segments of this node, KEY=VALUE[,...]; turns topology on.");
  flags.Custom("delay", Each([&faults](std::string_view t) { return faults.AddDelay(t); }),
               "METHOD=DURATION: waits before the work. METHOD * is every method.");
  flags.Custom("finish", Each([&faults](std::string_view t) { return faults.AddFinish(t); }),
               "METHOD: goes on with calls whose caller has gone, as most storage systems do.");
  flags.Custom("fail", Each([&faults](std::string_view t) { return faults.AddFailure(t); }),
               "METHOD=CODE[:MESSAGE][:COUNT]: answers with an error instead of working.");
  flags.Custom("hang", Each([&faults](std::string_view t) { return faults.AddHang(t); }),
               "METHOD[:COUNT]: never answers.");
  flags.Custom("lose-answer",
               Each([&faults](std::string_view t) { return faults.AddLostAnswer(t); }),
               "METHOD[:COUNT]: works, then answers Unavailable.");
}

async::Task<Status> Serve(async::RealLoop* loop, async::BlockingExecutor* blocking, Random* random,
                          DriverOptions options, Faults faults, async::Event* stop) {
  const std::string endpoint = options.endpoint;
  auto driver =
      SampleDriver::Start(*loop, *blocking, *random, std::move(options), std::move(faults));
  if (!driver.ok()) co_return driver.status();
  std::fprintf(stderr, "sample-driver listens on %s\n", endpoint.c_str());
  (void)co_await stop->Wait();
  co_await (*driver)->Close();
  co_return Status();
}

int Main(int argc, char** argv) {
  DriverOptions options;
  Faults faults;
  std::string mode = "all";
  cli::FlagSet flags(cli::Grammar::kPflag, argv[0]);
  bool not_ready = false;
  Register(flags, options, faults, mode, not_ready);
  cli::ParseResult parsed = flags.Parse({argv + 1, argv + argc});
  if (parsed.outcome != cli::ParseResult::Outcome::kParsed) {
    std::fputs(parsed.stderr_text.c_str(), stderr);
    return parsed.exit_code;
  }
  if (mode != "all" && mode != "controller" && mode != "node") {
    std::fprintf(stderr, "sample-driver: unknown --mode %s\n", mode.c_str());
    return 2;
  }
  if (options.endpoint.empty() || options.state_dir.empty()) {
    std::fprintf(stderr, "sample-driver: --endpoint and --state-dir are required\n");
    return 2;
  }
  options.ready = !not_ready;
  options.controller = mode != "node";
  options.node = mode != "controller";

  async::ThreadPool pool(4);
  auto random = NewSystemRandom();
  async::RealLoop loop;
  async::Event stop;
  loop.OnSignal({SIGTERM, SIGINT}, [&stop](int) { stop.Set(); });
  ::signal(SIGPIPE, SIG_IGN);
  Status status = async::RunTask(
      loop, Serve(&loop, &pool, random.get(), std::move(options), std::move(faults), &stop));
  if (!status.ok()) {
    std::fprintf(stderr, "sample-driver: %s\n", status.message().c_str());
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace csinative::driver

int main(int argc, char** argv) { return csinative::driver::Main(argc, argv); }
