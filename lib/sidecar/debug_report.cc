// SPDX-License-Identifier: Apache-2.0
#include "lib/sidecar/debug_report.h"

namespace csinative::sidecar {
namespace {

std::string_view StateText(kube::WorkQueue::ItemState state) {
  switch (state) {
    case kube::WorkQueue::ItemState::kProcessing:
      return "in work";
    case kube::WorkQueue::ItemState::kWaiting:
      return "waiting";
    case kube::WorkQueue::ItemState::kDelayed:
      return "delayed";
  }
  return "";
}

}  // namespace

DebugReport::DebugReport(Process& process)
    : now_(process.loop().Now()), snapshot_(NewDebugSnapshot(process)) {}

void DebugReport::AddElection(const Election* election) {
  AddFact("leader election", election == nullptr ? "off" : election->Describe());
}

void DebugReport::AddQueue(const kube::WorkQueue& queue,
                           const std::function<std::string(const std::string& key)>& describe,
                           std::string_view title) {
  const std::string name(title.empty() ? std::string_view(queue.name()) : title);
  snapshot_.queues.push_back({name, queue.processing(), queue.size(), queue.delayed()});
  const size_t total = queue.processing() + queue.size() + queue.delayed();
  const auto items = queue.Items(kMaxItems);
  snapshot_.work_left_off += total - items.size();
  for (const kube::WorkQueue::ItemInfo& item : items) {
    serve::DebugSnapshot::Work& out = snapshot_.work.emplace_back();
    out.queue = name;
    out.object = item.item;
    if (std::string object = describe ? describe(item.item) : std::string();
        !object.empty() && object != item.item) {
      out.object = std::move(object);
      out.key = item.item;
    }
    out.state = StateText(item.state);
    if (item.until) {
      out.next_try_in = *item.until - now_;
    } else {
      out.age = now_ - item.since;
    }
    out.failures = item.failures;
    if (item.last_failure) {
      out.last_error = item.last_failure->text;
      out.last_error_age = now_ - item.last_failure->when;
    }
  }
}

void DebugReport::AddWatch(const kube::ResourceInfo& resource, const kube::Reflector& reflector,
                           size_t objects, size_t bytes) {
  serve::DebugSnapshot::Watch& out = snapshot_.watches.emplace_back();
  out.resource = resource.QualifiedName();
  out.state = reflector.watching() ? "watching" : "listing";
  out.objects = objects;
  out.bytes = bytes;
  if (const auto heard = reflector.last_activity()) out.silent_for = now_ - *heard;
}

}  // namespace csinative::sidecar
