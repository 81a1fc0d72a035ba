// SPDX-License-Identifier: Apache-2.0
//
// The provisioning controllers in virtual time, between the embedded API server and a driver made
// of handlers. Tests speak in verbs and then look at ordered writes, calls and events.
//
// Does not model: the control plane's binder and protection controllers (Bind and Release do what
// they would do), leader election, processes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apis/core/v1/secret.pb.h"
#include "apis/core/v1/volume.pb.h"
#include "apis/namespaces.h"
#include "apis/storage/v1/storage.pb.h"
#include "cmd/provisioner/controller.h"
#include "lib/async/run.h"
#include "lib/async/sleep.h"
#include "lib/async/virtual_loop.h"
#include "lib/base/strings.h"
#include "lib/kube/client.h"
#include "lib/log/output.h"
#include "test/support/apiserver/api_handler.h"
#include "test/support/fake_channel.h"
#include "test/support/in_process_api.h"

namespace csinative::provisioner {

inline constexpr char kDriver[] = "test-driver";
inline constexpr char kCreateVolume[] = "/csi.v1.Controller/CreateVolume";
inline constexpr char kDeleteVolume[] = "/csi.v1.Controller/DeleteVolume";

// What a test says about a claim; the rest is as the control plane makes it.
struct ClaimSpec {
  std::string name = "claim";
  std::string ns = "ns";
  std::string klass = "sc";
  std::string request = "100";
  std::vector<std::string> modes = {"ReadWriteOnce"};
  std::string provisioner = kDriver;  // empty: no annotation
  std::string selected_node = "";
  std::string volume_mode = "Filesystem";
  std::string extra_spec = "";   // more members of spec, with a leading comma
  std::string annotations = "";  // more annotations, with a leading comma
};

struct ClassSpec {
  std::string name = "sc";
  std::string provisioner = kDriver;
  std::string parameters = "{}";
  std::string reclaim_policy = "Delete";
  std::string binding_mode = "Immediate";
  std::string extra = "";  // more members, with a leading comma
};

class World {
 public:
  World();
  ~World();

  // Before Start().
  DriverNames names{kDriver, ""};
  DriverFeatures features;
  ProvisionConfig config;

  // One attempt on its own, with caches as they are: the result that the controllers would act
  // upon. With worker_threads 0 they leave the claim alone.
  ProvisionResult Attempt(core::PersistentVolumeClaim claim, storage::StorageClass klass,
                          std::string selected_node = "");
  // Deletes at the driver and nothing else.
  Status DeleteStorage(core::PersistentVolume volume);
  // Of what the API server has; JSON for objects that need not be there.
  static core::PersistentVolumeClaim ParseClaim(const std::string& json);
  static storage::StorageClass ParseClass(const std::string& json);
  static core::PersistentVolume ParseVolume(const std::string& json);

  // Runs the controllers until their caches are full.
  void Start();
  void Stop();
  void Advance(Duration time) { scheduler_.Advance(time); }
  // What happens within a second.
  void Settle() { Advance(std::chrono::milliseconds(900)); }

  void AddClass(const ClassSpec& spec = {});
  // Returns the UID.
  std::string AddClaim(const ClaimSpec& spec = {});
  void AddSecret(const std::string& ns, const std::string& name, const std::string& key,
                 const std::string& base64);
  void Add(const std::string& json);
  // Merges into the object; `path` as "persistentvolumeclaims/ns/name".
  template <typename T>
  void Merge(kube::ObjectName name, std::string patch, std::string subresource = "") {
    auto done = Wait(admin_->Patch<T>(std::move(name), kube::PatchType::kMerge, std::move(patch),
                                      std::move(subresource)));
    if (!done.ok()) Fail(done.status());
  }
  // The same for a snapshot object, which has no message.
  void MergeDocument(const std::string& resource, const std::string& ns, const std::string& name,
                     const std::string& patch, const std::string& subresource);
  void RemoveDocument(const std::string& resource, const std::string& ns, const std::string& name);
  // A ReferenceGrant with these members of its lists, as JSON.
  void AddGrant(const std::string& ns, const std::string& from, const std::string& to);
  template <typename T>
  void Remove(kube::ObjectName name) {
    Status done = Wait(admin_->Delete<T>(std::move(name)));
    if (!done.ok()) Fail(done);
  }
  // Deletes a claim and lets go of it as the control plane's protection controller does.
  void RemoveClaim(const std::string& name, const std::string& ns = "ns");
  // What the control plane's binder does with claim and volume.
  void Bind(const std::string& volume, const ClaimSpec& claim = {});
  // ... once the claim is gone.
  void Release(const std::string& volume);
  template <typename T>
  std::optional<T> Find(kube::ObjectName name) {
    auto found = Wait(admin_->Get<T>(std::move(name)));
    if (!found.ok()) return std::nullopt;
    return *std::move(found);
  }
  // The only volume of the cluster; nothing if there is none or several.
  std::optional<core::PersistentVolume> OnlyVolume();

