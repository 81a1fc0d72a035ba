// SPDX-License-Identifier: Apache-2.0
#include "test/support/demo/demo.h"

#include <rapidjson/document.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <utility>

#include "apis/core/v1/maps.h"
#include "lib/async/run.h"
#include "lib/async/sleep.h"
#include "lib/base/strings.h"
#include "lib/kube/config.h"
#include "lib/kube/errors.h"
#include "test/support/demo/mount_namespace.h"

namespace csinative::demo {
namespace {

namespace fs = std::filesystem;

constexpr char kDriver[] = "sample.csi-native.io";
constexpr char kNamespace[] = "demo";
constexpr char kNode[] = "node-1";
constexpr char kPod[] = "writer";
constexpr char kGreeting[] = "hello from a pod";
constexpr Duration kStepLimit = std::chrono::seconds(60);
const char* const kClaims[] = {"data", "scratch"};

std::string Key(const std::string& name) { return StrCat(kNamespace, "/", name); }

// The 64 digits of a staging path and of nothing else here.
std::string ShortenDigests(std::string text) {
  size_t run = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    run = std::isxdigit(static_cast<unsigned char>(text[i])) != 0 ? run + 1 : 0;
    if (run == 64) return text.substr(0, i - 55) + "…" + text.substr(i + 1);
  }
  return text;
}

std::string FieldOf(const std::string& json, const char* name) {
  rapidjson::Document document;
  document.Parse(json.c_str());
  if (!document.IsObject() || !document.HasMember(name) || !document[name].IsString()) return "";
  return document[name].GetString();
}

}  // namespace

Demo::Demo(async::RealLoop& loop, Random& random, std::string bin_dir)
    : loop_(loop),
      random_(random),
      bin_dir_(std::move(bin_dir)),
      root_(dir_.path() + "/kubelet"),
      narrator_(loop) {}

Demo::~Demo() {
  programs_.clear();
  UnmountAtOrBelow(dir_.path());
}

Status Demo::StartProgram(std::string name, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), bin_dir_ + "/" + name);
  CSI_ASSIGN_OR_RETURN(
      test::ChildProcess process,
      test::ChildProcess::Start({.command = std::move(arguments),
                                 .env = {{"KUBECONFIG", ""}},
                                 .stderr_file = StrCat(dir(), "/", name, ".log")}));
  narrator_.Row("demo", name, StrCat("started, pid ", process.pid()));
  programs_.push_back({std::move(name), std::move(process)});
  return Status();
}

Status Demo::StartPrograms(const std::string& kubeconfig) {
  const std::string socket = StrCat(root_, "/plugins/", kDriver, "/csi.sock");
  std::error_code error;
  fs::create_directories(fs::path(socket).parent_path(), error);
  fs::create_directories(root_ + "/plugins_registry", error);

  CSI_RETURN_IF_ERROR(StartProgram(
      "sample-driver", {"--endpoint", "unix://" + socket, "--state-dir", dir() + "/driver",
                        "--node-id", kNode, "--log", dir() + "/calls.jsonl"}));
  CSI_RETURN_IF_ERROR(StartProgram(
      "csi-provisioner", {"--csi-address=" + socket, "--kubeconfig=" + kubeconfig,
                          "--leader-election", StrCat("--leader-election-namespace=", kNamespace),
                          "--feature-gates=Topology=true", "-v=5"}));
  CSI_RETURN_IF_ERROR(StartProgram(
      "csi-attacher", {"--csi-address=" + socket, "--kubeconfig=" + kubeconfig, "--leader-election",
                       StrCat("--leader-election-namespace=", kNamespace), "-v=5"}));
  CSI_RETURN_IF_ERROR(
      StartProgram("csi-volume-manager", {"--kubeconfig=" + kubeconfig, "--root-dir=" + root_,
                                          StrCat("--hostname-override=", kNode), "-v=5"}));
  return StartProgram("csi-node-driver-registrar",
                      {"--csi-address=" + socket, "--kubelet-registration-path=" + socket,
                       StrCat("--plugin-registration-path=", root_, "/plugins_registry"), "-v=5"});
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
  core::PersistentVolumeClaim claim;
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
    for (Program& program : programs_) {
      if (program.process.Poll()) {
        co_return UnavailableError(StrCat(program.name, " ended; see ", program.name, ".log"));
      }
    }
    CSI_CO_RETURN_IF_ERROR(co_await async::Sleep(std::chrono::milliseconds(2)));
  }
  co_return Status();
}

