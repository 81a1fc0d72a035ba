// SPDX-License-Identifier: Apache-2.0
#include "cmd/provisioner/snapshot_restore.h"

#include "apis/core/v1/well_known.h"
#include "lib/base/strings.h"
#include "lib/kube/errors.h"

namespace csinative::provisioner {
namespace {

const kube::ResourceInfo kSnapshots{.group = kSnapshotGroup,
                                    .version = "v1",
                                    .kind = kSnapshotKind,
                                    .plural = "volumesnapshots",
                                    .singular = "volumesnapshot",
                                    .namespaced = true};
const kube::ResourceInfo kContents{.group = kSnapshotGroup,
                                   .version = "v1",
                                   .kind = "VolumeSnapshotContent",
                                   .plural = "volumesnapshotcontents",
                                   .singular = "volumesnapshotcontent",
                                   .namespaced = false};

}  // namespace

const kube::ResourceInfo& SnapshotResource() { return kSnapshots; }

async::Task<Result<std::string>> SnapshotRestore::Handle(core::PersistentVolumeClaim claim,
                                                         DataSource source,
                                                         std::string provisioner) {
  auto snapshot = co_await client_->GetDocument(&kSnapshots, {source.ns, source.name});
  if (!snapshot.ok()) {
    co_return snapshot.status().WithContext(
        StrCat("error getting snapshot ", source.name, " from api server"));
  }
  auto content_name = BoundContentName(**snapshot);
  if (!content_name.ok()) co_return content_name.status();
  auto content = co_await client_->GetDocument(&kContents, {"", *content_name});
  if (!content.ok()) {
    const std::string failed =
        StrCat("error getting snapshotcontent ", *content_name, " for snapshot ");
    log_.Warningf("{}{}/{} from api server: {}", failed, source.ns, source.name,
                  content.status().message());
    co_return FailedPreconditionError(StrCat(failed, source.name));
  }
  co_return RestorableHandle(claim, **snapshot, **content, provisioner, conversion_);
}

async::Task<Status> SnapshotRestore::Protect(DataSource source) {
  Status put =
      co_await Edit({source.ns, source.name}, AppendFinalizer(apis::kFinalizerSnapshotSource));
  if (!kube::IsForbidden(put)) co_return put;
  log_.V(3).Info("No right to protect the snapshot while it is restored", "snapshot",
                 log::ObjectRef{source.ns, source.name});
  co_return Status();
}

async::Task<void> SnapshotRestore::Release(std::string ns, std::string name) {
  Status put = co_await Edit({ns, name}, RemoveFinalizer(apis::kFinalizerSnapshotSource));
  if (put.ok() || kube::IsNotFound(put)) co_return;
  if (kube::IsForbidden(put)) {
    log_.V(3).Info("No right to release the restored snapshot", "snapshot",
                   log::ObjectRef{ns, name});
  } else {
    log_.Warningf("failed to release the restored snapshot {}/{}: {}", ns, name, put.message());
  }
}

async::Task<Status> SnapshotRestore::Edit(kube::ObjectName name, DocumentEdit edit) {
  auto document = co_await client_->GetDocument(&kSnapshots, name);
  if (!document.ok()) co_return document.status();
  if (!edit(document->get())) co_return Status();
  auto replaced = co_await client_->ReplaceDocument(&kSnapshots, name, *document);
  co_return replaced.status();
}

}  // namespace csinative::provisioner
