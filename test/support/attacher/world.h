// SPDX-License-Identifier: Apache-2.0
//
// The attaching controllers in virtual time, between the embedded API server and a driver made of
// handlers. Tests speak in verbs and then look at one ordered trace of API requests and CSI calls.
// The oracle's names (attacher 15) that API servers refuse are replaced: the driver is
// test.csi.example instead of csi/test, the attachment va1 instead of pv1-node1.
//
// Does not model: the control plane's attach-detach and protection controllers, leader election,
// processes.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "apis/core/v1/volume.pb.h"
#include "apis/namespaces.h"
#include "apis/storage/v1/storage.pb.h"
#include "cmd/attacher/controller.h"
#include "lib/async/run.h"
#include "lib/async/sleep.h"
#include "lib/async/virtual_loop.h"
#include "lib/csi/migrated_channel.h"
#include "lib/csi/observed_channel.h"
#include "lib/kube/client.h"
#include "lib/log/output.h"
#include "proto/csi/v1/csi.pb.h"
#include "test/support/apiserver/api_handler.h"
#include "test/support/fake_channel.h"
#include "test/support/in_process_api.h"

namespace csinative::attacher {

inline constexpr char kDriver[] = "test.csi.example";
inline constexpr char kFinalizer[] = "external-attacher/test-csi-example";
inline constexpr char kProtection[] = "kubernetes.io/pv-protection";
inline constexpr char kPublish[] = "/csi.v1.Controller/ControllerPublishVolume";
inline constexpr char kUnpublish[] = "/csi.v1.Controller/ControllerUnpublishVolume";
inline constexpr char kListVolumes[] = "/csi.v1.Controller/ListVolumes";
inline constexpr char kInline[] =
    R"({"inlineVolumeSpec":{"accessModes":["ReadWriteOnce"],"csi":{"driver":"com.test.foo",)"
    R"("volumeHandle":"handle1"}}})";

// What a test says about volume "pv1"; the rest is as the control plane makes it.
struct VolumeSpec {
  std::vector<std::string> finalizers = {kProtection, kFinalizer};
  std::string csi = "";       // more members of the CSI source, with a leading comma
  std::string source = "";    // instead of a CSI source, a member of spec
  std::string metadata = "";  // more members, with a leading comma
  std::string modes = "ReadWriteMany";
};

// A GCE disk in zone "testZone".
extern const VolumeSpec kGceDisk;

// ... and about attachment "va1" on node "node1".
struct AttachmentSpec {
  std::string attacher = kDriver;
  std::string source = R"({"persistentVolumeName":"pv1"})";
  // Instead, past the API server, which refuses it.
  std::string invalid_source = "";
  std::vector<std::string> finalizers = {};
  std::string node_id = "";  // annotation; empty: none
  bool attached = false;
};

// An attachment that was attached before: with finalizer and node id.
AttachmentSpec AttachedBefore();

class World {
 public:
  World();
  ~World();

  // Before Start().
  DriverFeatures features;
  AttachConfig config;

  // Keeps what the controllers log at the default verbosity; otherwise it is dropped.
  void RecordLog();
  std::string Log() const;

  // Runs the controllers until their caches are full.
  void Start();
  void Stop();
  void Advance(Duration time) { scheduler_.Advance(time); }
  // What happens within a second: before the first retry.
  void Settle() { Advance(std::chrono::milliseconds(900)); }

  void AddVolume(const VolumeSpec& spec = {});
  void AddAttachment(const AttachmentSpec& spec = {});
  // Node "node1".
  void AddPlainNode() { Add(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"node1"}})"); }
  // CSINode "node1"; an empty driver leaves it without entries.
  void AddNode(const std::string& driver = kDriver, const std::string& node_id = "nodeID1");
  // In namespace "default", with foo=bar; `data` as JSON.
  void AddSecret(const std::string& name, const std::string& data = R"({"foo":"YmFy"})");
  void Add(const std::string& json);
  template <typename T>
  void Merge(const std::string& name, std::string patch, std::string subresource = "") {
    auto done = Wait(admin_->Patch<T>({"", name}, kube::PatchType::kMerge, std::move(patch),
                                      std::move(subresource)));
    if (!done.ok()) Fail(done.status());
  }
  template <typename T>
  void Remove(const std::string& name) {
    Status done = Wait(admin_->Delete<T>({"", name}));
    if (!done.ok()) Fail(done);
  }
  template <typename T>
  std::optional<T> Find(const std::string& name) {
    auto found = Wait(admin_->Get<T>({"", name}));
    if (!found.ok()) return std::nullopt;
    return *std::move(found);
  }

  // ListVolumes answers with these volumes, all in one page: handle to nodes.
  using Listed = std::multimap<std::string, std::vector<std::string>>;
  void List(const Listed& volumes);

