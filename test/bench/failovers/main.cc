// SPDX-License-Identifier: Apache-2.0
//
// How long it takes until another replica leads, and what the old leader still does. Groups of
// three csi-attachers, each group with an API server of its own, lose their leader: killed,
// stopped, cut off from the API server, at random moments of the renewal period.
#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <string>
#include <vector>

#include "lib/async/run.h"
#include "lib/async/sleep.h"
#include "lib/base/go_duration.h"
#include "lib/base/strings.h"
#include "lib/csi/calls.h"
#include "lib/rpc/channel.h"
#include "test/bench/failovers/group.h"

namespace csinative::failovers {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Timing kShort{seconds(3), seconds(2), milliseconds(500)};
constexpr Timing kDefault{seconds(15), seconds(10), seconds(5)};

struct Arguments {
  size_t failovers = 190;  // with short times
  size_t default_failovers = 10;
  size_t groups = 4;
  uint64_t seed = 1;
};

bool Parse(int argc, char** argv, Arguments* out) {
  size_t* const values[] = {&out->failovers, &out->default_failovers, &out->groups, &out->seed};
  if (argc > 1 + static_cast<int>(std::size(values))) return false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view text = argv[i];
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), *values[i - 1]);
    if (error != std::errc() || end != text.data() + text.size()) return false;
  }
  return out->groups > 0;
}

std::deque<Kind> Kinds(size_t count) {
  constexpr Kind kAll[] = {Kind::kKill, Kind::kStop, Kind::kReset, Kind::kBlackHole};
  std::deque<Kind> kinds;
  for (size_t i = 0; i < count; ++i) kinds.push_back(kAll[i % std::size(kAll)]);
  return kinds;
}

async::Task<Result<std::string>> MakeVolume(async::EventLoop* loop, std::string socket) {
  CSI_CO_ASSIGN_OR_RETURN(auto channel, co_await rpc::Connect(*loop, "unix://" + socket, {}));
  ::csi::v1::CreateVolumeRequest request;
  request.set_name("volume");
  auto* capability = request.add_volume_capabilities();
  capability->mutable_mount();
  capability->mutable_access_mode()->set_mode(
      ::csi::v1::VolumeCapability::AccessMode::SINGLE_NODE_WRITER);
  request.mutable_capacity_range()->set_required_bytes(1 << 20);
  CSI_CO_ASSIGN_OR_RETURN(
      const ::csi::v1::CreateVolumeResponse made,
      co_await csi::Call<::csi::v1::CreateVolumeRequest>(*channel, std::move(request)));
  co_return made.volume().volume_id();
}

// A driver for one group: attachments of different groups must not meet in it.
Result<test::ChildProcess> StartDriver(const std::string& bin_dir, const std::string& dir) {
  return test::ChildProcess::Start(
      {.command = {bin_dir + "/sample-driver", "--endpoint", "unix://" + dir + "/csi.sock",
                   "--state-dir", dir + "/driver"},
       .stderr_file = dir + "/driver.log"});
}

struct Run {
  async::RealLoop* loop;
  Random* random;
  GroupOptions options;
  std::deque<Kind>* work;
  std::vector<Sample>* samples;
  Status* failure;
};

async::Task<Status> RunGroup(Run run) {
  CSI_CO_ASSIGN_OR_RETURN(test::ChildProcess driver,
                          StartDriver(run.options.bin_dir, run.options.dir));
  while (!fs::exists(run.options.driver_socket)) {
    if (driver.Poll()) co_return UnavailableError("the sample driver ended at once");
    CSI_CO_RETURN_IF_ERROR(co_await async::Sleep(milliseconds(5)));
  }
  CSI_CO_ASSIGN_OR_RETURN(run.options.volume_handle,
                          co_await MakeVolume(run.loop, run.options.driver_socket));
  Group group(*run.loop, *run.random, run.options);
  co_return co_await group.Run(run.work, run.samples);
}

async::Task<void> Supervise(Run run) {
  const Status status = co_await RunGroup(run);
  if (!status.ok() && run.failure->ok()) *run.failure = status;
}

