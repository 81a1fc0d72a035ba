// SPDX-License-Identifier: Apache-2.0
#include "test/unit/volumecontroller/world.h"

#include <gtest/gtest.h>

#include "lib/base/strings.h"
#include "test/support/unlimited_client.h"

namespace csinative::volumecontroller {

World::World() : client_(testing::NewUnlimitedClient(loop_, *random_, transport_)) {
  Add(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"ns"}})");
  for (const char* name : {"sc", "late"}) {
    Add(StrCat(R"({"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":")",
               name, R"("},"provisioner":"d","volumeBindingMode":")",
               name == std::string("sc") ? "Immediate" : "WaitForFirstConsumer", "\"}"));
  }
  caches_ = std::make_unique<Caches>(loop_, *random_, *client_, log::Logger());
  binder_ = std::make_unique<VolumeBinder>(loop_, *client_, *caches_);
  attach_detach_ = std::make_unique<AttachDetach>(loop_, *client_, *caches_, log::Logger());
  running_ = std::make_unique<async::Scope>(loop_);
  caches_->Run(running_.get());
  Check(Wait(caches_->WaitForSync()));
  running_->Spawn(binder_->Run());
  running_->Spawn(attach_detach_->Run());
  Settle();
}

World::~World() {
  Wait(running_->Close());
  running_.reset();
  attach_detach_.reset();
  binder_.reset();
  caches_.reset();
  Wait(transport_.Close());
}

void World::Check(const Status& status) { EXPECT_TRUE(status.ok()) << status.message(); }

void World::Add(const std::string& json) {
  auto created = api_.CreateObject(json);
  EXPECT_TRUE(created.ok()) << json;
}

void World::AddNode(const std::string& name, bool ready) {
  Add(StrCat(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":")", name,
             R"("},"status":{"conditions":[{"type":"Ready","status":")", ready ? "True" : "Unknown",
             "\"}]}}"));
}

std::string World::AddClaim(const std::string& name, const std::string& storage_class) {
  Add(StrCat(R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":")", name,
             R"(","namespace":"ns"},"spec":{"accessModes":["ReadWriteOnce"],"storageClassName":")",
             storage_class, R"(","resources":{"requests":{"storage":"1Gi"}}}})"));
  return Find<core::PersistentVolumeClaim>({"ns", name})->metadata().uid();
}

void World::AddVolume(const std::string& claim, const std::string& claim_uid,
                      const std::string& mode) {
  Add(StrCat(R"({"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"pv-)", claim,
             R"("},"spec":{"capacity":{"storage":"1Gi"},"accessModes":[")", mode,
             R"("],"storageClassName":"sc","persistentVolumeReclaimPolicy":"Retain",)",
             R"("csi":{"driver":"d","volumeHandle":"h-)", claim,
             R"("},"claimRef":{"kind":"PersistentVolumeClaim","namespace":"ns","name":")", claim,
             R"(","uid":")", claim_uid, "\"}}}"));
}

void World::AddBoundClaim(const std::string& name, const std::string& mode) {
  AddVolume(name, AddClaim(name), mode);
  Settle();
}

void World::AddPod(const std::string& name, const std::string& claim, const std::string& node) {
  Add(StrCat(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")", name,
             R"(","namespace":"ns"},"spec":{"nodeName":")", node,
             R"(","containers":[{"name":"c","image":"i"}],"volumes":[{"name":"v",)",
             R"("persistentVolumeClaim":{"claimName":")", claim, "\"}}]}}"));
}

}  // namespace csinative::volumecontroller
