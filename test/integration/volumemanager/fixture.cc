// SPDX-License-Identifier: Apache-2.0
#include "test/integration/volumemanager/fixture.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <utility>

#include "apis/json/parse.h"
#include "lib/async/sleep.h"
#include "lib/base/strings.h"
#include "lib/csi/calls.h"
#include "lib/http/client.h"
#include "lib/mount/mount_table.h"
#include "proto/pluginregistration/v1/api.pb.h"
#include "test/integration/volumemanager/mount_namespace.h"
#include "test/support/apiserver/recording_writer.h"

namespace csinative {
namespace {

using ::pluginregistration::InfoRequest;
using ::pluginregistration::PluginInfo;
using ::pluginregistration::RegistrationStatus;
using ::pluginregistration::RegistrationStatusResponse;

Status namespace_status = UnavailableError("not entered");

async::Task<bool> Poll(async::EventLoop* loop, std::function<bool()> done, MonotonicTime end) {
  while (!done()) {
    if (loop->Now() >= end) co_return false;
    (void)co_await async::Sleep(std::chrono::milliseconds(5));
  }
  co_return true;
}

async::Task<std::string> CreateVolume(async::EventLoop* loop, std::string socket, std::string name,
                                      bool block) {
  auto channel = co_await rpc::Connect(*loop, "unix://" + socket, {});
  if (!channel.ok()) co_return "";
  ::csi::v1::CreateVolumeRequest request;
  request.set_name(std::move(name));
  auto* capability = request.add_volume_capabilities();
  if (block) {
    capability->mutable_block();
  } else {
    capability->mutable_mount();
  }
  capability->mutable_access_mode()->set_mode(
      ::csi::v1::VolumeCapability::AccessMode::SINGLE_NODE_WRITER);
  request.mutable_capacity_range()->set_required_bytes(1 << 20);
  auto made = co_await csi::Call<::csi::v1::CreateVolumeRequest>(**channel, std::move(request));
  co_return made.ok() ? made->volume().volume_id() : "";
}

}  // namespace

void VolumeManagerFixture::SetUpTestSuite() {
  if (!namespace_status.ok()) namespace_status = EnterOwnMountNamespace();
}

VolumeManagerFixture::VolumeManagerFixture() : paths_(dir_.path() + "/kubelet") {}

void VolumeManagerFixture::SetUp() {
  ASSERT_TRUE(namespace_status.ok()) << namespace_status.message();
}

VolumeManagerFixture::~VolumeManagerFixture() {
  if (HasFailure()) std::fprintf(stderr, "---- csi-volume-manager\n%s----\n", Log().c_str());
  manager_.reset();
  driver_.reset();
  if (registrar_) async::RunTask(loop_, registrar_->Close());
  if (api_) async::RunTask(loop_, api_->Close());
  // So that the folder can be removed.
  auto fs = mount::RealFileSystem::Open(dir_.path());
  if (!fs.ok()) return;
  auto table = (*fs)->ReadMountTable();
  if (!table.ok()) return;
  for (const std::string& path : mount::UnmountOrder(*table, dir_.path())) {
    (void)(*fs)->Unmount(path);
  }
}

// --- processes -----------------------------------------------------------------------------------

void VolumeManagerFixture::StartWorld(std::vector<std::string> driver_flags) {
  api_ = std::make_unique<apiserver::EmbeddedApiServer>(loop_, *random_);
  Status started = api_->Start();
  ASSERT_TRUE(started.ok()) << started.ToString();
  std::ofstream(kubeconfig()) << api_->Kubeconfig();
  Add(StrCat(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":")", kNode, R"("}})"));
  Add(StrCat(R"({"apiVersion":"storage.k8s.io/v1","kind":"CSIDriver","metadata":{"name":")",
             kDriver, R"("},"spec":{"attachRequired":true,"podInfoOnMount":true}})"));
  std::vector<std::string> command = {
      SAMPLE_DRIVER_BINARY,    "--endpoint", "unix://" + socket(), "--state-dir",
      dir_.path() + "/driver", "--node-id",  "driver-node-1"};
  command.insert(command.end(), driver_flags.begin(), driver_flags.end());
  auto child = test::ChildProcess::Start(
      {.command = std::move(command), .stderr_file = dir_.path() + "/driver.log"});
  ASSERT_TRUE(child.ok()) << child.status().ToString();
  driver_.emplace(std::move(child).value());
  ASSERT_TRUE(Until([this] { return ::access(socket().c_str(), F_OK) == 0; }));

  std::filesystem::create_directories(paths_.Registry());
  registrar_ = rpc::NewServer(loop_);
  rpc::Handle<InfoRequest, PluginInfo>(*registrar_, "/pluginregistration.Registration/GetInfo",
                                       [this](InfoRequest, PluginInfo* info) {
                                         info->set_type("CSIPlugin");
                                         info->set_name(kDriver);
                                         info->set_endpoint(socket());
                                         info->add_supported_versions("1.0.0");
                                         return [](Status done) -> async::Task<Status> {
                                           co_return done;
                                         }(Status());
                                       });
  rpc::Handle<RegistrationStatus, RegistrationStatusResponse>(
      *registrar_, "/pluginregistration.Registration/NotifyRegistrationStatus",
      [this](RegistrationStatus status, RegistrationStatusResponse*) {
        told_.push_back(status.plugin_registered() ? "" : status.error());
        return [](Status done) -> async::Task<Status> { co_return done; }(Status());
      });
  Status listening = registrar_->Start(StrCat("unix://", paths_.Registry(), "/sample-reg.sock"));
  ASSERT_TRUE(listening.ok()) << listening.message();
}

