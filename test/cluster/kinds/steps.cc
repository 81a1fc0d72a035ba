// SPDX-License-Identifier: Apache-2.0
#include "test/cluster/kinds/steps.h"

#include <chrono>
#include <utility>

#include "apis/coordination/v1/coordination.pb.h"
#include "apis/core/v1/maps.h"
#include "apis/core/v1/well_known.h"
#include "cmd/attacher/patches.h"
#include "cmd/provisioner/document.h"
#include "cmd/provisioner/pv_finalizers.h"
#include "lib/base/strings.h"
#include "lib/kube/errors.h"
#include "lib/kube/patch.h"

namespace csinative::kinds {

const char kOthersMetadata[] =
    R"([{"op":"add","path":"/metadata/finalizers/-","value":"kinds.csi-native.io/others"},)"
    R"({"op":"add","path":"/metadata/annotations/kinds.csi-native.io~1others","value":"kept"},)"
    R"({"op":"add","path":"/metadata/labels/kinds.csi-native.io~1others","value":"kept"}])";
const char kOthersUnknownFields[] =
    R"({"laterField":{"list":[1,"two"]},"spec":{"laterField":"kept"}})";
const char kOthersUnknownStatus[] = R"({"status":{"laterField":[{"a":1}]}})";

namespace {

using apiserver::Ensure;
using apiserver::Find;
using apiserver::FindMutable;
using apiserver::Json;
using apiserver::JsonAllocator;
using apiserver::Remove;
using apiserver::SetText;
using async::Task;
using kube::PatchType;

constexpr char kFirst[] = "kinds.csi-native.io/first";      // there from the beginning
constexpr char kChanges[] = "kinds.csi-native.io/changes";  // there, and changed later
constexpr char kGoes[] = "kinds.csi-native.io/goes";        // there, and removed later
constexpr char kOurs[] = "kinds.csi-native.io/ours";        // comes later
constexpr char kReplaced[] = "kinds.csi-native.io/replaced";
constexpr char kAttacher[] = "external-attacher/kinds";
constexpr char kMerged[] = "kinds.csi-native.io/merged";
constexpr char kPrepared[] = "kinds.csi-native.io/prepared";
constexpr char kHolder[] = "two_5678";
constexpr char kErrorTime[] = "2026-02-03T04:05:06Z";

bool Is(const Subject& subject, std::string_view kind) {
  return subject.kind->resource->kind == kind;
}

// ---- edits

void AppendFinalizer(JsonDocument* object, std::string_view finalizer) {
  JsonAllocator& allocator = object->GetAllocator();
  Json& metadata = Ensure(*object, "metadata", allocator);
  if (Find(metadata, "finalizers") == nullptr) {
    metadata.AddMember("finalizers", Json(rapidjson::kArrayType), allocator);
  }
  FindMutable(&metadata, "finalizers")
      ->PushBack(apiserver::MakeString(finalizer, allocator), allocator);
}

void SetIn(JsonDocument* object, std::string_view map, std::string_view key,
           std::string_view value) {
  JsonAllocator& allocator = object->GetAllocator();
  Json& metadata = Ensure(*object, "metadata", allocator);
  SetText(Ensure(metadata, map, allocator), key, value, allocator);
}

void Nothing(const Subject&, JsonDocument*) {}

void EditMetadata(const Subject&, JsonDocument* object) {
  AppendFinalizer(object, kOurs);
  SetIn(object, "annotations", kOurs, "\"quoted\" & <angles>");
  SetIn(object, "labels", kChanges, "after");
}

void EditMaps(const Subject&, JsonDocument* object) {
  SetIn(object, "annotations", kChanges, "after");
  Json& metadata = Ensure(*object, "metadata", object->GetAllocator());
  Remove(*FindMutable(&metadata, "annotations"), kGoes);
  SetIn(object, "labels", kMerged, "yes");
}

void EditMergedFinalizer(const Subject&, JsonDocument* object) { AppendFinalizer(object, kMerged); }

void EditAttacherFinalizer(const Subject&, JsonDocument* object) {
  AppendFinalizer(object, kAttacher);
}

void EditProvisionerFinalizer(const Subject&, JsonDocument* object) {
  AppendFinalizer(object, apis::kFinalizerProvisioner);
}

void EditFinalizerAway(const Subject&, JsonDocument* object) {
  (void)provisioner::RemoveFinalizer(kAttacher)(object);
}

void EditReplaced(const Subject&, JsonDocument* object) {
  (void)provisioner::AppendFinalizer(kReplaced)(object);
  (void)provisioner::RemoveAnnotation(kOurs)(object);
}

// Members are set, conditions come to the ones that are there.
void EditStatus(const Subject& subject, JsonDocument* object) {
  JsonAllocator& allocator = object->GetAllocator();
  Json& status = Ensure(*object, "status", allocator);
  for (const auto& member : subject.kind->Text("oursStatus")->GetObject()) {
    const std::string_view name = apiserver::Text(&member.name);
    Json* there = FindMutable(&status, name);
    if (there == nullptr || name != "conditions") {
      // A status error of ours has no time of its own, so what is there stays.
      if (there != nullptr && there->IsObject() && member.value.IsObject()) {
        for (const auto& inner : member.value.GetObject()) {
          apiserver::Set(*there, apiserver::Text(&inner.name), Json(inner.value, allocator),
                         allocator);
        }
        continue;
      }
      apiserver::Set(status, name, Json(member.value, allocator), allocator);
      continue;
    }
    for (const Json& condition : member.value.GetArray()) {
      there->PushBack(Json(condition, allocator), allocator);
    }
  }
}

void EditLease(const Subject&, JsonDocument* object) {
  JsonAllocator& allocator = object->GetAllocator();
  Json& spec = Ensure(*object, "spec", allocator);
  SetText(spec, "holderIdentity", kHolder, allocator);
  apiserver::Set(spec, "leaseTransitions", Json(5), allocator);
}

void EditPrepared(const Subject&, JsonDocument* object) {
  AppendFinalizer(object, kPrepared);
  SetIn(object, "annotations", apis::kAnnNodeId, "id-of-node");
}

void EditAttached(const Subject&, JsonDocument* object) {
  JsonAllocator& allocator = object->GetAllocator();
  Json& status = Ensure(*object, "status", allocator);
  Remove(status, "attachError");
  apiserver::Set(status, "attached", Json(true), allocator);
  SetText(Ensure(status, "attachmentMetadata", allocator), "device", "/dev/x", allocator);
}

void EditSavedError(const Subject&, JsonDocument* object) {
  JsonAllocator& allocator = object->GetAllocator();
  Json& status = Ensure(*object, "status", allocator);
  Json error(rapidjson::kObjectType);
  SetText(error, "time", kErrorTime, allocator);
  SetText(error, "message", "again", allocator);
  error.AddMember("errorCode", 4, allocator);
  apiserver::Set(status, "attachError", std::move(error), allocator);
}

void EditDetached(const Subject&, JsonDocument* object) {
  JsonAllocator& allocator = object->GetAllocator();
  Json& status = Ensure(*object, "status", allocator);
  apiserver::Set(status, "attached", Json(false), allocator);
  Remove(status, "attachmentMetadata");
  Remove(status, "detachError");
  // That error was kubectl's, and nothing else in the status is.
  Json* entries = FindMutable(FindMutable(object, "metadata"), "managedFields");
  for (auto it = entries->Begin(); it != entries->End();) {
    const bool gone = apiserver::TextAt(*it, "manager") == "kubectl-patch" &&
                      apiserver::TextAt(*it, "subresource") == "status";
    it = gone ? entries->Erase(it) : it + 1;
  }
}

// ---- acts

Task<Result<MessagePtr>> Fresh(const Subject* subject) {
  co_return co_await subject->kind->verbs->Get(subject->client, subject->ours);
}

Task<Status> Patch(const Subject* subject, PatchType type, std::string body,
                   std::string subresource = "") {
  co_return co_await subject->kind->verbs->Patch(subject->client, subject->ours, type,
                                                 std::move(body), std::move(subresource));
}

// The difference that the step's edit makes to an object as we have it.
std::pair<JsonDocument, JsonDocument> BeforeAndAfter(const Subject& subject, const Step& step,
                                                     const google::protobuf::Message& message) {
  JsonDocument before = DocumentOf(subject, message);
  JsonDocument after;
  after.CopyFrom(before, after.GetAllocator());
  step.edit(subject, &after);
  return {std::move(before), std::move(after)};
}

// From the copy that is older than what others wrote: their part must not be undone.
Task<Status> StrategicFromOldCopy(const Subject* subject, const Step* step) {
  auto [before, after] = BeforeAndAfter(*subject, *step, *subject->seen);
  CSI_CO_ASSIGN_OR_RETURN(std::string body,
                          kube::StrategicPatch(subject->kind->resource->kind, before, after));
  co_return co_await Patch(subject, PatchType::kStrategic, std::move(body));
}

Task<Status> StrategicStatusFromOldCopy(const Subject* subject, const Step* step) {
  auto [before, after] = BeforeAndAfter(*subject, *step, *subject->seen);
  CSI_CO_ASSIGN_OR_RETURN(std::string body,
                          kube::StrategicPatch(subject->kind->resource->kind, before, after));
  co_return co_await Patch(subject, PatchType::kStrategic, std::move(body), "status");
}

Task<Status> MergeStatusFromOldCopy(const Subject* subject, const Step* step) {
  auto [before, after] = BeforeAndAfter(*subject, *step, *subject->seen);
  co_return co_await Patch(subject, PatchType::kMerge, kube::MergePatch(before, after), "status");
}

Task<Status> MergeFromOldCopy(const Subject* subject, const Step* step) {
  auto [before, after] = BeforeAndAfter(*subject, *step, *subject->seen);
  co_return co_await Patch(subject, PatchType::kMerge, kube::MergePatch(before, after));
}

// A list is replaced as a whole, so such a patch names the version that it is made from.
Task<Status> MergeWithVersion(const Subject* subject, const Step* step, MessagePtr from) {
  auto [before, after] = BeforeAndAfter(*subject, *step, *from);
  Json* metadata = FindMutable(&before, "metadata");
  Remove(*metadata, "resourceVersion");
  co_return co_await Patch(subject, PatchType::kMerge, kube::MergePatch(before, after));
}

Task<Status> MergeFinalizersFromFreshCopy(const Subject* subject, const Step* step) {
  CSI_CO_ASSIGN_OR_RETURN(MessagePtr fresh, co_await Fresh(subject));
  co_return co_await MergeWithVersion(subject, step, std::move(fresh));
}

Status MustConflict(const Status& status) {
  if (kube::IsConflict(status)) return Status();
  return UnknownError(StrCat("no conflict, but: ", status.ToString()));
}

Task<Status> MergeFinalizersFromOldCopyConflicts(const Subject* subject, const Step*) {
  const Step merged{.name = "", .applies = nullptr, .act = nullptr, .edit = EditMergedFinalizer};
  co_return MustConflict(co_await MergeWithVersion(subject, &merged, subject->seen));
}

Task<Status> AppendFinalizerFromOldCopy(const Subject* subject, const Step*) {
  std::string body = attacher::AddVolumeFinalizer(MetadataOf(*subject->seen), kAttacher);
  co_return co_await Patch(subject, PatchType::kJson, std::move(body));
}

Task<Status> TakeFinalizerAway(const Subject* subject, const Step*) {
  CSI_CO_ASSIGN_OR_RETURN(MessagePtr fresh, co_await Fresh(subject));
  CSI_CO_ASSIGN_OR_RETURN(std::string body,
                          attacher::RemoveVolumeFinalizer(MetadataOf(*fresh), kAttacher));
  co_return co_await Patch(subject, PatchType::kJson, std::move(body));
}

Task<Status> AddProvisionerFinalizer(const Subject* subject, const Step*) {
  const auto& volume = static_cast<const core::PersistentVolume&>(*subject->seen);
  co_return co_await Patch(subject, PatchType::kStrategic, provisioner::AddFinalizerPatch(volume));
}

Task<Status> Prepare(const Subject* subject, const Step*) {
  CSI_CO_ASSIGN_OR_RETURN(MessagePtr fresh, co_await Fresh(subject));
  const std::optional<std::string> body =
      attacher::PrepareAttachment(MetadataOf(*fresh), kPrepared, "id-of-node");
  if (!body) co_return UnknownError("nothing to prepare");
  co_return co_await Patch(subject, PatchType::kMerge, *body);
}

const storage::VolumeAttachmentStatus& AttachmentStatus(const MessagePtr& message) {
  return static_cast<const storage::VolumeAttachment&>(*message).status();
}

Task<Status> MarkAttached(const Subject* subject, const Step*) {
  std::string body =
      attacher::MarkAttached(AttachmentStatus(subject->seen), {{"device", "/dev/x"}});
  co_return co_await Patch(subject, PatchType::kMerge, std::move(body), "status");
}

Task<Status> SaveError(const Subject* subject, const Step*) {
  CSI_CO_ASSIGN_OR_RETURN(MessagePtr fresh, co_await Fresh(subject));
  std::string body = attacher::SaveError(AttachmentStatus(fresh),
                                         {.kind = attacher::OperationError::Kind::kAttach,
                                          .message = "again",
                                          .time = WallTime(std::chrono::seconds(1770091506)),
                                          .code = 4});
  co_return co_await Patch(subject, PatchType::kMerge, std::move(body), "status");
}

Task<Status> MarkDetached(const Subject* subject, const Step*) {
  CSI_CO_ASSIGN_OR_RETURN(MessagePtr fresh, co_await Fresh(subject));
  std::string body = attacher::MarkDetached(AttachmentStatus(fresh));
  co_return co_await Patch(subject, PatchType::kMerge, std::move(body), "status");
}

Task<Status> Replace(const Subject* subject, const Step* step) {
  const kube::ResourceInfo* resource = subject->kind->resource;
  CSI_CO_ASSIGN_OR_RETURN(auto document,
                          co_await subject->client->GetDocument(resource, subject->ours));
  auto stale = std::make_shared<rapidjson::Document>();
  stale->CopyFrom(*document, stale->GetAllocator());
  step->edit(*subject, document.get());
  CSI_CO_RETURN_IF_ERROR(
      (co_await subject->client->ReplaceDocument(resource, subject->ours, document)).status());
  // What was read before that write may not be put back.
  co_return MustConflict(
      (co_await subject->client->ReplaceDocument(resource, subject->ours, stale)).status());
}

Task<Status> UpdateLease(const Subject* subject, const Step*) {
  CSI_CO_ASSIGN_OR_RETURN(MessagePtr fresh, co_await Fresh(subject));
  auto& spec = *static_cast<coordination::Lease&>(*fresh).mutable_spec();
  spec.set_holderidentity(kHolder);
  spec.set_leasetransitions(5);
  CSI_CO_RETURN_IF_ERROR(co_await subject->kind->verbs->Update(subject->client, fresh));
  co_return MustConflict(co_await subject->kind->verbs->Update(subject->client, fresh));
}

// ---- to which objects

bool All(const Subject&) { return true; }
bool BuiltIn(const Subject& subject) { return !subject.kind->custom; }
bool BuiltInStatus(const Subject& subject) {
  return BuiltIn(subject) && subject.kind->Text("oursStatus") != nullptr;
}
bool CustomStatus(const Subject& subject) {
  return subject.kind->custom && subject.kind->Text("oursStatus") != nullptr;
}
bool IsVolume(const Subject& subject) { return Is(subject, "PersistentVolume"); }
bool IsAttachment(const Subject& subject) { return Is(subject, "VolumeAttachment"); }
bool IsLease(const Subject& subject) { return Is(subject, "Lease"); }

constexpr Step kSteps[] = {
    {"strategic patch of metadata", BuiltIn, StrategicFromOldCopy, EditMetadata},
    {"merge patch of annotations and labels", All, MergeFromOldCopy, EditMaps},
    {"merge patch of finalizers from an old copy", All, MergeFinalizersFromOldCopyConflicts,
     Nothing},
    {"merge patch of finalizers", All, MergeFinalizersFromFreshCopy, EditMergedFinalizer},
    {"JSON patch that adds a finalizer", All, AppendFinalizerFromOldCopy, EditAttacherFinalizer},
    {"JSON patch that removes a finalizer", All, TakeFinalizerAway, EditFinalizerAway},
    {"strategic patch of the status", BuiltInStatus, StrategicStatusFromOldCopy, EditStatus},
    {"merge patch of the status", CustomStatus, MergeStatusFromOldCopy, EditStatus},
    {"csi-provisioner's finalizer", IsVolume, AddProvisionerFinalizer, EditProvisionerFinalizer},
    {"csi-attacher's finalizer and node id", IsAttachment, Prepare, EditPrepared},
    {"csi-attacher's mark of an attached volume", IsAttachment, MarkAttached, EditAttached},
    {"csi-attacher's error", IsAttachment, SaveError, EditSavedError},
    {"csi-attacher's mark of a detached volume", IsAttachment, MarkDetached, EditDetached},
    {"replacement of the document", All, Replace, EditReplaced},
    {"update of the message", IsLease, UpdateLease, EditLease},
};

}  // namespace

std::span<const Step> Steps() { return kSteps; }

void AddCreatedMetadata(meta::ObjectMeta* metadata) {
  metadata->add_finalizers(kFirst);
  apis::SetEntry(metadata->mutable_annotations(), kChanges, "before");
  apis::SetEntry(metadata->mutable_annotations(), kGoes, "there");
  apis::SetEntry(metadata->mutable_labels(), kChanges, "before");
}

}  // namespace csinative::kinds
