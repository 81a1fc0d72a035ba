// SPDX-License-Identifier: Apache-2.0
//
// events.k8s.io/v1 Events, as kubelet and the scheduler write them (kube-client 17.4): a repeat is
// not written at once but counted in the event's series, which goes to the server when it begins,
// every half hour, and when it ends. Best effort: recording never fails the caller. Loop only.
#pragma once

#include <memory>
#include <string>

#include "apis/events/v1/events.pb.h"
#include "lib/kube/event_recorder.h"

namespace csinative::events {
using ::k8s::io::api::events::v1::Event;
using ::k8s::io::api::events::v1::EventSeries;
}  // namespace csinative::events

namespace csinative::kube {

template <>
const ResourceInfo& ResourceOf<events::Event>();

// The sink: counts repeats and sends, one event after the other. Sources share it.
class SeriesBroadcaster {
 public:
  SeriesBroadcaster(async::EventLoop& loop, Random& random, Client& client, log::Logger log);
  ~SeriesBroadcaster();
  // Sends until cancelled.
  async::Task<void> Run();

 private:
  friend class SeriesRecorder;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// One source of events. Cheap to copy.
class SeriesRecorder {
 public:
  // `controller` is a name like "kubelet"; the instance is "<controller>-<host>".
  SeriesRecorder(SeriesBroadcaster& broadcaster, std::string controller, std::string host);

  struct Occurrence {
    EventType type = EventType::kNormal;
    std::string reason;  // why, e.g. "FailedMount"
    std::string action;  // what was tried, e.g. "Mounting"
    std::string note;
  };
  // Queues the event and returns. `related`: a second object that took part, or nullptr. Beyond
  // 1000 queued events it is dropped with a log line.
  void Record(const ObjectReference& regarding, const ObjectReference* related,
              Occurrence occurrence);

 private:
  SeriesBroadcaster* broadcaster_;
  std::string controller_;
  std::string instance_;
};

}  // namespace csinative::kube
