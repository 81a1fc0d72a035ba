// SPDX-License-Identifier: Apache-2.0
//
// The demo: an embedded API server, the sample driver and csi-provisioner take two claims, one with
// immediate and one with late binding, from creation to deletion, and each step is shown.
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>

#include "apis/core/v1/maps.h"
#include "apis/core/v1/node.pb.h"
#include "apis/core/v1/volume.pb.h"
#include "apis/storage/v1/storage.pb.h"
#include "cmd/volumecontroller/attach_detach.h"
#include "cmd/volumecontroller/caches.h"
#include "cmd/volumecontroller/volume_binder.h"
#include "lib/async/run.h"
#include "lib/async/sleep.h"
#include "lib/async/timeout.h"
#include "lib/base/go_duration.h"
#include "lib/kube/config.h"
#include "lib/kube/errors.h"
#include "lib/kube/informer.h"
#include "test/support/apiserver/api_server.h"
#include "test/support/child_process.h"
#include "test/support/demo/driver_log.h"
#include "test/support/demo/narrator.h"

namespace csinative::demo {
namespace {

namespace fs = std::filesystem;

constexpr char kDriver[] = "sample.csi-native.io";
constexpr char kNamespace[] = "demo";
constexpr Duration kStepLimit = std::chrono::seconds(30);

struct Settings {
  std::string bin_dir;
};

// The two watched kinds and everything that belongs to one run.
class Demo {
 public:
  Demo(async::RealLoop& loop, Random& random, Settings settings)
      : loop_(loop), random_(random), settings_(std::move(settings)), narrator_(loop) {}

  async::Task<Status> Run();
  void KeepFiles() { dir_.Keep(); }
  const std::string& dir() const { return dir_.path(); }

 private:
  using Claim = core::PersistentVolumeClaim;
  using Volume = core::PersistentVolume;

  async::Task<Status> Live(apiserver::EmbeddedApiServer* api);
  async::Task<Status> Act();
  Status StartPrograms(apiserver::EmbeddedApiServer* api);
  void Watch();
  async::Task<Status> CreateClass(std::string name, std::string binding_mode);
  async::Task<Status> CreateClaim(std::string name, std::string storage_class);
  // Waits until `done`, watching that the programs live.
  async::Task<Status> Until(std::string what, std::function<bool()> done);
  void ShowClaim(const Claim& claim, const char* what);
  void ShowVolume(const Volume& volume, const char* what);
  size_t VolumesInDriver() const;

