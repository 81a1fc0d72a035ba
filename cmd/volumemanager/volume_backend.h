// SPDX-License-Identifier: Apache-2.0
//
// The steps an operation on a volume is made of: what goes to the disk, to the API server and to
// the driver, in which order, and what a failure leaves behind (volumemanager-csi 9 and 10). Knows
// nothing of desired and actual state. Loop only.
//
// Each function is one operation with one time limit for its calls. Work on the disk has none: it
// cannot be given up, so the operation lasts as long, and no second one joins it. If the process
// dies at any await, vol_data.json is on disk before the call that needs it to be undone.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "apis/namespaces.h"
#include "apis/storage/v1/storage.pb.h"
#include "cmd/volumemanager/config.h"
#include "cmd/volumemanager/driver_registry.h"
#include "cmd/volumemanager/driver_traits.h"
#include "cmd/volumemanager/outcome.h"
#include "cmd/volumemanager/paths.h"
#include "cmd/volumemanager/requests.h"
#include "cmd/volumemanager/volume_spec.h"
#include "lib/async/blocking.h"
#include "lib/async/sync.h"
#include "lib/async/task.h"
#include "lib/kube/client.h"
#include "lib/log/logger.h"
#include "lib/mount/file_system.h"
#include "lib/mount/ownership.h"

namespace csinative::volumemanager {

// How many walks through volumes, to change their group, go on at one time: half of the threads
// that work on the disk (program.h).
inline constexpr size_t kMaxWalks = 8;

class VolumeBackend {
 public:
  // Borrowed parts outlive the backend.
  struct Deps {
    kube::Client* client;
    mount::FileSystem* fs;
    async::BlockingExecutor* blocking;
    const DriverRegistry* drivers;
    // From the cache of CSIDriver objects.
    std::function<std::optional<storage::CSIDriver>(const std::string& driver)> driver_object;
    // Whether an earlier run may have staged the volume, and nobody has found out since.
    std::function<bool(const std::string& volume)> maybe_staged_before;
    Config config;
    log::Logger log;
  };
  explicit VolumeBackend(Deps deps)
      : deps_(std::move(deps)), paths_(deps_.config.root), walks_(kMaxWalks) {}

  const Paths& paths() const { return paths_; }
  DriverTraits Traits(const std::string& driver) const {
    return TraitsOf(deps_.driver_object(driver));
  }

  struct Attachment {
    std::string name;  // of the VolumeAttachment
    StringMap publish_context;
  };
  // What the attachment says now; it does not wait. Upstream reads it up to three times in one
  // operation; here once.
  async::Task<Result<Attachment>> ReadAttachment(VolumeSpec spec);

  // --- filesystem volumes ---
  async::Task<Outcome> MountDevice(VolumeSpec spec, PodFacts pod, StringMap publish_context);
  // kNew: a final failure removes the pod's directory. kKept: the volume is, or may be, in use.
  enum class Previous { kNew, kKept };
  async::Task<Outcome> SetUp(VolumeSpec spec, PodFacts pod, StringMap publish_context,
                             Previous previous);
  async::Task<Outcome> TearDown(VolumeSpec spec, std::string pod_uid);
  // Refused while something outside of the plugin's directory shows the volume. Of the volume only
  // driver and handle matter.
  async::Task<Outcome> UnmountDevice(VolumeSpec spec);

  // --- block volumes ---
  async::Task<Outcome> SaveBlockData(VolumeSpec spec);
  async::Task<Outcome> SetUpDevice(VolumeSpec spec, StringMap publish_context);
  struct Mapped {
    Outcome outcome;
    bool published = false;   // the driver has answered Ok: failures after that are uncertain
    std::string device_path;  // what the pod's link leads to
    std::string link;
    std::string map_file;
  };
  async::Task<Mapped> MapPodDevice(VolumeSpec spec, PodFacts pod, StringMap publish_context);
  async::Task<Outcome> UnmapPodDevice(VolumeSpec spec, std::string pod_uid);
  async::Task<Outcome> TearDownDevice(VolumeSpec spec);

 private:
  // A driver for the time of one operation: its capabilities are read once.
  struct Driver {
    std::shared_ptr<rpc::Channel> channel;
    NodeFeatures features;
  };

  // Until when the calls of an operation that starts now have to be answered.
  async::Task<MonotonicTime> CallLimit();

  // Not under a time limit: the work would go on, and each retry would add to it until it holds all
  // threads of the pool.
  template <typename F>
  async::Task<std::invoke_result_t<F&, mount::FileSystem&>> OnDisk(F fn) {
    mount::FileSystem* fs = deps_.fs;
    co_return co_await async::Blocking(*deps_.blocking,
                                       [fs, f = std::move(fn)]() mutable { return f(*fs); });
  }
  template <typename Request>
  static async::Task<Status> Call(std::shared_ptr<rpc::Channel> channel, Request request,
                                  MonotonicTime limit);

  // The features are filled when Ok.
  async::Task<Outcome> Open(std::string name, const char* context, MonotonicTime limit,
                            Driver* driver);
  async::Task<Result<SecretData>> ReadSecret(std::optional<kube::ObjectName> name,
                                             const char* reference, MonotonicTime limit);
  // Ends what was begun: clean-up of a directory whose leaf is not mounted.
  async::Task<Status> RemoveDirectory(std::string directory, const char* leaf);
  // The same after a final failure. Uncertain if the leaf is mounted all the same, or cannot go.
  async::Task<Outcome> CleanUp(Outcome failure, std::string directory, const char* leaf);
  // Ok if the driver does not know the volume any more and nothing is mounted at `path`.
  async::Task<Status> ForgiveIfGone(Status failure, std::string path);
  // After an Ok of the driver: fails as long as something is mounted at `target` all the same.
  async::Task<Status> CheckUnmounted(std::string target);
  async::Task<Status> RemoveBlockDirectories(std::string name);
  bool MaybeStagedBefore(const VolumeSpec& spec) const {
    return deps_.maybe_staged_before &&
           deps_.maybe_staged_before(UniqueVolumeName(spec.driver, spec.handle));
  }

  // Gives the published volume to the pod's group.
  async::Task<Outcome> ApplyGroup(std::string handle, std::string target,
                                  mount::OwnershipOptions options);
  async::Task<Outcome> PublishBlock(VolumeSpec spec, PodFacts pod, StringMap publish_context);

  const Deps deps_;
  const Paths paths_;
  // A walk through a large volume holds its thread for hours: some threads stay for the rest.
  async::Semaphore walks_;
};

}  // namespace csinative::volumemanager