  // The next call of the method fails with just this, which no driver over gRPC can do.
  void FailPlainlyOnce(const std::string& method, Status failure) {
    plain_[method] = [failure] { return Return(failure); };
  }
  // ... or lasts too long, and ends as a plain deadline does.
  void HangPlainlyOnce(const std::string& method) {
    plain_[method] = [] { return Hang(); };
  }

  // What happens when the controllers' next request of this kind arrives, and to the request:
  // "get secrets/secret", "patch volumeattachments/va1/status".
  using OnArrival = std::function<apiserver::Fault()>;
  void WhenArrives(const std::string& request, OnArrival action) {
    arrivals_.insert_or_assign(request, std::move(action));
  }
  // From now on the controllers' caches stand still: their watches are cut and refused. Until
  // false.
  void HoldCaches(bool held);
  // What the API server has just now, as JSON; empty if it is gone. For handlers of the driver.
  std::string StoredAttachment(const std::string& name);
  // What somebody does to an attachment, without waiting for the answer.
  void RemoveSoon(const std::string& attachment) { RemoveLater(attachment, Duration::zero()); }
  void RemoveLater(const std::string& attachment, Duration delay);
  void AnnotateSoon(const std::string& attachment);

  // From now on the controllers may not list or watch this resource ("csinodes"). Until false.
  void ForbidReads(const std::string& resource, bool forbidden = true);
  // The next patches of the controllers to this place ("persistentvolumes/pv1",
  // "volumeattachments/va1/status") are answered with 403 and the message, one for each call.
  void Forbid(const std::string& place, std::string message = "no");

  // What the controllers did so far: "PATCH volumeattachments/va1 {...}" with times replaced by T,
  // " -> 403" behind failures, "GET secrets/x", "PUB handle1 nodeID1 …", "UNPUB handle1 nodeID1 …".
  // Lists and watches are left out, and so are the resource versions that patches of finalizers
  // carry (patches.h): Preconditions() has them.
  std::vector<std::string> Trace() const;
  std::vector<std::string> Calls() const { return driver_.MethodNames(); }
  // The resource version in each merge patch of an attachment itself; "" if it has none.
  std::vector<std::string> Preconditions() const;
  // What is measured, as it is exposed.
  std::string Metrics() const;
  template <typename Request>
  std::vector<Request> Requests(const std::string& method) const {
    std::vector<Request> out;
    for (const auto& call : driver_.calls()) {
      if (call.method == method) out.push_back(static_cast<const Request&>(*call.request));
    }
    return out;
  }
  // Resources that the controllers have listed or watched.
  std::vector<std::string> Watched() const;

  testing::FakeChannel& driver() { return driver_; }
  AttachController& controller() { return *controller_; }
  async::VirtualLoop& loop() { return loop_; }

  template <typename T>
  T Wait(async::Task<T> task) {
    return async::RunTask(scheduler_, loop_, std::move(task));
  }

 private:
  // Remembers how many API requests came before each call.
  class TracedChannel final : public rpc::Channel {
   public:
    explicit TracedChannel(World& world) : world_(world) {}
    async::Task<Status> Call(std::string method, const google::protobuf::Message& request,
                             google::protobuf::Message* response) override;

   private:
    World& world_;
  };
  struct TracedCall {
    size_t requests_before;
    std::string text;
  };
  struct Refusal {
    std::string place;
    std::string message;
  };
  static void Fail(const Status& status);
  static async::Task<Status> Return(Status status) { co_return status; }
  static async::Task<Status> Hang() { co_return co_await async::Sleep(std::chrono::hours(1)); }

  std::unique_ptr<Random> random_ = NewSeededRandom(42);
  async::VirtualScheduler scheduler_;
  async::VirtualLoop loop_{scheduler_};
  apiserver::ApiHandler api_{loop_, *random_};
  testing::InProcessApi transport_{loop_, api_, "attacher"};
  testing::InProcessApi admin_transport_{loop_, api_, "admin"};
  std::unique_ptr<kube::Client> client_;
  std::unique_ptr<kube::Client> admin_;
  std::deque<Refusal> refusals_;
  std::map<std::string, OnArrival> arrivals_;
  bool held_ = false;
  std::set<std::string> unreadable_;  // resources
  testing::FakeChannel driver_;
  std::map<std::string, std::function<async::Task<Status>()>> plain_;  // by method
  std::vector<TracedCall> calls_;
  std::shared_ptr<log::CollectingOutput> log_;
  metrics::Registry registry_;
  csi::ObservedChannel channel_;
  csi::MigratedChannel migrated_channel_{channel_};
  std::unique_ptr<AttachController> controller_;
  std::unique_ptr<async::Scope> running_;
};

}  // namespace csinative::attacher
