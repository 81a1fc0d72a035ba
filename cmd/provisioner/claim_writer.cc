// SPDX-License-Identifier: Apache-2.0
#include "cmd/provisioner/claim_writer.h"

#include <utility>

#include "lib/base/strings.h"

namespace csinative::provisioner {
namespace {

// As the API server words it.
Status Conflict(const core::PersistentVolumeClaim& claim) {
  return Status(
      Code::kAborted,
      StrCat("Operation cannot be fulfilled on persistentvolumeclaims \"", claim.metadata().name(),
             "\": the object has been modified; please apply your changes to the latest "
             "version and try again"),
      ApiError{.http_code = 409,
               .reason = "Conflict",
               .kind = "persistentvolumeclaims",
               .name = claim.metadata().name()});
}

}  // namespace

async::Task<Result<std::string>> EditClaim(kube::Client* client, core::PersistentVolumeClaim seen,
                                           DocumentEdit edit) {
  const kube::ResourceInfo* resource = &kube::ResourceOf<core::PersistentVolumeClaim>();
  const kube::ObjectName name{seen.metadata().namespace_(), seen.metadata().name()};
  auto document = co_await client->GetDocument(resource, name);
  if (!document.ok()) co_return document.status();
  auto version = TextAt(**document, {"metadata", "resourceVersion"});
  if (version != seen.metadata().resourceversion()) co_return Conflict(seen);
  if (!edit(document->get())) co_return *std::move(version);
  auto replaced = co_await client->ReplaceDocument(resource, name, *document);
  if (!replaced.ok()) co_return replaced.status();
  co_return TextAt(**replaced, {"metadata", "resourceVersion"}).value_or("");
}

}  // namespace csinative::provisioner
