// SPDX-License-Identifier: Apache-2.0
//
// A node in virtual time: the volume manager between the embedded API server, directories and
// mounts in memory, and a driver made of handlers. The machine (API server, disk, mounts, driver)
// outlives the process, which can be stopped, killed and started again. Tests speak in verbs and
// then look at one ordered trace.
//
// Does not model: the container agent and the control plane (tests write what they would), mount
// propagation, several nodes.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cmd/volumemanager/volume_manager.h"
#include "lib/async/run.h"
#include "lib/async/virtual_loop.h"
#include "proto/csi/v1/csi.pb.h"
#include "test/support/apiserver/api_handler.h"
#include "test/support/fake_channel.h"
#include "test/support/fake_file_system.h"
#include "test/support/in_process_api.h"

namespace csinative::volumemanager {

inline constexpr char kDriver[] = "test.csi.example";
inline constexpr char kNode[] = "node1";
inline constexpr char kRoot[] = "/var/lib/kubelet";

inline constexpr char kStage[] = "/csi.v1.Node/NodeStageVolume";
inline constexpr char kUnstage[] = "/csi.v1.Node/NodeUnstageVolume";
inline constexpr char kPublish[] = "/csi.v1.Node/NodePublishVolume";
inline constexpr char kUnpublish[] = "/csi.v1.Node/NodeUnpublishVolume";

// What a test says about a volume; the claim has the same name and is bound to it.
struct VolumeOptions {
  std::string mode = "Filesystem";
  std::string access = "ReadWriteOnce";
  std::string csi = "";   // more members of the CSI source, with a leading comma
  std::string spec = "";  // more members of the spec, with a leading comma
};

struct PodOptions {
  std::vector<std::string> claims = {"pv1"};
  bool block = false;        // volumeDevices instead of volumeMounts
  bool running = true;       // an agent has started the container
  std::string volumes = "";  // more volumes, as JSON with a trailing comma
  std::string mounts = "";   // more mounts, as JSON with a trailing comma
  std::string spec = "";     // more members of the spec, with a leading comma
};

class World {
 public:
  World();
  ~World();

  // Before Start().
  Config config;
  std::vector<std::string> capabilities = {"STAGE_UNSTAGE_VOLUME"};
  std::string driver_spec = R"({"attachRequired":true,"podInfoOnMount":false,)"
                            R"("volumeLifecycleModes":["Persistent","Ephemeral"]})";

  // Makes Node and CSIDriver if they are not there, runs the process, registers the driver.
  void Start();
  // Start(), and pod "p1" has mounted volume "pv1".
  void StartMounted() {
    Start();
    AddVolume("pv1");
    AddPod("p1");
    Attach("pv1");
    Settle();
  }
  // In good order.
  void Stop();
  // As kill -9 at this very moment.
  void Kill();
  bool running() const { return process_ != nullptr; }
  void Advance(Duration time) { scheduler_.Advance(time); }
  // What happens within a moment: before the first retry.
  void Settle() { Advance(std::chrono::milliseconds(400)); }

  void AddVolume(const std::string& name, const VolumeOptions& options = {});
  // In namespace "default".
  void AddPod(const std::string& name, const PodOptions& options = {});
  // What the control plane does for an attachable volume, and undoes.
  void Attach(const std::string& volume);
  void Detach(const std::string& volume);
  // Graceful deletion: the object stays until FinishPod.
  void DeletePod(const std::string& name);
  // The agent says that all containers have terminated.
  void TerminateContainers(const std::string& name);
  // The object goes.
  void RemovePod(const std::string& name);
  // DeletePod, TerminateContainers and RemovePod.
  void EndPod(const std::string& name);
  void Add(const std::string& json);
  template <typename T>
  void Merge(const kube::ObjectName& name, std::string patch, std::string subresource = "") {
    auto done = Wait(
        admin_->Patch<T>(name, kube::PatchType::kMerge, std::move(patch), std::move(subresource)));
    if (!done.ok()) Fail(done.status());
  }
  template <typename T>
  std::optional<T> Find(const kube::ObjectName& name) {
    auto found = Wait(admin_->Get<T>(name));
    if (!found.ok()) return std::nullopt;
    return *std::move(found);
  }

  // What is asked of the disk next comes to it only after this time.
  void DelayNextDiskWork(Duration by) { disk_delay_ = by; }

  // The driver's registration socket appears and goes.
  void AddSocket(const std::string& name = "driver-reg.sock");
  void RemoveSocket(const std::string& name = "driver-reg.sock");

  // "STAGE h1 <path below the root>", "PUBLISH …", "UNPUBLISH …", "UNSTAGE …", and
  // "IN USE [v1 v2]" for writes of the Node's list.
  std::vector<std::string> Trace() const;
  void ClearTrace() { trace_.clear(); }
  template <typename Request>
  std::vector<Request> Requests(const std::string& method) const {
    std::vector<Request> out;
    for (const auto& call : driver_.calls()) {
      if (call.method == method) out.push_back(static_cast<const Request&>(*call.request));
    }
    return out;
  }
  // "FailedMount: text" of all events.
  std::vector<std::string> Events();
  std::vector<std::string> InUse();
  // What is on disk besides the folders that are always there.
  std::vector<std::string> Left() const;

  testing::FakeFileSystem& fs() { return fs_; }
  testing::FakeChannel& driver() { return driver_; }
  testing::FakeChannel& plugin() { return plugin_; }
  apiserver::ApiHandler& api() { return api_; }
  const NodeState& state() const;
  std::string At(const std::string& path) const { return std::string(kRoot) + "/" + path; }
  // Of the last pod of this name, also when it is gone.
  const std::string& Uid(const std::string& pod) const { return uids_.at(pod); }
  std::string PublishPath(const std::string& pod, const std::string& volume = "pv1") const;
  std::string DataFile(const std::string& pod, const std::string& volume = "pv1") const;
  static std::string StagingPath(const std::string& handle = "h-pv1");
  static std::string Unique(const std::string& volume = "pv1");

  template <typename T>
  T Wait(async::Task<T> task) {
    return async::RunTask(scheduler_, loop_, std::move(task));
  }

 private:
  class TracedChannel;
  class FakeConnector;
  class FakeWatch;
  class SlowDisk;
  struct Process;
  static void Fail(const Status& status);
  void SetUpDriver();
  Status StageVolume(const ::csi::v1::NodeStageVolumeRequest& request);
  Status PublishVolume(const ::csi::v1::NodePublishVolumeRequest& request);
  Status UnpublishVolume(const ::csi::v1::NodeUnpublishVolumeRequest& request);

  std::unique_ptr<Random> random_ = NewSeededRandom(42);
  async::VirtualScheduler scheduler_;
  async::VirtualLoop loop_{scheduler_};
  apiserver::ApiHandler api_{loop_, *random_};
  testing::InProcessApi admin_transport_{loop_, api_, "admin"};
  std::unique_ptr<kube::Client> admin_;
  testing::FakeFileSystem fs_{kRoot};
  testing::FakeChannel driver_;
  testing::FakeChannel plugin_;
  std::vector<std::string> trace_;
  std::vector<std::string> attached_;
  std::map<std::string, std::string> uids_;
  bool prepared_ = false;
  Duration disk_delay_{};
  std::unique_ptr<Process> process_;
};

}  // namespace csinative::volumemanager