std::vector<std::string> VolumeManagerFixture::UsualArguments() const {
  return {"--kubeconfig=" + kubeconfig(), "--root-dir=" + root(),
          StrCat("--hostname-override=", kNode), "--force-deleted-pod-unmount-delay=0", "--v=5"};
}

void VolumeManagerFixture::StartManager(std::vector<std::string> more) {
  std::vector<std::string> arguments = UsualArguments();
  arguments.insert(arguments.end(), more.begin(), more.end());
  StartProgram(std::move(arguments));
}

void VolumeManagerFixture::StartProgram(std::vector<std::string> arguments) {
  std::vector<std::string> command = {CSI_VOLUME_MANAGER_BINARY};
  command.insert(command.end(), arguments.begin(), arguments.end());
  auto child = test::ChildProcess::Start(
      {.command = std::move(command),
       .env = {{"KUBECONFIG", ""}, {"KUBERNETES_SERVICE_HOST", ""}, {"NODE_NAME", ""}},
       .stdout_file = dir_.path() + "/manager.out",
       .stderr_file = dir_.path() + "/manager.log"});
  ASSERT_TRUE(child.ok()) << child.status().ToString();
  manager_.emplace(std::move(child).value());
}

void VolumeManagerFixture::KillManager() {
  manager_->Signal(SIGKILL);
  ASSERT_TRUE(Until([this] { return manager_->Poll().has_value(); }));
  manager_.reset();
}

// --- the world -----------------------------------------------------------------------------------

void VolumeManagerFixture::Add(const std::string& json) {
  ASSERT_TRUE(api_->api().CreateObject(json).ok()) << json;
}

std::string VolumeManagerFixture::Find(const std::string& group, const std::string& resource,
                                       const std::string& ns, const std::string& name) {
  const apiserver::ObjectPtr object = api_->api().GetObject(group, resource, ns, name);
  return object ? object->json : "";
}

int VolumeManagerFixture::Request(const std::string& method, const std::string& target,
                                  const std::string& body) {
  http::ServerRequest request;
  request.method = method;
  request.target = target;
  request.headers.Add("Authorization", "Bearer " + api_->admin_token());
  request.headers.Add("Accept", "application/json");
  if (!body.empty()) {
    request.headers.Add("Content-Type",
                        method == "PATCH" ? "application/merge-patch+json" : "application/json");
    request.body = body;
  }
  apiserver::RecordingWriter writer;
  async::RunTask(loop_, api_->api().Handle(std::move(request), &writer));
  return writer.status;
}

std::string VolumeManagerFixture::Debug(const std::string& target) {
  const auto ports = test::ListeningPorts(manager_->pid());
  if (ports.empty()) return "";
  auto client = http::NewClient(loop_, {.base_url = StrCat("http://127.0.0.1:", ports[0]),
                                        .transport = http::ClientConfig::Transport::kBeast});
  if (!client.ok()) return "";
  auto response = async::RunTask(loop_, (*client)->Do({.target = target}));
  return response.ok() && response->status == 200 ? response->body : "";
}

std::string VolumeManagerFixture::MakeVolume(const std::string& name, bool block,
                                             const std::string& more) {
  const std::string handle = async::RunTask(loop_, CreateVolume(&loop_, socket(), name, block));
  EXPECT_NE(handle, "");
  const std::string mode = block ? "Block" : "Filesystem";
  Add(StrCat(R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":")", name,
             R"(","namespace":"default"},"spec":{"volumeName":")", name,
             R"(","accessModes":["ReadWriteOnce"],"volumeMode":")", mode,
             R"(","resources":{"requests":{"storage":"1Mi"}}}})"));
  EXPECT_EQ(Request("PATCH",
                    StrCat("/api/v1/namespaces/default/persistentvolumeclaims/", name, "/status"),
                    R"({"status":{"phase":"Bound"}})"),
            200);
  rapidjson::Document claim;
  EXPECT_TRUE(apis::ParseJson(Find("", "persistentvolumeclaims", "default", name), &claim).ok());
  Add(StrCat(R"({"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":")", name,
             R"("},"spec":{"capacity":{"storage":"1Mi"},"accessModes":["ReadWriteOnce"],)",
             R"("volumeMode":")", mode, R"(","claimRef":{"namespace":"default","name":")", name,
             R"(","uid":")", std::string(claim["metadata"]["uid"].GetString()),
             R"("},"csi":{"driver":")", kDriver, R"(","volumeHandle":")", handle, "\"", more,
             "}}}"));
  return handle;
}

