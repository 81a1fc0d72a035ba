// SPDX-License-Identifier: Apache-2.0
#include "test/cluster/kinds/catalogue.h"

#include <utility>

#include "apis/gateway/v1beta1/gateway.pb.h"
#include "apis/groupsnapshot/v1/groupsnapshot.pb.h"
#include "apis/json/from_json.h"
#include "apis/k8s.h"
#include "apis/resource_table.h"
#include "apis/snapshot/v1/snapshot.pb.h"
#include "lib/base/strings.h"
#include "lib/kube/series_recorder.h"

namespace csinative {
namespace {

// Controllers name these resources where they use them; the client knows none of them by type.
template <typename T>
const kube::ResourceInfo& FromTable() {
  static const apis::ResourceInfo& table = apis::ResourceOf<T>();
  static const std::string singular = ToLower(table.kind);
  static const kube::ResourceInfo info{.group = table.group,
                                       .version = table.version,
                                       .kind = table.kind,
                                       .plural = table.plural,
                                       .singular = singular,
                                       .namespaced = table.namespaced()};
  return info;
}

}  // namespace

namespace kube {
template <>
const ResourceInfo& ResourceOf<snapshot::VolumeSnapshot>() {
  return FromTable<snapshot::VolumeSnapshot>();
}
template <>
const ResourceInfo& ResourceOf<snapshot::VolumeSnapshotClass>() {
  return FromTable<snapshot::VolumeSnapshotClass>();
}
template <>
const ResourceInfo& ResourceOf<snapshot::VolumeSnapshotContent>() {
  return FromTable<snapshot::VolumeSnapshotContent>();
}
template <>
const ResourceInfo& ResourceOf<groupsnapshot::VolumeGroupSnapshot>() {
  return FromTable<groupsnapshot::VolumeGroupSnapshot>();
}
template <>
const ResourceInfo& ResourceOf<groupsnapshot::VolumeGroupSnapshotClass>() {
  return FromTable<groupsnapshot::VolumeGroupSnapshotClass>();
}
template <>
const ResourceInfo& ResourceOf<groupsnapshot::VolumeGroupSnapshotContent>() {
  return FromTable<groupsnapshot::VolumeGroupSnapshotContent>();
}
template <>
const ResourceInfo& ResourceOf<gateway::ReferenceGrant>() {
  return FromTable<gateway::ReferenceGrant>();
}
}  // namespace kube

namespace kinds {
namespace {

template <typename T>
Kind TableKind() {
  const apis::ResourceInfo& table = apis::ResourceOf<T>();
  return {.resource = &kube::ResourceOf<T>(),
          .verbs = std::make_unique<TypedVerbs<T>>(),
          .custom = table.wire == apis::WireFormat::kJson,
          .has_status = table.has_status};
}

template <typename... T>
void Add(std::vector<Kind>* kinds) {
  (kinds->push_back(TableKind<T>()), ...);
}

// Everything that is written by us must be in our messages.
Status CheckText(const Kind& kind, const rapidjson::Value* text) {
  if (text == nullptr) return Status();
  std::vector<std::string> unknown;
  MessagePtr message = kind.verbs->New();
  CSI_RETURN_IF_ERROR(apis::FromJson(*text, message.get(), {.unknown_fields = &unknown}));
  if (unknown.empty()) return Status();
  return InvalidArgumentError(StrCat(kind.Key(), ": the message has no ", unknown.front()));
}

Status FindTexts(const rapidjson::Document& texts, Kind* kind) {
  const auto found = texts.FindMember(kind->Key().c_str());
  if (found == texts.MemberEnd()) return InvalidArgumentError(StrCat("no text: ", kind->Key()));
  kind->texts = &found->value;
  if (kind->Text("object") == nullptr) {
    return InvalidArgumentError(StrCat("no object: ", kind->Key()));
  }
  if (kind->has_status != (kind->Text("status") != nullptr)) {
    return InvalidArgumentError(StrCat("a status too much or too few: ", kind->Key()));
  }
  CSI_RETURN_IF_ERROR(CheckText(*kind, kind->Text("object")));
  for (const char* member : {"status", "oursStatus"}) {
    if (kind->Text(member) == nullptr) continue;
    rapidjson::Document whole(rapidjson::kObjectType);
    whole.AddMember("status", rapidjson::Value(*kind->Text(member), whole.GetAllocator()),
                    whole.GetAllocator());
    CSI_RETURN_IF_ERROR(CheckText(*kind, &whole));
  }
  return Status();
}

}  // namespace

std::string Kind::Key() const { return StrCat(resource->ApiVersion(), " ", resource->kind); }

const rapidjson::Value* Kind::Text(const char* member) const {
  const auto found = texts->FindMember(member);
  return found == texts->MemberEnd() ? nullptr : &found->value;
}

Result<std::vector<Kind>> MakeCatalogue(const rapidjson::Document& texts) {
  std::vector<Kind> kinds;
  Add<core::ConfigMap, core::Event, core::Namespace, core::Node, core::PersistentVolume,
      core::PersistentVolumeClaim, core::Pod, core::Secret, core::ServiceAccount,
      storage::CSIDriver, storage::CSINode, storage::CSIStorageCapacity, storage::StorageClass,
      storage::VolumeAttachment, storage::VolumeAttributesClass, coordination::Lease,
      snapshot::VolumeSnapshot, snapshot::VolumeSnapshotClass, snapshot::VolumeSnapshotContent,
      groupsnapshot::VolumeGroupSnapshot, groupsnapshot::VolumeGroupSnapshotClass,
      groupsnapshot::VolumeGroupSnapshotContent, gateway::ReferenceGrant>(&kinds);
  size_t expected = 0;
  for (const apis::ResourceInfo& info : apis::ResourceTable()) expected += info.group != "apps";
  if (kinds.size() != expected) {
    return InvalidArgumentError(
        StrCat("the resource table has ", expected, " kinds, ", kinds.size(), " are checked"));
  }
  // The table has the core group's events only.
  kinds.push_back({.resource = &kube::ResourceOf<events::Event>(),
                   .verbs = std::make_unique<TypedVerbs<events::Event>>()});
  if (texts.MemberCount() != kinds.size()) return InvalidArgumentError("a text without a kind");
  for (Kind& kind : kinds) CSI_RETURN_IF_ERROR(FindTexts(texts, &kind));
  return kinds;
}

}  // namespace kinds
}  // namespace csinative
