// SPDX-License-Identifier: Apache-2.0
#include "test/sim/node_program.h"

#include <utility>

#include "cmd/volumemanager/volume_manager.h"
#include "lib/async/sleep.h"
#include "lib/base/strings.h"

namespace csinative::sim {
namespace {

constexpr int kUnavailable = 14;

// Connects to whatever listens on the machine.
class LinkConnector final : public volumemanager::PluginConnector {
 public:
  LinkConnector(Surroundings& world, Driver& calls, Machine& machine, NodeDriver& driver,
                IncarnationPtr process)
      : world_(world),
        calls_(calls),
        machine_(machine),
        driver_(driver),
        process_(std::move(process)) {}

  async::Task<Result<std::shared_ptr<rpc::Channel>>> ConnectPlugin(std::string path) override {
    return Connect(std::move(path));
  }
  async::Task<Result<std::shared_ptr<rpc::Channel>>> ConnectDriver(std::string,
                                                                   std::string) override {
    return Connect(driver_.socket());
  }

 private:
  async::Task<Result<std::shared_ptr<rpc::Channel>>> Connect(std::string path) {
    CSI_CO_RETURN_IF_ERROR(co_await async::Sleep(
        world_.plan.Between(std::chrono::microseconds(50), std::chrono::milliseconds(3))));
    if (!driver_.up() || !machine_.fs().Stat(path).ok()) {
      co_return RpcStatus(kUnavailable, StrCat("connect ", path, ": connection refused"));
    }
    co_return std::shared_ptr<rpc::Channel>(NewDriverLink(world_, calls_, process_, driver_.id()));
  }

  Surroundings& world_;
  Driver& calls_;
  Machine& machine_;
  NodeDriver& driver_;
  const IncarnationPtr process_;
};

// Hears of the registration socket, mostly.
class SocketWatch final : public volumemanager::DirectoryWatch {
 public:
  void Watch(const std::vector<std::string>&) override {}
  async::Task<Status> WaitForChange() override {
    CSI_CO_RETURN_IF_ERROR(co_await changed_.Wait());
    changed_.Reset();
    co_return Status();
  }
  void Notify() { changed_.Set(); }

 private:
  async::Event changed_;
};

class VolumeManagerProgram final : public Program {
 public:
  VolumeManagerProgram(Setup setup, Driver& calls, Machine& machine, NodeDriver& driver)
      : Program(std::move(setup)),
        machine_(machine),
        driver_(driver),
        client_(NewClient(50, 100)),
        event_client_(NewClient(50, 100)),
        disk_(setup_.world, machine, setup_.incarnation),
        connector_(setup_.world, calls, machine, driver, setup_.incarnation),
        manager_({.loop = &loop(),
                  .random = random_.get(),
                  .client = client_.get(),
                  .event_client = event_client_.get(),
                  .fs = &machine.fs(),
                  .blocking = &disk_,
                  .watch = &watch_,
                  .connector = &connector_,
                  .config = {.node = machine.node(), .root = kKubeletRoot},
                  .log = log()}) {
    machine_.set_manager(&manager_);
    driver_.set_on_socket([this] { OnSocket(); });
  }
  ~VolumeManagerProgram() override {
    machine_.set_manager(nullptr);
    driver_.set_on_socket(nullptr);
  }

  async::Task<void> Run() override { (void)co_await manager_.Run(); }

 private:
  // Events can be lost: the queue of the kernel is bounded.
  void OnSocket() {
    if (setup_.world.plan.Strikes(setup_.world.plan.rates().watch_cut)) return;
    loop().PostAt(loop().Now() + std::chrono::microseconds(100), [this] { watch_.Notify(); });
  }

  Machine& machine_;
  NodeDriver& driver_;
  std::unique_ptr<kube::Client> client_;
  std::unique_ptr<kube::Client> event_client_;
  SimDisk disk_;
  LinkConnector connector_;
  SocketWatch watch_;
  volumemanager::VolumeManager manager_;
};

}  // namespace

std::unique_ptr<Program> NewVolumeManager(Program::Setup setup, Driver& calls, Machine& machine,
                                          NodeDriver& driver) {
  return std::make_unique<VolumeManagerProgram>(std::move(setup), calls, machine, driver);
}

}  // namespace csinative::sim
