// SPDX-License-Identifier: Apache-2.0
#include "cmd/attacher/reconciler.h"

#include <algorithm>
#include <functional>
#include <string_view>

#include "cmd/attacher/attached_volume.h"
#include "cmd/attacher/requests.h"
#include "lib/async/sleep.h"
#include "lib/async/timeout.h"
#include "lib/csi/calls.h"
#include "lib/translation/translate.h"

namespace csinative::attacher {
namespace {

// Steps of the loop stay short.
constexpr size_t kBatch = 100;

size_t HashOf(std::string_view text) { return std::hash<std::string_view>()(text); }

}  // namespace

async::Task<void> Reconciler::Run() {
  do {
    const Status passed = co_await async::WithTimeout(deps_.timeout, Pass());
    if (!(co_await async::CancellationStatus()).ok()) co_return;
    if (!passed.ok()) deps_.log.Error(passed, "Failed to reconcile VolumeAttachments");
  } while ((co_await async::Sleep(deps_.interval)).ok());
}

async::Task<Status> Reconciler::Pass() {
  Expectations expected;
  CSI_CO_RETURN_IF_ERROR(co_await Expect(&expected));
  std::ranges::sort(expected, {}, &Expectation::handle);
  const Status read = co_await ReadList(&expected);
  if (!read.ok()) co_return read.WithContext("failed to ListVolumes");
  co_return co_await CompareAll(&expected);
}

async::Task<Status> Reconciler::Expect(Expectations* expected) const {
  // The names take three times as much as what is kept, so they do not wait for the list.
  const std::vector<std::string> names = deps_.caches->Ours();
  expected->reserve(names.size());
  size_t looked_at = 0;
  for (const std::string& name : names) {
    if (++looked_at % kBatch == 0) {
      co_await async::Yield();
      CSI_CO_RETURN_IF_ERROR(co_await async::CancellationStatus());
    }
    const Result<Facts> facts = FactsOf(name);
    if (!facts.ok()) {
      deps_.log.Error(facts.status(), "Failed to find out what the VolumeAttachment is about",
                      "VolumeAttachment", name);
      continue;
    }
    expected->push_back({.name = HashOf(name),
                         .handle = HashOf(facts->handle),
                         .node_id = HashOf(facts->node_id),
                         .resource_version = HashOf(facts->resource_version),
                         .attached = facts->attached});
  }
  co_return Status();
}

async::Task<Status> Reconciler::ReadList(Expectations* expected) const {
  ::csi::v1::ListVolumesRequest request;
  request.set_max_entries(deps_.max_entries);
  do {
    auto page = co_await csi::Call<::csi::v1::ListVolumesRequest>(*deps_.channel, request);
    if (!page.ok()) co_return page.status().WithContext("failed to list volumes");
    size_t noted = 0;
    for (const auto& entry : page->entries()) {
      Note(entry, expected);
      if (++noted % kBatch == 0) {
        co_await async::Yield();
        CSI_CO_RETURN_IF_ERROR(co_await async::CancellationStatus());
      }
    }
    request.set_starting_token(page->next_token());
  } while (!request.starting_token().empty());
  co_return Status();
}

void Reconciler::Note(const ::csi::v1::ListVolumesResponse_Entry& entry, Expectations* expected) {
  if (!entry.has_volume() || !entry.has_status()) return;
  const auto nodes = entry.status().published_node_ids();
  // An entry replaces earlier ones of the same volume.
  for (Expectation& one : std::ranges::equal_range(*expected, HashOf(entry.volume().volume_id()),
                                                   {}, &Expectation::handle)) {
    one.listed = std::ranges::any_of(
        nodes, [&one](const std::string& node) { return HashOf(node) == one.node_id; });
  }
}

async::Task<Status> Reconciler::CompareAll(Expectations* expected) const {
  std::erase_if(*expected, [](const Expectation& one) { return one.listed == one.attached; });
  if (expected->empty()) co_return Status();
  std::ranges::sort(*expected, {}, &Expectation::name);
  const std::vector<std::string> names = deps_.caches->Ours();
  size_t looked_at = 0;
  for (const std::string& name : names) {
    const size_t hash = HashOf(name);
    const auto one = std::ranges::lower_bound(*expected, hash, {}, &Expectation::name);
    if (one != expected->end() && one->name == hash) Compare(name, *one);
    if (++looked_at % kBatch != 0) continue;
    co_await async::Yield();
    CSI_CO_RETURN_IF_ERROR(co_await async::CancellationStatus());
  }
  co_return Status();
}

void Reconciler::Compare(const std::string& name, const Expectation& expectation) const {
  const Result<Facts> facts = FactsOf(name);
  // Differs: what changed meanwhile may not have been in the list yet, or still. The next pass will
  // tell.
  if (!facts.ok() || HashOf(facts->resource_version) != expectation.resource_version) return;
  deps_.log.Error(nullptr, "The driver and the VolumeAttachment say different things",
                  "VolumeAttachment", name, "volumeHandle", facts->handle, "nodeID", facts->node_id,
                  "attached", facts->attached, "published", expectation.listed);
  deps_.on_difference(name);
}

Result<Reconciler::Facts> Reconciler::FactsOf(const std::string& name) const {
  const auto attachment = deps_.caches->Attachment(name);
  if (!attachment) return NotFoundError("it is gone");
  Facts facts;
  CSI_ASSIGN_OR_RETURN(facts.node_id,
                       NodeIdOf(*attachment, deps_.caches->CsiNode(attachment->spec().nodename()),
                                deps_.driver, RecordedNodeId::kUse));
  const auto& source = attachment->spec().source();
  CSI_ASSIGN_OR_RETURN(const CsiVolume volume, VolumeOf(*deps_.caches, source));
  const core::CSIPersistentVolumeSource& csi = volume.spec.persistentvolumesource().csi();
  facts.handle = csi.volumehandle();
  if (volume.migrated || source.has_inlinevolumespec()) {
    CSI_ASSIGN_OR_RETURN(
        facts.handle, translation::RepairVolumeHandle(csi.driver(), facts.handle, facts.node_id));
  }
  facts.attached = attachment->status().attached();
  facts.resource_version = attachment->metadata().resourceversion();
  return facts;
}

}  // namespace csinative::attacher
