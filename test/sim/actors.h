// SPDX-License-Identifier: Apache-2.0
//
// Those who act on the simulated cluster besides the programs under test: users, the scheduler, and
// a kubelet on each node. They never crash and see no faults of the API. One thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "apis/core/v1/node.pb.h"
#include "apis/core/v1/pod.pb.h"
#include "apis/core/v1/volume.pb.h"
#include "apis/storage/v1/storage.pb.h"
#include "cmd/volumecontroller/caches.h"
#include "lib/async/scope.h"
#include "lib/kube/client.h"
#include "lib/kube/informer.h"
#include "test/sim/links.h"

namespace csinative::sim {

inline constexpr char kUserNamespace[] = "default";

// What the actors want to know of a pod. Kept beside the cache, for it is asked for all the time.
struct PodInfo {
  std::string uid, node;
  bool deleting = false;
  std::vector<std::string> claims;
  bool block = false;  // they are devices
};

// What the actors share: a client without limits and one watch of each resource.
struct View {
  View(Surroundings& world, apiserver::ApiHandler& api, IncarnationPtr identity);
  void Run(async::Scope* scope);
  bool synced() const;

  Surroundings& world;
  std::unique_ptr<Random> random;
  std::unique_ptr<kube::ApiTransport> transport;
  std::unique_ptr<kube::Client> client;
  // The stand-in for kube-controller-manager looks at the same caches: they are half of the work of
  // a simulated hour.
  volumecontroller::Caches caches;
  kube::Informer<core::Pod>& pods = caches.pods;
  kube::Informer<core::PersistentVolumeClaim>& claims = caches.claims;
  kube::Informer<core::PersistentVolume>& volumes = caches.volumes;
  kube::Informer<storage::StorageClass>& classes = caches.classes;
  kube::Informer<core::Node>& nodes = caches.nodes;
  kube::Informer<storage::VolumeAttachment>& attachments = caches.attachments;
  std::map<std::string, PodInfo> pod_infos;               // by key
  std::map<std::string, std::set<std::string>> reported;  // node: volumesAttached
  std::set<std::string> attached;                         // VolumeAttachments that are

 private:
  void KeepInfos();
};

// Chooses nodes for claims that wait for one, and for pods whose claims are bound.
class Scheduler {
 public:
  Scheduler(View& view, std::vector<std::string> nodes);
  async::Task<void> Run();
  // Whether new pods may go there.
  void set_usable(const std::string& node, bool usable);

 private:
  async::Task<void> Place(std::string key, PodInfo pod);
  View& view_;
  std::vector<std::string> nodes_;  // usable ones
};

// Mounts the volumes of the pods of one node and takes them away: the order of kubelet without its
// recovery.
class Kubelet {
 public:
  Kubelet(View& view, Driver& driver, std::string node);
  async::Task<void> Run();
  const std::string& node() const { return node_; }
  // The node loses power: everything that goes on there ends where it is. It comes back with
  // nothing mounted.
  void Lose();
  void Return();

 private:
  struct Mount {
    std::string handle, unique, staging, target;
    bool in_use = false, staged = false, published = false;
  };
  async::Task<void> Serve(std::string key, std::string uid);
  async::Task<bool> MountAll(std::string key, std::string uid, std::vector<Mount>* mounts);
  async::Task<void> UnmountAll(std::vector<Mount>* mounts);
  async::Task<void> ReportInUse();
  bool IsHere(const std::string& key, const std::string& uid) const;

  View& view_;
  std::unique_ptr<rpc::Channel> channel_;
  const std::string node_;
  bool lost_ = false;
  std::unique_ptr<async::Scope> pods_;
  std::vector<std::unique_ptr<async::Scope>> ended_;  // of earlier boots
  std::set<std::string> serving_;                     // pod uids
  std::map<std::string, int> in_use_;                 // unique volume name: pods
  async::Semaphore reporting_{1};
};

// Removes the pods of lost nodes by force, as an administrator would.
class PodCollector {
 public:
  explicit PodCollector(View& view) : view_(view) {}
  async::Task<void> Run();
  void set_lost(const std::string& node, bool lost);

 private:
  View& view_;
  std::set<std::string> lost_;
};

// What users do besides, where nodes can bear it.
struct Habits {
  double force_delete = 0;  // chance that a pod is deleted without waiting for its containers
  double second_pod = 0;    // chance that another pod uses the claim meanwhile
  double block = 0;         // chance that a claim wants a device
  double group = 0;         // chance that a pod wants its files to belong to a group
  double long_stay = 0;     // chance that a pod stays for most of the trouble
  double fickle = 0.1;      // chance that a claim is deleted while its volume is being made
};

// Creates and deletes claims and pods, at random, until told to finish.
class Users {
 public:
  explicit Users(View& view, Habits habits = {})
      : view_(view), habits_(habits), sets_(view.world.loop) {}
  // Called when a claim is deleted while its volume is being made.
  void set_on_change_of_mind(std::function<void()> callback) {
    on_change_of_mind_ = std::move(callback);
  }
  // Keeps about `count` things going on; returns when finished and everything is deleted.
  async::Task<void> Run(int count, MonotonicTime until);
  // At that time some users create claims and pods and take them away at once, so that each change
  // meets the work on the one before. Nothing else goes on then, so what is forgotten stays.
  async::Task<void> Haste(MonotonicTime when);

 private:
  async::Task<void> OneInHaste(std::string name);
  async::Task<void> OneSet(int number, MonotonicTime until);
  enum class Mode { kFilesystem, kBlock };
  async::Task<bool> CreatePod(std::string name, std::string claim, Mode mode);
  async::Task<void> DeletePod(std::string name);
  async::Task<void> SecondPod(std::string name, std::string claim, Mode mode);
  template <typename T>
  async::Task<void> WaitGone(const kube::Informer<T>* informer, std::string name);

  View& view_;
  const Habits habits_;
  std::function<void()> on_change_of_mind_;
  async::Scope sets_;
  int next_ = 0;
};

}  // namespace csinative::sim
