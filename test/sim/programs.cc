// SPDX-License-Identifier: Apache-2.0
#include "test/sim/programs.h"

#include <optional>
#include <utility>

#include "cmd/attacher/controller.h"
#include "cmd/provisioner/controller.h"
#include "cmd/volumecontroller/attach_detach.h"
#include "cmd/volumecontroller/caches.h"
#include "cmd/volumecontroller/volume_binder.h"
#include "lib/base/strings.h"
#include "lib/csi/guarded_channel.h"
#include "lib/csi/observed_channel.h"
#include "lib/kube/leader_election.h"

namespace csinative::sim {
namespace {

// A sidecar that works while it holds its Lease, and exits when it does not.
class ElectedProgram : public Program {
 public:
  ElectedProgram(Setup setup, std::string lock_name)
      : Program(std::move(setup)), lock_name_(std::move(lock_name)) {
    election_client_ = NewClient(5, 10);
  }

  async::Task<void> Run() final {
    kube::LeaderElectionConfig config;
    config.lock_name = lock_name_;
    config.lock_namespace = kSystemNamespace;
    // As many clusters set them; most of an hour would be renewals otherwise.
    config.lease_duration = std::chrono::seconds(60);
    config.renew_deadline = std::chrono::seconds(40);
    config.retry_period = std::chrono::seconds(20);
    // Some clusters do not grant it.
    config.watch_for_release = random_->Below(4) == 0;
    config.identity = StrCat(setup_.incarnation->name, "_", random_->Uuid());
    setup_.incarnation->lease = lock_name_;
    setup_.incarnation->identity = config.identity;
    kube::LeaderElectionCallbacks callbacks;
    callbacks.on_started_leading = [this] { return Lead(); };
    callbacks.on_stopped_leading = [this] { setup_.exit(); };
    elector_ = std::make_unique<kube::LeaderElector>(loop(), *random_, *election_client_, log(),
                                                     std::move(config), std::move(callbacks));
    co_await elector_->Run();
  }

 protected:
  virtual async::Task<void> Lead() = 0;

  // As sidecar::Election and the programs have it.
  Result<MonotonicTime> CheckMayAct() const {
    if (elector_) return elector_->CheckMayAct();
    return MonotonicTime::max();
  }
  std::function<Result<MonotonicTime>()> MayWrite() {
    return [this] { return CheckMayAct(); };
  }
  std::function<Status()> MayCall() {
    return [this] { return CheckMayAct().status(); };
  }

 private:
  const std::string lock_name_;
  std::unique_ptr<kube::Client> election_client_;
  std::unique_ptr<kube::LeaderElector> elector_;
};

class Provisioner final : public ElectedProgram {
 public:
  Provisioner(Setup setup, Driver& driver, HoldClaims hold)
      : ElectedProgram(std::move(setup), StrCat("external-provisioner-", kDriverName)),
        client_(NewClient(50, 100, MayWrite())),
        event_client_(NewClient(5, 10, MayWrite())),
        observed_(NewDriverLink(setup_.world, driver, setup_.incarnation, ""), {.log = log()}),
        channel_(observed_, MayCall()) {
    provisioner::ProvisionController::Deps deps;
    deps.loop = &loop();
    deps.random = random_.get();
    deps.client = client_.get();
    deps.event_client = event_client_.get();
    deps.channel = &channel_;
    deps.registry = &registry_;
    deps.log = log();
    deps.host_name = "host";
    deps.names = {kDriverName, ""};
    deps.features.name = kDriverName;
    deps.features.controller_service = true;
    deps.features.create_delete_volume = true;
    deps.features.publish_unpublish_volume = true;
    deps.features.single_node_multi_writer = driver.abilities().single_node_multi_writer;
    deps.config.default_fs_type = "ext4";
    deps.config.hold_claims = hold == HoldClaims::kYes;
    deps.identity = setup_.incarnation->name;
    controller_.emplace(std::move(deps));
  }

 protected:
  async::Task<void> Lead() override { co_await controller_->Run(); }

 private:
  std::unique_ptr<kube::Client> client_;
  std::unique_ptr<kube::Client> event_client_;
  csi::ObservedChannel observed_;
  csi::GuardedChannel channel_;
  std::optional<provisioner::ProvisionController> controller_;
};

class Attacher final : public ElectedProgram {
 public:
  Attacher(Setup setup, Driver& driver)
      : ElectedProgram(std::move(setup), StrCat("external-attacher-", kDriverName)),
        client_(NewClient(50, 100, MayWrite())),
        observed_(NewDriverLink(setup_.world, driver, setup_.incarnation, ""), {.log = log()}),
        channel_(observed_, MayCall()) {
    attacher::AttachController::Deps deps;
    // What only a resync finds is a bug, and would be found late.
    deps.config.resync = Duration::zero();
    deps.loop = &loop();
    deps.random = random_.get();
    deps.client = client_.get();
    deps.channel = &channel_;
    deps.registry = &registry_;
    deps.log = log();
    deps.features.name = kDriverName;
    deps.features.publish_unpublish_volume = true;
    deps.features.single_node_multi_writer = driver.abilities().single_node_multi_writer;
    deps.features.lists_published_nodes = driver.abilities().lists_published_nodes;
    deps.config.max_entries = 2;  // several pages
    controller_.emplace(std::move(deps));
  }

 protected:
  async::Task<void> Lead() override { co_await controller_->Run(); }

 private:
  std::unique_ptr<kube::Client> client_;
  csi::ObservedChannel observed_;
  csi::GuardedChannel channel_;
  std::optional<attacher::AttachController> controller_;
};

class ControllerManager final : public Program {
 public:
  ControllerManager(Setup setup, volumecontroller::Caches& caches)
      : Program(std::move(setup)),
        client_(NewClient(-1, 0)),
        caches_(caches),
        binder_(loop(), *client_, caches_),
        attach_detach_(loop(), *client_, caches_, log::Logger()) {}

  async::Task<void> Run() override {
    async::TaskContext context = co_await async::CurrentContext();
    async::Scope scope(loop(), context.cancel);
    const bool synced = (co_await caches_.WaitForSync()).ok();
    if (synced) {
      scope.Spawn(binder_.Run());
      scope.Spawn(attach_detach_.Run());
    }
    co_await scope.Join();
  }

 private:
  std::unique_ptr<kube::Client> client_;
  volumecontroller::Caches& caches_;
  volumecontroller::VolumeBinder binder_;
  volumecontroller::AttachDetach attach_detach_;
};

}  // namespace

std::unique_ptr<Program> NewProvisioner(Program::Setup setup, Driver& driver, HoldClaims hold) {
  return std::make_unique<Provisioner>(std::move(setup), driver, hold);
}
std::unique_ptr<Program> NewAttacher(Program::Setup setup, Driver& driver) {
  return std::make_unique<Attacher>(std::move(setup), driver);
}
std::unique_ptr<Program> NewControllerManager(Program::Setup setup,
                                              volumecontroller::Caches& caches) {
  return std::make_unique<ControllerManager>(std::move(setup), caches);
}

}  // namespace csinative::sim
