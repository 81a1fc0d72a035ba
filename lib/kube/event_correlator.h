// SPDX-License-Identifier: Apache-2.0
//
// What turns recorded events into API writes (kube-client 17.2): many similar events become one
// combined event, an identical event becomes a higher count, and a source that floods about one
// object is cut off. Loop only; time comes from the clock.
#pragma once

#include <list>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "apis/core/v1/event.pb.h"
#include "apis/namespaces.h"
#include "lib/base/clock.h"
#include "lib/base/random.h"
#include "lib/base/status.h"
#include "lib/kube/rate_limiter.h"
#include "lib/log/logger.h"

namespace csinative::kube {

// "<object>.<hex of unix nanoseconds>", or a UUID if that is no valid object name.
std::string EventName(const std::string& object, WallTime now, Random& random);

struct ObjectReference;  // event_recorder.h
// As the API has it; what is empty is left out.
core::ObjectReference ReferenceMessage(const ObjectReference& about);

// What a failed write of an event means: logs it, and says whether to try again after a while
// (kube-client 17.3). `attempt` counts from 1, up to kMaxEventTries. `expected`: a rejection that
// is no news to anybody.
inline constexpr int kMaxEventTries = 12;
bool MayRetryEvent(const log::Logger& log, const std::string& event, const Status& failure,
                   int attempt, bool expected);

struct CorrelatedEvent {
  core::Event event;  // count > 1: patch the event of this name, else create
  std::string key;    // identity for Stored()
};

// Keeps the most recently used entries, at most `capacity`.
template <typename V>
class LruMap {
 public:
  explicit LruMap(size_t capacity) : capacity_(capacity) {}

  // The entry, made if need be, as the most recent one. Valid until the next call.
  V& Touch(const std::string& key) {
    auto it = index_.find(key);
    if (it != index_.end()) {
      order_.splice(order_.begin(), order_, it->second);
      return it->second->second;
    }
    order_.emplace_front(key, V{});
    index_.emplace(key, order_.begin());
    if (index_.size() > capacity_) {
      index_.erase(order_.back().first);
      order_.pop_back();
    }
    return order_.front().second;
  }

 private:
  using Order = std::list<std::pair<std::string, V>>;
  const size_t capacity_;
  Order order_;
  std::unordered_map<std::string, typename Order::iterator> index_;
};

class EventCorrelator {
 public:
  explicit EventCorrelator(const Clock& clock);

  // What to write for `event`, or nullopt if the spam filter drops it.
  std::optional<CorrelatedEvent> Correlate(core::Event event);
  // The server's answer: later repeats patch that object.
  void Stored(const std::string& key, const core::Event& event);

 private:
  // Similar events: all but the message are equal.
  struct Group {
    std::set<std::string> messages;
    std::optional<MonotonicTime> last;
  };
  struct Seen {
    int count = 0;
    std::string name;
    std::string resource_version;
    std::optional<meta::Time> first_timestamp;
  };
  struct Spam {
    std::optional<TokenBucket> bucket;
  };

  const Clock& clock_;
  LruMap<Group> groups_;
  LruMap<Seen> seen_;
  LruMap<Spam> spam_;
};

}  // namespace csinative::kube
