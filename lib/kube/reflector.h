// SPDX-License-Identifier: Apache-2.0
//
// List and watch of one resource for ever (kube-client 13), as a state machine:
//
//   Start --watch-list allowed--> WatchList --bookmark--> Watch      (on the same stream)
//     |                             |  ^ | refused, 429: after a delay; gone, too large: at once
//     |                             |  +-+ stream ended: at once
//     |                             +--other failure--> List
//     +----------------------------------------------> List --ok--> Watch
//                                                        +--failure--> Wait
//   Watch --stream ended--> Watch (opened again where it stopped; refused, 429: after a delay)
//     +--gone, ERROR event, ended at once, cannot open--> Wait --back-off--> Start
//
// The state of the world goes to a sink: complete states apart from single changes, so that it can
// switch from one complete state to the next at once. Loop only.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "apis/meta/v1/meta.pb.h"
#include "lib/async/event_loop.h"
#include "lib/async/task.h"
#include "lib/base/random.h"
#include "lib/kube/backoff.h"
#include "lib/kube/client.h"
#include "lib/kube/codec.h"
#include "lib/kube/resource.h"
#include "lib/kube/url.h"
#include "lib/kube/watch_stream.h"
#include "lib/log/logger.h"

namespace csinative::kube {

class ReflectorSink {
 public:
  virtual ~ReflectorSink() = default;

  // Starts to collect a complete state beside the current one; drops one that was being collected.
  virtual void BeginReplace() = 0;
  // A change to the state being collected. Returns the object's resource version.
  virtual Result<std::string> Stage(WatchEventType type, const EncodedObject& object) = 0;
  // The collected state is complete and becomes the current one. May suspend.
  virtual async::Task<void> CommitReplace() = 0;
  // The collected state will not be completed.
  virtual void AbandonReplace() = 0;

  // A change to the current state. Returns the object's resource version.
  virtual Result<std::string> Apply(WatchEventType type, const EncodedObject& object) = 0;
};

struct ReflectorOptions {
  std::string ns;  // empty: all namespaces
  std::string label_selector;
  std::string field_selector;
  bool watch_list = true;
  // Items a page; 0: 500 where the server cannot answer from its cache anyway, else all at once.
  int64_t page_size = 0;
  Backoff::Options backoff;
};

class Reflector {
 public:
  // Borrowed: all outlive the reflector.
  Reflector(async::EventLoop& loop, Random& random, Client& client, log::Logger log,
            const ResourceInfo& resource, ReflectorSink& sink, ReflectorOptions options);

  // Until cancelled. Failures are logged and retried.
  async::Task<void> Run();

  // The current state is complete and follows the server, apart from a reconnect.
  bool watching() const { return state_ == State::kWatch; }
  const std::string& resource_version() const { return resource_version_; }
  // When bytes of a list or watch last arrived.
  std::optional<MonotonicTime> last_activity() const { return last_activity_; }

 private:
  enum class State { kStart, kWatchList, kList, kWatch, kWait, kStopped };

  async::Task<State> StepWatchList();
  async::Task<State> StepList();
  async::Task<State> StepWatch();
  async::Task<State> StepWait();

  // Collects the initial events of a streamed list. Ok: the bookmark has come.
  async::Task<Status> CollectInitialEvents(WatchStream* stream, std::string* bookmark_version);
  // Lists all pages into the sink. kOk: complete, version in *version.
  async::Task<Status> List(std::string version, int64_t limit, std::string* list_version);
  async::Task<Status> ListPage(QueryParameters query, meta::ListMeta* metadata);
  async::Task<State> FollowWatch();
  // What to do after a failed request or an ERROR event of the watch-list.
  async::Task<State> AfterWatchListFailure(Status failure);
  Status ApplyEvent(const WatchEvent& event, bool* trust_version);
  void AfterReplace(std::string version);

  bool IsForeign(const EncodedObject& object);
  QueryParameters BaseQuery() const;
  std::string RelistVersion() const;
  async::Task<Result<std::unique_ptr<WatchStream>>> OpenWatch(QueryParameters query);
  void Report(const Status& failure);

  async::EventLoop& loop_;
  Random& random_;
  Client& client_;
  log::Logger log_;
  const ResourceInfo& resource_;
  ReflectorSink& sink_;
  const ReflectorOptions options_;
  Backoff backoff_;

  State state_ = State::kStart;
  std::unique_ptr<WatchStream> watch_;  // open in kWatch, unless it has to be opened again
  std::string resource_version_;        // last seen; empty: nothing synced yet
  bool version_unavailable_ = false;    // the server does not have resource_version_ any more
  MonotonicTime next_complaint_{};
  bool initial_list_was_paged_ = false;
  std::optional<MonotonicTime> watch_list_refused_at_;
  std::optional<MonotonicTime> last_activity_;
};

}  // namespace csinative::kube