  // The controllers' writes so far, without events: "POST persistentvolumes", "PATCH
  // persistentvolumes/x", each followed by " -> code" unless it succeeded.
  std::vector<std::string> Writes();
  // "Warning ProvisioningFailed: message", in the order of creation; repeats end in " (x2)".
  std::vector<std::string> Events();
  // Names of calls to the driver, in order.
  std::vector<std::string> Calls() const { return channel_.MethodNames(); }
  // Of these, calls that are measured as migrated.
  const std::vector<std::string>& MigratedCalls() const { return migrated_channel_.methods; }
  // The requests of one method.
  template <typename Request>
  std::vector<Request> Requests(const std::string& method) const {
    std::vector<Request> out;
    for (const auto& call : channel_.calls()) {
      if (call.method == method) out.push_back(static_cast<const Request&>(*call.request));
    }
    return out;
  }
  // The controllers' log.
  std::string Log() const { return Join(log_->Records(), "\n"); }
  // The value of a series, or 0.
  double Counter(const std::string& family, std::initializer_list<std::string_view> labels);

  testing::FakeChannel& driver() { return channel_; }
  kube::Client& client() { return *client_; }
  // CreateVolume answers with this id and the requested size, DeleteVolume with success.
  void UseGoodDriver();
  apiserver::ApiHandler& api() { return api_; }
  ProvisionController& controller() { return *controller_; }
  async::VirtualLoop& loop() { return loop_; }

  template <typename T>
  T Wait(async::Task<T> task) {
    return async::RunTask(scheduler_, loop_, std::move(task));
  }

 private:
  static void Fail(const Status& status);
  void CallDocument(kube::ApiRequest request, const std::string& resource, const std::string& ns,
                    const std::string& name, const std::string& subresource);
  // Deps of a Provisioner of its own.
  Provisioner::Deps ProvisionerDeps(DriverCalls* driver, ClaimHold* hold,
                                    kube::EventBroadcaster& broadcaster);

  // Notes what passes.
  class NotingChannel final : public rpc::Channel {
   public:
    explicit NotingChannel(testing::FakeChannel& inner) : inner_(inner) {}
    async::Task<Status> Call(std::string method, const google::protobuf::Message& request,
                             google::protobuf::Message* response) override {
      methods.push_back(method.substr(method.rfind('/') + 1));
      return inner_.Call(std::move(method), request, response);
    }
    std::vector<std::string> methods;

   private:
    testing::FakeChannel& inner_;
  };

  std::unique_ptr<Random> random_ = NewSeededRandom(42);
  async::VirtualScheduler scheduler_;
  async::VirtualLoop loop_{scheduler_};
  apiserver::ApiHandler api_{loop_, *random_};
  testing::InProcessApi transport_{loop_, api_, "provisioner"};
  testing::InProcessApi admin_transport_{loop_, api_, "admin"};
  std::unique_ptr<kube::Client> client_;
  std::unique_ptr<kube::Client> admin_;
  testing::FakeChannel channel_;
  NotingChannel migrated_channel_{channel_};
  metrics::Registry registry_;
  std::shared_ptr<log::CollectingOutput> log_ = std::make_shared<log::CollectingOutput>();
  std::unique_ptr<ProvisionController> controller_;
  std::unique_ptr<async::Scope> running_;
};

}  // namespace csinative::provisioner
