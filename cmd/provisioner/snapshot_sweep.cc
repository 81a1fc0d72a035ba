// SPDX-License-Identifier: Apache-2.0
#include "cmd/provisioner/snapshot_sweep.h"

#include <vector>

#include "apis/core/v1/well_known.h"
#include "cmd/provisioner/data_source.h"
#include "cmd/provisioner/snapshot_restore.h"
#include "lib/async/sleep.h"
#include "lib/base/strings.h"
#include "lib/kube/errors.h"

namespace csinative::provisioner {
namespace {

constexpr int kPageSize = 500;  // client-go, pager

}  // namespace

async::Task<void> SnapshotSweep::Prepare() {
  if (served_ || deps_.interval <= Duration::zero()) co_return;
  served_ = co_await SnapshotsAreServed();
}

async::Task<void> SnapshotSweep::Run() {
  if (deps_.interval <= Duration::zero()) co_return;
  bool may_list = false;
  while (true) {
    // Differs: upstream looks once for the kind, so that one installed later needs a restart.
    co_await Prepare();
    if (*served_ && !may_list) {
      may_list = co_await MayList();
      if (!may_list) co_return;
    }
    if (!*served_) {
      served_.reset();
    } else {
      Status swept = co_await SweepOnce();
      if (!swept.ok() && !IsCancelled(swept)) {
        deps_.log.Warningf("failed to sweep the finalizers of snapshots: {}", swept.message());
      }
    }
    Status slept = co_await async::Sleep(deps_.interval);
    if (!slept.ok()) co_return;
  }
}

async::Task<bool> SnapshotSweep::MayList() {
  auto allowed = co_await ListPage("", 1);
  if (allowed.ok() || !kube::IsForbidden(allowed.status())) co_return true;
  deps_.log.V(3).Info("No right to list snapshots, finalizers of orphans stay");
  co_return false;
}

async::Task<bool> SnapshotSweep::SnapshotsAreServed() {
  auto found = co_await deps_.client->GetPath(StrCat("/apis/", kSnapshotGroup, "/v1"));
  if (!found.ok()) co_return false;
  const JsonValue* resources = ValueAt(**found, {"resources"});
  if (resources == nullptr || !resources->IsArray()) co_return false;
  for (const JsonValue& resource : resources->GetArray()) {
    if (TextAt(resource, {"kind"}) == kSnapshotKind) co_return true;
  }
  co_return false;
}

async::Task<Status> SnapshotSweep::SweepOnce() {
  std::string continue_token;
  do {
    auto page = co_await ListPage(continue_token, kPageSize);
    if (!page.ok()) co_return page.status();
    const JsonValue* items = ValueAt(*page, {"items"});
    if (items != nullptr && items->IsArray()) {
      for (const JsonValue& item : items->GetArray()) {
        if (!HasFinalizer(item, apis::kFinalizerSnapshotSource)) continue;
        kube::ObjectName name{TextAt(item, {"metadata", "namespace"}).value_or(""),
                              TextAt(item, {"metadata", "name"}).value_or("")};
        // The claims as they are now: the list took time.
        if (deps_.needed(name.Key())) continue;
        co_await ReleaseOrphan(std::move(name));
        CSI_CO_RETURN_IF_ERROR(co_await async::CancellationStatus());
      }
    }
    continue_token = TextAt(*page, {"metadata", "continue"}).value_or("");
  } while (!continue_token.empty());
  co_return Status();
}

async::Task<Result<rapidjson::Document>> SnapshotSweep::ListPage(std::string continue_token,
                                                                 int limit) {
  std::vector<std::pair<std::string, std::string>> query{{"limit", StrCat(limit)}};
  if (!continue_token.empty()) query.emplace_back("continue", std::move(continue_token));
  auto stream = co_await deps_.client->OpenStream(&SnapshotResource(), "", std::move(query));
  if (!stream.ok()) co_return stream.status();
  std::string body;
  while (true) {
    auto piece = co_await (*stream)->Read();
    if (!piece.ok()) co_return piece.status();
    if (piece->empty()) break;
    body += *piece;
  }
  rapidjson::Document document;
  document.Parse(body.data(), body.size());
  if (document.HasParseError()) co_return UnknownError("the list of snapshots is no JSON");
  co_return std::move(document);
}

async::Task<void> SnapshotSweep::ReleaseOrphan(kube::ObjectName name) {
  auto document = co_await deps_.client->GetDocument(&SnapshotResource(), name);
  Status done = document.status();
  if (done.ok() && RemoveFinalizer(apis::kFinalizerSnapshotSource)(document->get()) &&
      !deps_.needed(name.Key())) {
    auto replaced = co_await deps_.client->ReplaceDocument(&SnapshotResource(), name, *document);
    done = replaced.status();
  }
  const log::ObjectRef ref{name.ns, name.name};
  if (done.ok()) {
    deps_.log.V(4).Info("Finalizer of an orphaned snapshot is removed", "snapshot", ref);
  } else if (kube::IsNotFound(done) || kube::IsConflict(done)) {
    deps_.log.V(4).Info("Snapshot changed, the next sweep looks again", "snapshot", ref);
  } else if (kube::IsForbidden(done)) {
    deps_.log.V(3).Info("No right to release an orphaned snapshot", "snapshot", ref);
  } else {
    deps_.log.Warningf("failed to release the orphaned snapshot {}: {}", name.Key(),
                       done.message());
  }
}

}  // namespace csinative::provisioner