async::Task<void> RunAll(async::RealLoop* loop, Arguments arguments, std::string bin_dir,
                         std::string dir, std::vector<Sample>* samples, Status* failure) {
  const std::unique_ptr<Random> random = NewSystemRandom();
  std::deque<Kind> short_work = Kinds(arguments.failovers);
  std::deque<Kind> default_work = Kinds(arguments.default_failovers);
  const async::TaskContext context = co_await async::CurrentContext();
  async::Scope scope(*loop, context.cancel);
  size_t number = 0;
  const auto add = [&](const char* kind, Timing timing, std::deque<Kind>* work) {
    const std::string name = StrCat(kind, number);
    const std::string folder = StrCat(dir, "/", name);
    fs::create_directories(folder);
    scope.Spawn(Supervise({loop,
                           random.get(),
                           {.name = name,
                            .dir = folder,
                            .bin_dir = bin_dir,
                            .driver_socket = folder + "/csi.sock",
                            .timing = timing,
                            .seed = arguments.seed * 1000 + number},
                           work,
                           samples,
                           failure}));
    ++number;
  };
  for (size_t i = 0; i < std::min(arguments.groups, arguments.failovers); ++i) {
    add("s", kShort, &short_work);
  }
  // These take five times as long.
  for (size_t i = 0; i < std::min<size_t>(5, arguments.default_failovers); ++i) {
    add("d", kDefault, &default_work);
  }
  co_await scope.Join();
}

// How long the loop stood still at most: what was measured is not more exact than that.
async::Task<void> WatchLoop(async::RealLoop* loop, Duration* longest) {
  constexpr Duration kTick = milliseconds(5);
  while (true) {
    const MonotonicTime start = loop->Now();
    if (!(co_await async::Sleep(kTick)).ok()) co_return;
    *longest = std::max(*longest, loop->Now() - start - kTick);
  }
}

int Main(int argc, char** argv) {
  Arguments arguments;
  if (!Parse(argc, argv, &arguments)) {
    std::fprintf(stderr,
                 "usage: %s [FAILOVERS [WITH_DEFAULTS [GROUPS [SEED]]]]   (default 190 10 4 1)\n",
                 argv[0]);
    return 2;
  }
  ::signal(SIGPIPE, SIG_IGN);
  const std::string bin_dir = fs::read_symlink("/proc/self/exe").parent_path();
  test::TempDir dir;
  async::RealLoop loop;
  async::Scope scope(loop);
  int interrupted = 0;
  loop.OnSignal({SIGINT, SIGTERM, SIGHUP}, [&](int signal) {
    interrupted = signal;
    scope.Cancel();
  });
  std::vector<Sample> samples;
  Status failure;
  const MonotonicTime start = loop.Now();
  Duration stall{0};
  async::Scope watching(loop);
  watching.Spawn(WatchLoop(&loop, &stall));
  scope.Spawn([](async::Scope* watch, async::Task<void> all) -> async::Task<void> {
    co_await std::move(all);
    co_await watch->Close();
  }(&watching, RunAll(&loop, arguments, bin_dir, dir.path(), &samples, &failure)));
  async::RunTask(loop, scope.Join());
  if (interrupted != 0) return 128 + interrupted;

  const Status report = Report(samples);
  if (failure.ok()) failure = report;
  const auto rounded = [](Duration d) {
    return FormatGoDuration(std::chrono::duration_cast<milliseconds>(d));
  };
  std::printf("%zu failovers, seed %zu, in %s; the API server stood still for at most %s\n",
              samples.size(), static_cast<size_t>(arguments.seed),
              rounded(loop.Now() - start).c_str(), rounded(stall).c_str());
  if (failure.ok()) return 0;
  dir.Keep();
  std::fprintf(stderr, "failed: %s\nlogs are in %s\n", failure.message().c_str(),
               dir.path().c_str());
  return 1;
}

}  // namespace
}  // namespace csinative::failovers

int main(int argc, char** argv) { return csinative::failovers::Main(argc, argv); }
