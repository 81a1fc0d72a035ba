// SPDX-License-Identifier: Apache-2.0
#include "test/cluster/kinds/kinds_check.h"

#include <chrono>
#include <utility>

#include "apis/json/from_json.h"
#include "cmd/attacher/patches.h"
#include "lib/async/sleep.h"
#include "lib/base/strings.h"
#include "lib/kube/errors.h"

namespace csinative::kinds {
namespace {

using async::Task;

constexpr char kNamespace[] = "kinds";

bool All(const Subject&) { return true; }
bool IsCustom(const Subject& subject) { return subject.kind->custom; }
bool IsCustomWithStatus(const Subject& subject) {
  return subject.kind->custom && subject.kind->has_status;
}

// Two names of one length, so that they differ in nothing else.
kube::ObjectName NameOf(const Kind& kind, kube::Encoding encoding, std::string_view who) {
  const std::string_view form = encoding == kube::Encoding::kJson ? "json" : "protobuf";
  return {kind.resource->namespaced ? kNamespace : "", StrCat("kinds-", form, "-", who)};
}

}  // namespace

KindsCheck::KindsCheck(CheckDeps deps, const std::vector<Kind>& kinds)
    : deps_(deps), scope_(deps.loop) {
  for (const Kind& kind : kinds) {
    for (const auto encoding : {kube::Encoding::kProtobuf, kube::Encoding::kJson}) {
      if (kind.custom && encoding == kube::Encoding::kProtobuf) continue;
      auto subject = std::make_unique<Subject>();
      subject->kind = &kind;
      subject->encoding = encoding;
      subject->client = encoding == kube::Encoding::kJson ? &deps_.json : &deps_.protobuf;
      subject->ours = NameOf(kind, encoding, "ours");
      subject->theirs = NameOf(kind, encoding, "kube");
      // The two kinds of events are two views of the same objects.
      if (kind.resource->group == "events.k8s.io") {
        subject->ours.name += "-series";
        subject->theirs.name += "-series";
      }
      subjects_.push_back(std::move(subject));
    }
  }
}

Task<Status> KindsCheck::Run() {
  Status status = co_await Prepare();
  for (auto phase : {&KindsCheck::Create, &KindsCheck::CompareTwinObjects, &KindsCheck::Read,
                     &KindsCheck::LetOthersWrite, &KindsCheck::Change, &KindsCheck::Watch,
                     &KindsCheck::Delete}) {
    if (status.ok()) status = co_await (this->*phase)();
  }
  co_await scope_.Close();
  co_return status;
}

// What the objects need around them.
Task<Status> KindsCheck::Prepare() {
  CSI_CO_RETURN_IF_ERROR(
      (co_await deps_.kubectl.Run({"create", "namespace", kNamespace})).status());
  // Pods are admitted when their account is there.
  CSI_CO_RETURN_IF_ERROR(
      (co_await deps_.kubectl.Run({"create", "serviceaccount", "pods", "--namespace", kNamespace}))
          .status());
  co_return Status();
}

Result<MessagePtr> KindsCheck::Text(const Subject& subject, const kube::ObjectName& name) const {
  MessagePtr message = subject.kind->verbs->New();
  CSI_RETURN_IF_ERROR(apis::FromJson(*subject.kind->Text("object"), message.get()));
  meta::ObjectMeta* metadata = MetadataOf(message.get());
  metadata->set_name(name.name);
  if (!name.ns.empty()) metadata->set_namespace_(name.ns);
  AddCreatedMetadata(metadata);
  return message;
}

std::string KindsCheck::StatusPatch(const Subject& subject, const char* member) {
  const rapidjson::Value* status = subject.kind->Text(member);
  return status == nullptr ? "" : StrCat(R"({"status":)", apiserver::Dump(*status), "}");
}

Task<Status> KindsCheck::Create() {
  std::vector<std::string> twins;
  for (const auto& subject : subjects_) {
    const Verbs& verbs = *subject->kind->verbs;
    subject->live = verbs.Watch(deps_.loop, deps_.random, *subject->client, subject->ours);
    CSI_CO_RETURN_IF_ERROR(co_await Started(subject->live.get()));
    CSI_CO_ASSIGN_OR_RETURN(MessagePtr ours, Text(*subject, subject->ours));
    Status status = co_await verbs.Create(subject->client, ours);
    const std::string patch = StatusPatch(*subject, "status");
    if (status.ok() && !patch.empty()) {
      status = co_await verbs.Patch(subject->client, subject->ours, kube::PatchType::kMerge, patch,
                                    "status");
    }
    if (!status.ok()) Fail(*subject, "creation", status);
    CSI_CO_ASSIGN_OR_RETURN(MessagePtr theirs, Text(*subject, subject->theirs));
    JsonDocument text;
    text.CopyFrom(*subject->kind->Text("object"), text.GetAllocator());
    const JsonDocument head = DocumentOf(*subject, *theirs);
    for (const char* key : {"apiVersion", "kind", "metadata"}) {
      apiserver::Set(text, key, apiserver::Copy(*apiserver::Find(head, key), text.GetAllocator()),
                     text.GetAllocator());
    }
    twins.push_back(apiserver::Dump(text));
  }
  CSI_CO_RETURN_IF_ERROR((co_await deps_.kubectl.Run({"create"}, ListOf(twins))).status());
  for (const auto& subject : subjects_) {
    CSI_CO_RETURN_IF_ERROR(co_await KubectlPatch({subject.get()}, Twin::kTheirs, "merge",
                                                 StatusPatch(*subject, "status"), "status"));
  }
  co_return Status();
}

Task<Status> KindsCheck::CompareTwinObjects() {
  CSI_CO_RETURN_IF_ERROR(co_await Fetch(Twin::kTheirs));
  std::map<std::string, JsonDocument> theirs = std::move(stored_);
  CSI_CO_RETURN_IF_ERROR(co_await Fetch(Twin::kOurs));
  stored_.merge(theirs);
  for (const auto& subject : subjects_) {
    const JsonDocument* ours = Stored(*subject, Twin::kOurs);
    const JsonDocument* twin = Stored(*subject, Twin::kTheirs);
    if (ours == nullptr || twin == nullptr) {
      Compared(*subject, "creation", "one of the two objects is not there");
      continue;
    }
    Compared(*subject, "ours is not as kubectl's",
             CompareTwins(*ours, subject->ours.name, *twin, subject->theirs.name));
    // Else two objects without the field would be equal, too.
    Compared(*subject, "what was written is not what is stored",
             CompareContained(*subject->kind->Text("object"), *ours));
    if (subject->kind->has_status) {
      Compared(*subject, "the status that was written is not what is stored",
               CompareContained(*subject->kind->Text("status"), *apiserver::Find(*ours, "status")));
    }
  }
  co_return Status();
}

void KindsCheck::CompareOneRead(const Subject& subject, std::string_view how,
                                const MessagePtr& read) {
  const JsonDocument* stored = Stored(subject, Twin::kOurs);
  if (stored == nullptr || read == nullptr) {
    Compared(subject, how, "the object is not there");
    return;
  }
  Compared(subject, how, CompareRead(DocumentOf(subject, *read), *stored));
}

Task<Status> KindsCheck::Read() {
  for (const auto& subject : subjects_) {
    const Verbs& verbs = *subject->kind->verbs;
    auto got = co_await verbs.Get(subject->client, subject->ours);
    if (!got.ok()) {
      Fail(*subject, "get", got.status());
      continue;
    }
    subject->seen = *got;
    CompareOneRead(*subject, "get", *got);
    auto listed = co_await verbs.List(subject->client,
                                      {.ns = subject->ours.ns,
                                       .field_selector = "metadata.name=" + subject->ours.name,
                                       .limit = 500});
    if (!listed.ok()) {
      Fail(*subject, "list", listed.status());
    } else if (listed->size() != 1) {
      Compared(*subject, "list", StrCat(listed->size(), " objects"));
    } else {
      CompareOneRead(*subject, "list", listed->front());
    }
  }
  co_return Status();
}

Task<Status> KindsCheck::LetOthersWrite() {
  CSI_CO_RETURN_IF_ERROR(
      co_await KubectlPatch(Choose(All), Twin::kOurs, "json", kOthersMetadata, ""));
  CSI_CO_RETURN_IF_ERROR(
      co_await KubectlPatch(Choose(IsCustom), Twin::kOurs, "merge", kOthersUnknownFields, ""));
  CSI_CO_RETURN_IF_ERROR(co_await KubectlPatch(Choose(IsCustomWithStatus), Twin::kOurs, "merge",
                                               kOthersUnknownStatus, "status"));
  for (const auto& subject : subjects_) {
    CSI_CO_RETURN_IF_ERROR(co_await KubectlPatch({subject.get()}, Twin::kOurs,
                                                 subject->kind->custom ? "merge" : "strategic",
                                                 StatusPatch(*subject, "othersStatus"), "status"));
  }
  co_return co_await Fetch(Twin::kOurs);
}

Task<Status> KindsCheck::Change() {
  for (const Step& step : Steps()) {
    const Chosen chosen = Choose(step.applies);
    if (chosen.empty()) co_return UnknownError(StrCat(step.name, ": applies to nothing"));
    std::map<const Subject*, JsonDocument> expected;
    for (Subject* subject : chosen) {
      const JsonDocument* before = Stored(*subject, Twin::kOurs);
      if (before == nullptr || subject->seen == nullptr) continue;
      JsonDocument& after = expected[subject];
      after.CopyFrom(*before, after.GetAllocator());
      step.edit(*subject, &after);
      const Status status = co_await step.act(subject, &step);
      if (!status.ok()) Fail(*subject, step.name, status);
    }
    CSI_CO_RETURN_IF_ERROR(co_await Fetch(Twin::kOurs));
    for (const auto& [subject, after] : expected) {
      const JsonDocument* stored = Stored(*subject, Twin::kOurs);
      Compared(*subject, step.name,
               stored == nullptr ? "the object is gone" : CompareKept(after, *stored));
    }
  }
  co_return Status();
}

Task<Status> KindsCheck::Started(Watched* watched) {
  scope_.Spawn(watched->Run());
  co_return co_await watched->WaitForSync();
}

// Whether its cache has that version, or nothing when the version is empty.
Task<bool> KindsCheck::CaughtUp(const Watched* watched, std::string version) {
  const MonotonicTime deadline = deps_.loop.Now() + std::chrono::seconds(20);
  for (;;) {
    const MessagePtr cached = watched->Cached();
    if (cached == nullptr ? version.empty() : MetadataOf(*cached).resourceversion() == version) {
      co_return true;
    }
    if (deps_.loop.Now() > deadline) co_return false;
    if (!(co_await async::Sleep(std::chrono::milliseconds(20))).ok()) co_return false;
  }
}

Task<Status> KindsCheck::Watch() {
  for (const auto& subject : subjects_) {
    const Verbs& verbs = *subject->kind->verbs;
    subject->late = verbs.Watch(deps_.loop, deps_.random, *subject->client, subject->ours);
    CSI_CO_RETURN_IF_ERROR(co_await Started(subject->late.get()));
    const JsonDocument* stored = Stored(*subject, Twin::kOurs);
    if (stored == nullptr) continue;
    const std::string version(apiserver::TextAt(*stored, "metadata", "resourceVersion"));
    for (Watched* watched : {subject->live.get(), subject->late.get()}) {
      const bool live = watched == subject->live.get();
      if (!co_await CaughtUp(watched, version)) {
        Compared(*subject, live ? "watch" : "list and watch", "the last version does not come");
        continue;
      }
      // Fields of others that our messages do not have: a cache has what is declared.
      MessagePtr declared = verbs.New();
      CSI_CO_RETURN_IF_ERROR(apis::FromJson(*stored, declared.get()));
      Compared(
          *subject, live ? "watch" : "list and watch",
          CompareRead(DocumentOf(*subject, *watched->Cached()), DocumentOf(*subject, *declared)));
      Compared(*subject, live ? "events of the watch" : "events of list and watch",
               watched->added == 1 && watched->deleted == 0 && (watched->updated > 0) == live
                   ? ""
                   : StrCat(watched->added, " additions, ", watched->updated, " updates, ",
                            watched->deleted, " deletions"));
    }
  }
  co_return Status();
}

// Ok when the object is marked as deleted, by the one of these calls that may do it.
Task<Status> KindsCheck::CheckPreconditions(Subject* subject) {
  const Verbs& verbs = *subject->kind->verbs;
  CSI_CO_ASSIGN_OR_RETURN(MessagePtr fresh, co_await verbs.Get(subject->client, subject->ours));
  const std::string uid = MetadataOf(*fresh).uid();
  const std::string version = MetadataOf(*fresh).resourceversion();
  const std::string old_version = MetadataOf(*subject->seen).resourceversion();
  const kube::DeleteOptions refused[] = {{.uid = "6f2a1d6e-0000-4c1f-9b0a-4d7f1f0a2b11"},
                                         {.uid = uid, .resource_version = old_version}};
  for (kube::DeleteOptions options : refused) {
    const Status status = co_await verbs.Delete(subject->client, subject->ours, options);
    if (!kube::IsConflict(status)) {
      co_return UnknownError(StrCat("a wrong precondition is answered by: ", status.ToString()));
    }
  }
  co_return co_await verbs.Delete(
      subject->client, subject->ours,
      {.uid = uid, .resource_version = version, .grace_period_seconds = 0});
}

Task<Status> KindsCheck::TakeFinalizersAway(Subject* subject) {
  const Verbs& verbs = *subject->kind->verbs;
  CSI_CO_ASSIGN_OR_RETURN(MessagePtr fresh, co_await verbs.Get(subject->client, subject->ours));
  while (!MetadataOf(*fresh).finalizers().empty()) {
    meta::ObjectMeta* metadata = MetadataOf(fresh.get());
    CSI_CO_ASSIGN_OR_RETURN(std::string body,
                            attacher::RemoveVolumeFinalizer(*metadata, metadata->finalizers(0)));
    CSI_CO_RETURN_IF_ERROR(co_await verbs.Patch(subject->client, subject->ours,
                                                kube::PatchType::kJson, std::move(body), ""));
    metadata->mutable_finalizers()->DeleteSubrange(0, 1);
  }
  co_return Status();
}

Task<Status> KindsCheck::Delete() {
  const Chosen all = Choose(All);
  for (Subject* subject : all) {
    const JsonDocument* stored = Stored(*subject, Twin::kOurs);
    if (stored == nullptr || subject->seen == nullptr) continue;
    const Status status = co_await CheckPreconditions(subject);
    if (!status.ok()) Fail(*subject, "deletion", status);
  }
  CSI_CO_RETURN_IF_ERROR(co_await Fetch(Twin::kOurs));
  for (Subject* subject : all) {
    const JsonDocument* stored = Stored(*subject, Twin::kOurs);
    Compared(*subject, "deletion with finalizers",
             stored == nullptr ? "the object is gone"
             : apiserver::Find(*stored, "metadata", "deletionTimestamp") == nullptr
                 ? "the object is not marked"
                 : "");
    const Status status = co_await TakeFinalizersAway(subject);
    if (!status.ok()) Fail(*subject, "removal of the last finalizer", status);
  }
  CSI_CO_RETURN_IF_ERROR(co_await FinishNamespaces());
  CSI_CO_RETURN_IF_ERROR(co_await Fetch(Twin::kOurs));
  for (Subject* subject : all) {
    Compared(*subject, "deletion",
             Stored(*subject, Twin::kOurs) == nullptr ? "" : "the object is still there");
    for (Watched* watched : {subject->live.get(), subject->late.get()}) {
      if (watched == nullptr) continue;
      const bool gone = co_await CaughtUp(watched, "");
      Compared(*subject, "watch of the deletion",
               gone && watched->deleted == 1
                   ? ""
                   : StrCat(watched->deleted, " deletions", gone ? "" : ", still in the cache"));
    }
  }
  co_return Status();
}

// The work of the controller that empties namespaces.
Task<Status> KindsCheck::FinishNamespaces() {
  for (const auto& subject : subjects_) {
    if (subject->kind->resource->kind != "Namespace") continue;
    CSI_CO_RETURN_IF_ERROR(
        (co_await deps_.kubectl.Run(
             {"replace", StrCat("--raw=/api/v1/namespaces/", subject->ours.name, "/finalize")},
             subject->Reference(subject->ours)))
            .status());
  }
  co_return Status();
}

Task<Status> KindsCheck::Fetch(Twin twin) {
  std::vector<std::string> references;
  for (const auto& subject : subjects_) {
    references.push_back(subject->Reference(twin == Twin::kOurs ? subject->ours : subject->theirs));
  }
  CSI_CO_ASSIGN_OR_RETURN(
      const std::string text,
      co_await deps_.kubectl.Run(
          {"get", "--output=json", "--show-managed-fields", "--ignore-not-found"},
          ListOf(references)));
  stored_.clear();
  if (TrimSpace(text).empty()) co_return Status();
  CSI_CO_ASSIGN_OR_RETURN(JsonDocument answer, apiserver::ParseJson(text));
  const apiserver::Json* items = apiserver::Find(answer, "items");
  if (items == nullptr) co_return UnknownError("kubectl get prints no list");
  for (const apiserver::Json& item : items->GetArray()) {
    for (const auto& subject : subjects_) {
      const kube::ObjectName& name = twin == Twin::kOurs ? subject->ours : subject->theirs;
      if (apiserver::TextAt(item, "kind") != subject->kind->resource->kind ||
          apiserver::TextAt(item, "apiVersion") != subject->kind->resource->ApiVersion() ||
          apiserver::TextAt(item, "metadata", "name") != name.name) {
        continue;
      }
      JsonDocument& stored = stored_[subject->Reference(name)];
      stored.CopyFrom(item, stored.GetAllocator());
    }
  }
  co_return Status();
}

const JsonDocument* KindsCheck::Stored(const Subject& subject, Twin twin) const {
  const auto found =
      stored_.find(subject.Reference(twin == Twin::kOurs ? subject.ours : subject.theirs));
  return found == stored_.end() ? nullptr : &found->second;
}

Task<Status> KindsCheck::KubectlPatch(Chosen subjects, Twin twin, std::string type,
                                      std::string body, std::string subresource) {
  if (body.empty()) co_return Status();
  std::vector<std::string> references;
  for (const Subject* subject : subjects) {
    references.push_back(subject->Reference(twin == Twin::kOurs ? subject->ours : subject->theirs));
  }
  std::vector<std::string> arguments = {"patch", "--type=" + type, "--patch=" + body};
  if (!subresource.empty()) arguments.push_back("--subresource=" + subresource);
  co_return (co_await deps_.kubectl.Run(std::move(arguments), ListOf(references))).status();
}

KindsCheck::Chosen KindsCheck::Choose(bool (*condition)(const Subject&)) {
  Chosen chosen;
  for (const auto& subject : subjects_) {
    if (condition(*subject)) chosen.push_back(subject.get());
  }
  return chosen;
}

void KindsCheck::Compared(const Subject& subject, std::string_view what,
                          const std::string& difference) {
  ++comparisons_;
  if (difference.empty()) return;
  failures_.push_back(StrCat(subject.Title(), ": ", what, "\n    ", difference));
}

void KindsCheck::Fail(const Subject& subject, std::string_view what, const Status& status) {
  failures_.push_back(StrCat(subject.Title(), ": ", what, "\n    ", status.ToString()));
}

}  // namespace csinative::kinds
