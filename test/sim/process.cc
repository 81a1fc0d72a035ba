// SPDX-License-Identifier: Apache-2.0
#include "test/sim/process.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace csinative::sim {

namespace {

constexpr int kEverything = 10;

class SearchedOutput final : public log::Output {
 public:
  SearchedOutput(Conduct& conduct, std::string process)
      : conduct_(conduct), process_(std::move(process)) {}
  void Write(std::string_view record) override { conduct_.OnLog(process_, record); }

 private:
  Conduct& conduct_;
  const std::string process_;
};

log::Logger LoggerFor(const Program::Setup& setup) {
  if (!setup.faulty || !setup.world.watch_logs) return log::Logger();
  auto output = std::make_shared<SearchedOutput>(setup.world.conduct, setup.incarnation->name);
  auto backend = std::make_shared<log::Backend>(
      std::move(output), log::Backend::Options{.clock = &setup.world.loop, .pid = 1});
  backend->SetVerbosity(kEverything);
  return log::Logger(std::move(backend));
}

}  // namespace

Program::Program(Setup setup)
    : setup_(std::move(setup)),
      random_(setup_.world.plan.NewStream()),
      transport_(NewApiLink(setup_.world, setup_.api, setup_.incarnation, setup_.faulty)),
      log_(LoggerFor(setup_)) {}

std::unique_ptr<kube::Client> Program::NewClient(
    float qps, int burst, std::function<Result<MonotonicTime>()> before_write) {
  kube::ClientOptions options;
  options.user_agent = setup_.incarnation->name;
  options.qps = qps;
  options.burst = burst;
  options.before_write = std::move(before_write);
  auto client = kube::Client::Create(loop(), *random_, *transport_, log_, std::move(options));
  if (!client.ok()) {
    std::fprintf(stderr, "sim: %s\n", client.status().message().c_str());
    std::abort();
  }
  return *std::move(client);
}

SimProcess::SimProcess(std::string name, async::VirtualScheduler& scheduler, Surroundings& world,
                       apiserver::ApiHandler& api, bool faulty, Factory factory)
    : name_(std::move(name)),
      scheduler_(scheduler),
      world_(world),
      api_(api),
      faulty_(faulty),
      factory_(std::move(factory)) {}

SimProcess::~SimProcess() { Stop(); }

void SimProcess::Start() {
  restart_.Cancel();
  world_.trace.Add(name_, "starts");
  incarnation_ = std::make_shared<Incarnation>(scheduler_, name_);
  incarnation_->under_test = faulty_;
  std::weak_ptr<Incarnation> weak = incarnation_;
  const auto exit = [this, weak] {
    // The caller's own frames are on the stack: not now.
    world_.loop.Post([this, weak] {
      const IncarnationPtr ended = weak.lock();
      if (ended && Is(ended)) Crash(std::chrono::seconds(1));
    });
  };
  program_ = factory_({world_, api_, incarnation_, faulty_, exit});
  scope_ = std::make_unique<async::Scope>(incarnation_->loop);
  struct Life {
    static async::Task<void> Run(Program* program, std::function<void()> exit) {
      co_await program->Run();
      exit();
    }
  };
  scope_->Spawn(Life::Run(program_.get(), exit));
}

void SimProcess::Pause(Duration pause) {
  if (!incarnation_) return;
  world_.trace.Add(name_, "stops");
  incarnation_->loop.Suspend();
  resume_ = async::ScopedTimer(world_.loop, world_.loop.Now() + pause, [this] {
    world_.trace.Add(name_, "goes on");
    if (incarnation_) incarnation_->loop.Resume();
  });
}

void SimProcess::CutOff(Duration duration) {
  if (!incarnation_) return;
  world_.trace.Add(name_, "is cut off");
  incarnation_->cut_off_until = world_.loop.Now() + duration;
  for (const auto& weak : incarnation_->streams) {
    if (auto cancel = weak.lock()) {
      world_.loop.Post([cancel] { cancel->Cancel(UnavailableError("cut off")); });
    }
  }
}

void SimProcess::Discard() {
  if (!incarnation_) return;
  resume_.Cancel();
  incarnation_->alive = false;
  for (const auto& weak : incarnation_->streams) {
    if (auto cancel = weak.lock()) world_.loop.Post([cancel] { cancel->Cancel(); });
  }
  incarnation_->loop.Discard();
  scope_.reset();
  program_.reset();
  incarnation_.reset();
}

void SimProcess::Crash(Duration pause) {
  if (!incarnation_) return;
  world_.trace.Add(name_, "dies");
  world_.before_death(name_);
  Discard();
  restart_ = async::ScopedTimer(world_.loop, world_.loop.Now() + pause, [this] { Start(); });
}

void SimProcess::Stop() {
  restart_.Cancel();
  Discard();
}

}  // namespace csinative::sim