bool Demo::IsBound(const std::string& claim) const {
  const auto found = caches_->claims.Get(Key(claim));
  return found && found->status().phase() == "Bound";
}

std::string Demo::TargetOf(const std::string& claim) const {
  const auto found = caches_->claims.Get(Key(claim));
  if (!found) return "";
  return StrCat(root_, "/pods/", pod_uid_, "/volumes/kubernetes.io~csi/",
                found->spec().volumename(), "/mount");
}

bool Demo::IsMounted(const std::string& path) const {
  const auto points = MountPointsAtOrBelow(path);
  // What cannot be told counts as mounted; the limit of the step ends the wait.
  return !points.ok() || std::find(points->begin(), points->end(), path) != points->end();
}

size_t Demo::VolumesInDriver() const {
  std::error_code error;
  size_t count = 0;
  for (auto it = fs::directory_iterator(dir() + "/driver/volumes", error);
       !error && it != fs::directory_iterator(); it.increment(error)) {
    ++count;
  }
  return count;
}

async::Task<Status> Demo::CreateObjects() {
  core::Node node;
  node.mutable_metadata()->set_name(kNode);
  auto* condition = node.mutable_status()->add_conditions();
  condition->set_type("Ready");
  condition->set_status("True");
  CSI_CO_RETURN_IF_ERROR((co_await client_->Create(std::move(node))).status());
  storage::CSIDriver driver;
  driver.mutable_metadata()->set_name(kDriver);
  driver.mutable_spec()->set_attachrequired(true);
  narrator_.Row("user", StrCat("CSIDriver ", kDriver), "creates it, volumes are attached");
  co_return (co_await client_->Create(std::move(driver))).status();
}

async::Task<Status> Demo::RunPod() {
  core::Pod pod;
  pod.mutable_metadata()->set_name(kPod);
  pod.mutable_metadata()->set_namespace_(kNamespace);
  auto* container = pod.mutable_spec()->add_containers();
  container->set_name("main");
  container->set_image("none");
  for (const char* claim : kClaims) {
    auto* volume = pod.mutable_spec()->add_volumes();
    volume->set_name(claim);
    volume->mutable_volumesource()->mutable_persistentvolumeclaim()->set_claimname(claim);
    auto* mount = container->add_volumemounts();
    mount->set_name(claim);
    mount->set_mountpath(StrCat("/", claim));
  }
  narrator_.Row("user", StrCat("Pod ", kPod), "creates it, with both claims");
  auto created = co_await client_->Create(std::move(pod));
  if (!created.ok()) co_return created.status();
  pod_uid_ = created->metadata().uid();

  narrator_.Row("scheduler", "PersistentVolumeClaim scratch",
                StrCat("chooses ", kNode, " (annotation volume.kubernetes.io/selected-node)"));
  auto chosen = co_await client_->Patch<core::PersistentVolumeClaim>(
      {kNamespace, "scratch"}, kube::PatchType::kMerge,
      StrCat(R"({"metadata":{"annotations":{"volume.kubernetes.io/selected-node":")", kNode,
             R"("}}})"));
  CSI_CO_RETURN_IF_ERROR(chosen.status());
  CSI_CO_RETURN_IF_ERROR(
      co_await Until("the claim is bound", [this] { return IsBound("scratch"); }));

  narrator_.Row("scheduler", StrCat("Pod ", kPod), StrCat("binds it to ", kNode));
  kube::ApiRequest bind;
  bind.method = "POST";
  bind.path = StrCat("/api/v1/namespaces/", kNamespace, "/pods/", kPod, "/binding");
  bind.accept = "application/json";
  bind.content_type = "application/json";
  bind.body = StrCat(R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":")", kPod,
                     R"("},"target":{"kind":"Node","name":")", kNode, R"("}})");
  auto bound = co_await transport_->Do(std::move(bind));
  if (!bound.ok()) co_return bound.status();
  if (bound->code / 100 != 2) co_return UnknownError(StrCat("binding: ", bound->body));
  CSI_CO_RETURN_IF_ERROR(co_await Until("both volumes are mounted", [this] {
    return IsMounted(TargetOf("data")) && IsMounted(TargetOf("scratch"));
  }));
  CSI_CO_RETURN_IF_ERROR(UseContainer());
  auto running = co_await client_->Patch<core::Pod>(
      {kNamespace, kPod}, kube::PatchType::kMerge,
      R"({"status":{"phase":"Running","containerStatuses":[{"name":"main","image":"none",)"
      R"("imageID":"","ready":true,"restartCount":0,"state":{"running":{}}}]}})",
      "status");
  co_return running.status();
}