  async::RealLoop& loop_;
  Random& random_;
  const Settings settings_;
  test::TempDir dir_;
  Narrator narrator_;
  std::unique_ptr<kube::ApiTransport> transport_;
  std::unique_ptr<kube::Client> client_;
  std::unique_ptr<kube::Informer<Claim>> claims_;
  std::unique_ptr<kube::Informer<Volume>> volumes_;
  std::unique_ptr<volumecontroller::Caches> caches_;
  std::unique_ptr<volumecontroller::VolumeBinder> binder_;
  std::unique_ptr<volumecontroller::AttachDetach> attach_detach_;
  std::optional<test::ChildProcess> driver_;
  std::optional<test::ChildProcess> provisioner_;
};

void Demo::ShowClaim(const Claim& claim, const char* what) {
  std::string text = what;
  if (!claim.status().phase().empty()) text += ", phase " + claim.status().phase();
  if (!claim.spec().volumename().empty())
    text += ", volume " + claim.spec().volumename().substr(0, 12) + "…";
  narrator_.Row("API", "PersistentVolumeClaim " + claim.metadata().name(), text);
}

void Demo::ShowVolume(const Volume& volume, const char* what) {
  std::string text = what;
  if (!volume.status().phase().empty()) text += ", phase " + volume.status().phase();
  if (volume.metadata().has_deletiontimestamp()) text += ", terminating";
  narrator_.Row("API", "PersistentVolume " + volume.metadata().name().substr(0, 20) + "…", text);
}

void Demo::Watch() {
  claims_ = std::make_unique<kube::Informer<Claim>>(loop_, random_, *client_, log::Logger());
  claims_->AddHandler(
      {.on_add = [this](const Claim& claim, kube::AddKind) { ShowClaim(claim, "created"); },
       .on_update =
           [this](const Claim& before, const Claim& claim) {
             if (claim.metadata().has_deletiontimestamp() &&
                 !before.metadata().has_deletiontimestamp()) {
               ShowClaim(claim, "deletion asked for");
             } else if (claim.status().phase() != before.status().phase()) {
               ShowClaim(claim, "bound");
             }
           },
       .on_delete = [this](const Claim& claim) { ShowClaim(claim, "gone"); }});
  volumes_ = std::make_unique<kube::Informer<Volume>>(loop_, random_, *client_, log::Logger());
  volumes_->AddHandler({.on_add =
                            [this](const Volume& volume, kube::AddKind) {
                              ShowVolume(volume, "created");
                              narrator_.Row(
                                  "API", "  volume handle",
                                  volume.spec().persistentvolumesource().csi().volumehandle());
                            },
                        .on_update =
                            [this](const Volume& before, const Volume& volume) {
                              if (volume.status().phase() != before.status().phase() ||
                                  volume.metadata().has_deletiontimestamp() !=
                                      before.metadata().has_deletiontimestamp()) {
                                ShowVolume(volume, "changed");
                              }
                            },
                        .on_delete = [this](const Volume& volume) { ShowVolume(volume, "gone"); }});
}

Status Demo::StartPrograms(apiserver::EmbeddedApiServer* api) {
  const std::string kubeconfig = dir_.path() + "/kubeconfig";
  std::ofstream(kubeconfig) << api->Kubeconfig();
  ::chmod(kubeconfig.c_str(), 0600);
  const std::string socket = dir_.path() + "/csi.sock";

  CSI_ASSIGN_OR_RETURN(
      test::ChildProcess driver,
      test::ChildProcess::Start(
          {.command = {settings_.bin_dir + "/sample-driver", "--endpoint", "unix://" + socket,
                       "--state-dir", dir_.path() + "/driver", "--node-id", "node-1", "--log",
                       dir_.path() + "/calls.jsonl"},
           .stderr_file = dir_.path() + "/driver.log"}));
  narrator_.Row("demo", "sample-driver (pid " + std::to_string(driver.pid()) + ")",
                "listens on " + socket);
  driver_.emplace(std::move(driver));
  CSI_ASSIGN_OR_RETURN(
      test::ChildProcess provisioner,
      test::ChildProcess::Start(
          {.command = {settings_.bin_dir + "/csi-provisioner", "--csi-address=" + socket,
                       "--kubeconfig=" + kubeconfig, "--leader-election",
                       "--leader-election-namespace=" + std::string(kNamespace), "-v=5"},
           .env = {{"KUBECONFIG", ""}},
           .stderr_file = dir_.path() + "/provisioner.log"}));
  narrator_.Row("demo", "csi-provisioner (pid " + std::to_string(provisioner.pid()) + ")",
                "started, log in " + dir_.path() + "/provisioner.log");
  provisioner_.emplace(std::move(provisioner));

  kube::ConfigSources sources;
  sources.kubeconfig = kubeconfig;
  CSI_ASSIGN_OR_RETURN(kube::RestConfig config, kube::LoadConfig(sources, log::Logger()));
  CSI_ASSIGN_OR_RETURN(transport_,
                       kube::NewHttpTransport(loop_, std::move(config), "demo", log::Logger()));
  kube::ClientOptions options;
  options.user_agent = "demo";
  options.qps = -1;
  CSI_ASSIGN_OR_RETURN(client_, kube::Client::Create(loop_, random_, *transport_, log::Logger(),
                                                     std::move(options)));
  return Status();
}

async::Task<Status> Demo::CreateClass(std::string name, std::string binding_mode) {
  storage::StorageClass made;
  made.mutable_metadata()->set_name(name);
  made.set_provisioner(kDriver);
  made.set_volumebindingmode(binding_mode);
  made.set_reclaimpolicy("Delete");
  narrator_.Row("user", "StorageClass " + name, "creates it, " + binding_mode);
  co_return (co_await client_->Create(std::move(made))).status();
}

async::Task<Status> Demo::CreateClaim(std::string name, std::string storage_class) {
  Claim claim;
  claim.mutable_metadata()->set_name(name);
  claim.mutable_metadata()->set_namespace_(kNamespace);
  claim.mutable_spec()->set_storageclassname(storage_class);
  claim.mutable_spec()->add_accessmodes("ReadWriteOnce");
  apis::MutableEntry(claim.mutable_spec()->mutable_resources()->mutable_requests(), "storage")
      ->set_string("1Gi");
  narrator_.Row("user", "PersistentVolumeClaim " + name, "creates it, 1Gi of " + storage_class);
  co_return (co_await client_->Create(std::move(claim))).status();
}

async::Task<Status> Demo::Until(std::string what, std::function<bool()> done) {
  const MonotonicTime end = loop_.Now() + kStepLimit;
  while (!done()) {
    if (loop_.Now() > end) co_return DeadlineExceededError("gave up waiting until " + what);
    if (driver_->Poll()) co_return UnavailableError("sample-driver ended; see driver.log");
    if (provisioner_->Poll()) {
      co_return UnavailableError("csi-provisioner ended; see provisioner.log");
    }
    CSI_CO_RETURN_IF_ERROR(co_await async::Sleep(std::chrono::milliseconds(2)));
  }
  co_return Status();
}

size_t Demo::VolumesInDriver() const {
  std::error_code error;
  size_t count = 0;
  for (auto it = fs::directory_iterator(dir_.path() + "/driver/volumes", error);
       !error && it != fs::directory_iterator(); it.increment(error)) {
    ++count;
  }
  return count;
}

async::Task<Status> Demo::Act() {
  CSI_CO_RETURN_IF_ERROR(co_await claims_->WaitForSync());
  CSI_CO_RETURN_IF_ERROR(co_await volumes_->WaitForSync());

  narrator_.Title("A claim that is provisioned at once");
  CSI_CO_RETURN_IF_ERROR(co_await CreateClass("fast", "Immediate"));
  CSI_CO_RETURN_IF_ERROR(co_await CreateClaim("data", "fast"));
  auto bound = [this](const char* name) {
    return [this, key = std::string(kNamespace) + "/" + name] {
      auto claim = claims_->Get(key);
      return claim && claim->status().phase() == "Bound";
    };
  };
  CSI_CO_RETURN_IF_ERROR(co_await Until("the claim is bound", bound("data")));

  narrator_.Title("A claim that waits for its first consumer");
  core::Node node;
  node.mutable_metadata()->set_name("node-1");
  CSI_CO_RETURN_IF_ERROR((co_await client_->Create(std::move(node))).status());
  CSI_CO_RETURN_IF_ERROR(co_await CreateClass("late", "WaitForFirstConsumer"));
  CSI_CO_RETURN_IF_ERROR(co_await CreateClaim("scratch", "late"));
  CSI_CO_RETURN_IF_ERROR(co_await Until("the claim is seen", [this] {
    return claims_->Get(std::string(kNamespace) + "/scratch").has_value();
  }));
  narrator_.Row("scheduler", "PersistentVolumeClaim scratch",
                "chooses node-1 (annotation volume.kubernetes.io/selected-node)");
  auto chosen = co_await client_->Patch<Claim>(
      kube::ObjectName{kNamespace, "scratch"}, kube::PatchType::kMerge,
      R"({"metadata":{"annotations":{"volume.kubernetes.io/selected-node":"node-1"}}})");
  CSI_CO_RETURN_IF_ERROR(chosen.status());
  CSI_CO_RETURN_IF_ERROR(co_await Until("the claim is bound", bound("scratch")));
  narrator_.Row("driver", "storage backend",
                "holds " + std::to_string(VolumesInDriver()) + " volumes");

  narrator_.Title("Deletion");
  for (const char* name : {"data", "scratch"}) {
    narrator_.Row("user", std::string("PersistentVolumeClaim ") + name, "deletes it");
    CSI_CO_RETURN_IF_ERROR(co_await client_->Delete<Claim>(kube::ObjectName{kNamespace, name}));
  }
  CSI_CO_RETURN_IF_ERROR(co_await Until("nothing is left", [this] {
    return claims_->size() == 0 && volumes_->size() == 0 && VolumesInDriver() == 0;
  }));
  narrator_.Row("driver", "storage backend", "holds 0 volumes");
  co_return Status();
}

async::Task<Status> Demo::Live(apiserver::EmbeddedApiServer* api) {
  CSI_CO_RETURN_IF_ERROR(StartPrograms(api));
  auto made = api->api().CreateObject(
      R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"demo"}})");
  (void)made;
  Watch();
  caches_ = std::make_unique<volumecontroller::Caches>(loop_, random_, *client_, log::Logger());
  binder_ = std::make_unique<volumecontroller::VolumeBinder>(loop_, *client_, *caches_);
  attach_detach_ = std::make_unique<volumecontroller::AttachDetach>(loop_, *client_, *caches_,
                                                                    log::Logger());

