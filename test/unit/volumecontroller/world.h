// SPDX-License-Identifier: Apache-2.0
//
// The volume controllers in virtual time against the embedded API server. The test is user,
// scheduler, provisioner, attacher and kubelet.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cmd/volumecontroller/attach_detach.h"
#include "cmd/volumecontroller/caches.h"
#include "cmd/volumecontroller/volume_binder.h"
#include "lib/async/run.h"
#include "lib/async/virtual_loop.h"
#include "test/support/apiserver/api_handler.h"
#include "test/support/in_process_api.h"

namespace csinative::volumecontroller {

class World {
 public:
  World();
  ~World();

  // Namespace "ns", class "sc" (Immediate) and class "late".
  void Add(const std::string& json);
  void AddNode(const std::string& name, bool ready = true);
  // Claim "ns/<name>"; returns its UID.
  std::string AddClaim(const std::string& name, const std::string& storage_class = "sc");
  // What csi-provisioner saves for the claim: volume "pv-<claim>", handle "h-<claim>".
  void AddVolume(const std::string& claim, const std::string& claim_uid,
                 const std::string& mode = "ReadWriteOnce");
  // Claim, volume, and the binding of both.
  void AddBoundClaim(const std::string& name, const std::string& mode = "ReadWriteOnce");
  void AddPod(const std::string& name, const std::string& claim, const std::string& node);

  template <typename T>
  void Merge(kube::ObjectName name, std::string patch, std::string subresource = "") {
    auto done = Wait(client_->Patch<T>(std::move(name), kube::PatchType::kMerge, std::move(patch),
                                       std::move(subresource)));
    Check(done.status());
  }
  template <typename T>
  void Remove(kube::ObjectName name, std::optional<int64_t> grace = std::nullopt) {
    kube::DeleteOptions options;
    options.grace_period_seconds = grace;
    Check(Wait(client_->Delete<T>(std::move(name), options)));
  }
  template <typename T>
  std::optional<T> Find(kube::ObjectName name) {
    auto found = Wait(client_->Get<T>(std::move(name)));
    if (!found.ok()) return std::nullopt;
    return *std::move(found);
  }
  size_t CountAttachments() {
    return api_.ListObjects("storage.k8s.io", "volumeattachments").size();
  }
  void Advance(Duration time) { scheduler_.Advance(time); }
  void Settle() { Advance(std::chrono::seconds(5)); }

 private:
  template <typename T>
  T Wait(async::Task<T> task) {
    return async::RunTask(scheduler_, loop_, std::move(task));
  }
  static void Check(const Status& status);

  std::unique_ptr<Random> random_ = NewSeededRandom(7);
  async::VirtualScheduler scheduler_;
  async::VirtualLoop loop_{scheduler_};
  apiserver::ApiHandler api_{loop_, *random_};
  testing::InProcessApi transport_{loop_, api_, "controller"};
  std::unique_ptr<kube::Client> client_;
  std::unique_ptr<Caches> caches_;
  std::unique_ptr<VolumeBinder> binder_;
  std::unique_ptr<AttachDetach> attach_detach_;
  std::unique_ptr<async::Scope> running_;
};

}  // namespace csinative::volumecontroller