Status Demo::UseContainer() {
  for (const char* claim : kClaims) {
    const std::string file = TargetOf(claim) + "/greeting";
    std::ofstream(file) << kGreeting;
    narrator_.Row("container", StrCat("/", claim, "/greeting"),
                  StrCat("writes \"", kGreeting, "\""));
  }
  for (const char* claim : kClaims) {
    const auto found = caches_->claims.Get(Key(claim));
    const auto volume = caches_->volumes.Get(found->spec().volumename());
    const std::string behind =
        StrCat(dir(), "/driver/volumes/",
               volume->spec().persistentvolumesource().csi().volumehandle(), "/data/greeting");
    std::string text;
    std::ifstream file(behind);
    std::getline(file, text);
    if (text != kGreeting) return UnknownError(StrCat("the volume does not hold ", behind));
    narrator_.Row("driver", StrCat("volume of ", claim), "holds the file");
    std::string read_back;
    std::ifstream mounted(TargetOf(claim) + "/greeting");
    std::getline(mounted, read_back);
    if (read_back != kGreeting) return UnknownError(StrCat("/", claim, " lost what was written"));
    narrator_.Row("container", StrCat("/", claim, "/greeting"),
                  StrCat("reads \"", read_back, "\" back"));
  }
  return Status();
}

async::Task<Status> Demo::EndPod() {
  narrator_.Row("user", StrCat("Pod ", kPod), "deletes it");
  CSI_CO_RETURN_IF_ERROR(co_await client_->Delete<core::Pod>({kNamespace, kPod}));
  narrator_.Row("container", "main", "ends");
  auto ended = co_await client_->Patch<core::Pod>(
      {kNamespace, kPod}, kube::PatchType::kMerge,
      R"({"status":{"containerStatuses":[{"name":"main","image":"none","imageID":"",)"
      R"("ready":false,"restartCount":0,"state":{"terminated":{"exitCode":0}}}]}})",
      "status");
  if (!ended.ok() && !kube::IsNotFound(ended.status())) co_return ended.status();
  CSI_CO_RETURN_IF_ERROR(co_await Until("both volumes are unmounted", [this] {
    return !IsMounted(TargetOf("data")) && !IsMounted(TargetOf("scratch"));
  }));
  kube::DeleteOptions now;
  now.grace_period_seconds = 0;
  Status gone = co_await client_->Delete<core::Pod>({kNamespace, kPod}, now);
  if (!gone.ok() && !kube::IsNotFound(gone)) co_return gone;
  narrator_.Row("API", StrCat("Pod ", kPod), "is gone");
  co_return co_await Until("the volumes are detached",
                           [this] { return caches_->attachments.size() == 0; });
}

Status Demo::CheckNothingIsLeft() {
  CSI_ASSIGN_OR_RETURN(const std::vector<std::string> points, MountPointsAtOrBelow(root_));
  for (const std::string& point : points) {
    // csi-volume-manager binds kubelet's folder to itself, to share the mounts below it.
    if (point != root_) return UnknownError("a mount is left: " + point);
  }
  for (const char* folder : {"/pods", "/plugins/kubernetes.io/csi"}) {
    std::error_code error;
    for (const auto& entry : fs::recursive_directory_iterator(root_ + folder, error)) {
      if (!entry.is_directory() || entry.path().filename() == "globalmount") {
        return UnknownError("a file is left: " + entry.path().string());
      }
    }
  }
  return Status();
}

async::Task<Status> Demo::Act() {
  CSI_CO_RETURN_IF_ERROR(co_await Until("the driver is registered", [this] {
    const auto node = csi_nodes_->Get(kNode);
    return node && node->spec().drivers_size() > 0;
  }));

  narrator_.Title("A claim that is provisioned at once");
  CSI_CO_RETURN_IF_ERROR(co_await CreateClass("fast", "Immediate"));
  CSI_CO_RETURN_IF_ERROR(co_await CreateClaim("data", "fast"));
  CSI_CO_RETURN_IF_ERROR(co_await Until("the claim is bound", [this] { return IsBound("data"); }));

  narrator_.Title("A claim that waits for its pod; the pod uses both");
  CSI_CO_RETURN_IF_ERROR(co_await CreateClass("late", "WaitForFirstConsumer"));
  CSI_CO_RETURN_IF_ERROR(co_await CreateClaim("scratch", "late"));
  CSI_CO_RETURN_IF_ERROR(co_await Until(
      "the claim is seen", [this] { return caches_->claims.Contains(Key("scratch")); }));
  CSI_CO_RETURN_IF_ERROR(co_await RunPod());

  narrator_.Title("The pod ends");
  CSI_CO_RETURN_IF_ERROR(co_await EndPod());

  narrator_.Title("The claims are deleted");
  for (const char* name : kClaims) {
    narrator_.Row("user", StrCat("PersistentVolumeClaim ", name), "deletes it");
    CSI_CO_RETURN_IF_ERROR(
        co_await client_->Delete<core::PersistentVolumeClaim>({kNamespace, name}));
  }
  CSI_CO_RETURN_IF_ERROR(co_await Until("nothing is left", [this] {
    return caches_->claims.size() == 0 && caches_->volumes.size() == 0 && VolumesInDriver() == 0;
  }));
  narrator_.Row("driver", "storage backend", "holds 0 volumes");
  co_return CheckNothingIsLeft();
}