  async::TaskContext context = co_await async::CurrentContext();
  async::Scope background(loop_, context.cancel);
  background.Spawn(claims_->Run());
  background.Spawn(volumes_->Run());
  caches_->Run(&background);
  CSI_CO_RETURN_IF_ERROR(co_await caches_->WaitForSync());
  background.Spawn(binder_->Run());
  background.Spawn(attach_detach_->Run());
  background.Spawn(FollowDriverLog(dir_.path() + "/calls.jsonl", [this](const DriverCall& call) {
    std::string shown = call.request;
    if (shown.size() > 70) shown = shown.substr(0, 67) + "...";
    narrator_.Row("driver", "CSI " + call.method + " " + call.code, shown);
  }));
  Status status = co_await Act();
  co_await background.Close();
  co_return status;
}

async::Task<Status> Demo::Run() {
  apiserver::EmbeddedApiServer api(loop_, random_);
  narrator_.Title("Start");
  CSI_CO_RETURN_IF_ERROR(api.Start());
  narrator_.Row("demo", "API server", "listens on " + api.url());
  Status status = co_await Live(&api);
  provisioner_.reset();
  driver_.reset();
  co_await api.Close();
  co_return status;
}

async::Task<void> Supervise(Demo* demo, Status* result, async::RealLoop* loop) {
  *result = co_await demo->Run();
  loop->Stop();
}

int Main(int argc, char** argv) {
  Settings settings;
  settings.bin_dir = fs::read_symlink("/proc/self/exe").parent_path();
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
  auto random = NewSystemRandom();
  async::RealLoop loop;
  Demo demo(loop, *random, settings);
  if (keep) demo.KeepFiles();
  async::Scope scope(loop);
  Status result;
  int interrupted = 0;
  loop.OnSignal({SIGINT, SIGTERM}, [&](int signal) {
    interrupted = signal;
    scope.Cancel();
  });
  const MonotonicTime start = loop.Now();
  scope.Spawn(Supervise(&demo, &result, &loop));
  while (!scope.empty()) loop.Run();

  if (interrupted != 0) {
    std::printf("\ninterrupted: everything was stopped and removed\n");
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
  return 0;
}

}  // namespace
}  // namespace csinative::demo

int main(int argc, char** argv) { return csinative::demo::Main(argc, argv); }
