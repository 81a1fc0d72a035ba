// SPDX-License-Identifier: Apache-2.0
//
// Compares attachments with what the driver lists as published, again and again, and has those
// synced that differ (attacher 11a). Runs for drivers with LIST_VOLUMES_PUBLISHED_NODES. Loop only.
//
// Nothing is concluded from a list that was not read to its end, nor about an attachment that
// changed while it was read. What is kept of a list is bounded by the driver's attachments, however
// long the list is: 40 bytes for each.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "cmd/attacher/caches.h"
#include "lib/async/task.h"
#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/log/logger.h"
#include "lib/rpc/channel.h"
#include "proto/csi/v1/csi.pb.h"

namespace csinative::attacher {

class Reconciler {
 public:
  // Borrowed parts outlive the reconciler.
  struct Deps {
    rpc::Channel* channel;
    Caches* caches;  // with Ours()
    log::Logger log;
    std::string driver;
    Duration timeout;   // of one pass
    Duration interval;  // from the end of a pass to the next one
    int32_t max_entries = 0;
    // An attachment that differs.
    std::function<void(const std::string& name)> on_difference;
  };
  explicit Reconciler(Deps deps) : deps_(std::move(deps)) {}

  // Pass after pass until cancelled; the caches are filled.
  async::Task<void> Run();

 private:
  // What is known about one attachment.
  struct Facts {
    std::string handle, node_id, resource_version;
    bool attached = false;
  };
  // The same, in few bytes, with what the list says. Text is kept as its hash of 64 bits: should
  // two ever be equal by chance, an attachment is synced once too often or once less.
  struct Expectation {
    size_t name = 0, handle = 0, node_id = 0, resource_version = 0;
    bool attached = false;
    bool listed = false;
  };
  using Expectations = std::vector<Expectation>;

  async::Task<Status> Pass();
  // Fills all but `listed`. The pointer outlives the task.
  async::Task<Status> Expect(Expectations* expected) const;
  // Fills `listed`. The pointer outlives the task.
  async::Task<Status> ReadList(Expectations* expected) const;
  static void Note(const ::csi::v1::ListVolumesResponse_Entry& entry, Expectations* expected);
  // Has those synced that differ. The pointer outlives the task.
  async::Task<Status> CompareAll(Expectations* expected) const;
  void Compare(const std::string& name, const Expectation& expectation) const;
  Result<Facts> FactsOf(const std::string& name) const;

  const Deps deps_;
};

}  // namespace csinative::attacher