void Demo::OnDriverCall(const DriverCall& call) {
  // Asked before each step; they would hide the steps.
  if (call.method == "Probe" || call.method == "NodeGetCapabilities") return;
  std::string shown;
  for (const char* field :
       {"name", "volume_id", "volumeId", "node_id", "nodeId", "staging_target_path",
        "stagingTargetPath", "target_path", "targetPath"}) {
    std::string value = FieldOf(call.request, field);
    if (value.empty()) continue;
    if (value.starts_with(root_)) value = "<root>" + value.substr(root_.size());
    value = ShortenDigests(value);
    shown += StrCat(shown.empty() ? "" : " ", value);
  }
  narrator_.Row("driver", StrCat("CSI ", call.method, " ", call.code), shown);
}

async::Task<Status> Demo::Live(apiserver::EmbeddedApiServer* api) {
  auto made = api->api().CreateObject(
      R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"demo"}})");
  if (!made.ok()) co_return UnknownError("the API server refuses the namespace");
  const std::string kubeconfig = dir() + "/kubeconfig";
  std::ofstream(kubeconfig) << api->Kubeconfig();
  ::chmod(kubeconfig.c_str(), 0600);
  kube::ConfigSources sources;
  sources.kubeconfig = kubeconfig;
  auto config = kube::LoadConfig(sources, log::Logger());
  if (!config.ok()) co_return config.status();
  auto transport = kube::NewHttpTransport(loop_, *std::move(config), "demo", log::Logger());
  if (!transport.ok()) co_return transport.status();
  transport_ = *std::move(transport);
  kube::ClientOptions options;
  options.user_agent = "demo";
  options.qps = -1;
  auto client = kube::Client::Create(loop_, random_, *transport_, log::Logger(), options);
  if (!client.ok()) co_return client.status();
  client_ = *std::move(client);
  CSI_CO_RETURN_IF_ERROR(co_await CreateObjects());

  caches_ = std::make_unique<volumecontroller::Caches>(loop_, random_, *client_, log::Logger());
  csi_nodes_ =
      std::make_unique<kube::Informer<storage::CSINode>>(loop_, random_, *client_, log::Logger());
  binder_ = std::make_unique<volumecontroller::VolumeBinder>(loop_, *client_, *caches_);
  attach_detach_ =
      std::make_unique<volumecontroller::AttachDetach>(loop_, *client_, *caches_, log::Logger());
  Watch();

  async::TaskContext context = co_await async::CurrentContext();
  async::Scope background(loop_, context.cancel);
  caches_->Run(&background);
  background.Spawn(csi_nodes_->Run());
  Status status = co_await caches_->WaitForSync();
  if (status.ok()) status = co_await csi_nodes_->WaitForSync();
  if (status.ok()) status = StartPrograms(kubeconfig);
  if (status.ok()) {
    background.Spawn(binder_->Run());
    background.Spawn(attach_detach_->Run());
    background.Spawn(FollowDriverLog(dir() + "/calls.jsonl",
                                     [this](const DriverCall& call) { OnDriverCall(call); }));
    status = co_await Act();
  }
  co_await background.Close();
  co_return status;
}

async::Task<Status> Demo::Run() {
  apiserver::EmbeddedApiServer api(loop_, random_);
  narrator_.Title("Start");
  CSI_CO_RETURN_IF_ERROR(api.Start());
  narrator_.Row("demo", "API server", "listens on " + api.url());
  Status status = co_await Live(&api);
  programs_.clear();
  co_await api.Close();
  co_return status;
}

}  // namespace csinative::demo
