// SPDX-License-Identifier: Apache-2.0
//
// core/v1 Events with client-go's correlation: aggregation, counting of repeats, spam filter
// (kube-client 17). Best effort: recording never fails the caller. Loop only.
#pragma once

#include <memory>
#include <string>

#include "lib/async/scope.h"
#include "lib/base/random.h"
#include "lib/kube/client.h"
#include "lib/log/logger.h"

namespace csinative::kube {

// What an event is about.
struct ObjectReference {
  std::string api_version;
  std::string kind;
  std::string ns;
  std::string name;
  std::string uid;
  std::string resource_version;
  std::string field_path = {};  // the part of the object, e.g. "spec.containers[2]"
};

template <typename T>
ObjectReference ReferenceTo(const T& object) {
  const ResourceInfo& info = ResourceOf<T>();
  return {info.ApiVersion(),        std::string(info.kind),  object.metadata().namespace_(),
          object.metadata().name(), object.metadata().uid(), object.metadata().resourceversion()};
}

enum class EventType { kNormal, kWarning };

// The sink: correlates and sends, one event after the other. Sources share it.
class EventBroadcaster {
 public:
  EventBroadcaster(async::EventLoop& loop, Random& random, Client& client, log::Logger log);
  ~EventBroadcaster();
  // Sends until cancelled.
  async::Task<void> Run();

 private:
  friend class EventRecorder;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// One source of events: a component name (and host) on a broadcaster. Cheap to copy.
class EventRecorder {
 public:
  EventRecorder(EventBroadcaster& broadcaster, std::string component, std::string host = "");
  // Queues the event and returns. Beyond 1000 queued events it is dropped with a log line.
  void Record(const ObjectReference& about, EventType type, std::string reason,
              std::string message);

 private:
  EventBroadcaster* broadcaster_;
  std::string component_;
  std::string host_;
};

}  // namespace csinative::kube