std::string VolumeManagerFixture::StartPod(const std::string& name, const std::string& claim,
                                           bool block) {
  Add(StrCat(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")", name,
             R"(","namespace":"default"},"spec":{"nodeName":")", kNode,
             R"(","containers":[{"name":"c","image":"i",)",
             block ? R"("volumeDevices":[{"name":"v","devicePath":"/dev/v"}])"
                   : R"("volumeMounts":[{"name":"v","mountPath":"/v"}])",
             R"(}],"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":")", claim,
             R"("}}]}})"));
  EXPECT_EQ(
      Request("PATCH", StrCat("/api/v1/namespaces/default/pods/", name, "/status"),
              R"({"status":{"phase":"Running","startTime":"2024-01-01T00:00:00Z",)"
              R"("containerStatuses":[{"name":"c","image":"i","imageID":"","ready":true,)"
              R"("restartCount":0,"state":{"running":{"startedAt":"2024-01-01T00:00:00Z"}}}]}})"),
      200);
  rapidjson::Document pod;
  EXPECT_TRUE(apis::ParseJson(Find("", "pods", "default", name), &pod).ok());
  return pod["metadata"]["uid"].GetString();
}

void VolumeManagerFixture::EndPod(const std::string& name) {
  const std::string target = StrCat("/api/v1/namespaces/default/pods/", name);
  EXPECT_EQ(Request("DELETE", target), 200);
  EXPECT_EQ(
      Request("PATCH", target + "/status",
              R"({"status":{"containerStatuses":[{"name":"c","image":"i","imageID":"",)"
              R"("ready":false,"restartCount":0,"state":{"terminated":{"exitCode":0,)"
              R"("startedAt":"2024-01-01T00:00:00Z","finishedAt":"2024-01-01T00:00:00Z"}}}]}})"),
      200);
  EXPECT_EQ(Request("DELETE", target + "?gracePeriodSeconds=0"), 200);
}

void VolumeManagerFixture::Attach(const std::string& volume, const std::string& handle) {
  const std::string name = volumemanager::AttachmentName(handle, kDriver, kNode);
  Add(StrCat(R"({"apiVersion":"storage.k8s.io/v1","kind":"VolumeAttachment","metadata":{"name":")",
             name, R"("},"spec":{"attacher":")", kDriver, R"(","nodeName":")", kNode,
             R"(","source":{"persistentVolumeName":")", volume, R"("}}})"));
  EXPECT_EQ(
      Request("PATCH", StrCat("/apis/storage.k8s.io/v1/volumeattachments/", name, "/status"),
              R"({"status":{"attached":true,"attachmentMetadata":{"device":"/dev/sample"}}})"),
      200);
  attached_.push_back(StrCat(R"({"name":")", volumemanager::UniqueVolumeName(kDriver, handle),
                             R"(","devicePath":""})"));
  EXPECT_EQ(Request("PATCH", StrCat("/api/v1/nodes/", kNode, "/status"),
                    StrCat(R"({"status":{"volumesAttached":[)", Join(attached_, ","), "]}}")),
            200);
}

// --- what is seen --------------------------------------------------------------------------------

bool VolumeManagerFixture::Until(std::function<bool()> done, Duration limit) {
  return async::RunTask(loop_, Poll(&loop_, std::move(done), loop_.Now() + limit));
}

int VolumeManagerFixture::ExitCode(Duration limit) {
  if (!Until([this] { return manager_->Poll().has_value(); }, limit)) return -1;
  const int status = *manager_->Poll();
  return WIFEXITED(status) ? WEXITSTATUS(status) : -2;
}

std::string VolumeManagerFixture::Read(const std::string& path) const {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> VolumeManagerFixture::Mounts() const {
  std::vector<std::string> out;
  auto table = mount::ParseMountInfo(Read("/proc/thread-self/mountinfo"));
  if (!table.ok()) return {table.status().message()};
  for (const mount::MountEntry& entry : *table) {
    if (entry.mount_point != root() && mount::IsAtOrBelow(entry.mount_point, root())) {
      out.push_back(entry.mount_point);
    }
  }
  return out;
}

bool VolumeManagerFixture::Mounted(const std::string& path) const {
  for (const std::string& mounted : Mounts()) {
    if (mounted == path) return true;
  }
  return false;
}

std::vector<std::string> VolumeManagerFixture::Left() const {
  const std::string plugin = "plugins/kubernetes.io/csi";
  const std::set<std::string> known = {"pods",
                                       "plugins",
                                       "plugins/kubernetes.io",
                                       plugin,
                                       StrCat(plugin, "/", kDriver),
                                       StrCat(plugin, "/volumeDevices"),
                                       StrCat(plugin, "/volumeDevices/staging"),
                                       StrCat(plugin, "/volumeDevices/publish"),
                                       "volumemanager.lock"};
  std::vector<std::string> out;
  std::error_code error;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root(), error)) {
    const std::string path = entry.path().string().substr(root().size() + 1);
    if (!path.starts_with("plugins_registry") && !known.contains(path)) out.push_back(path);
  }
  return out;
}

}  // namespace csinative
