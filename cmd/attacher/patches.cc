// SPDX-License-Identifier: Apache-2.0
#include "cmd/attacher/patches.h"

#include <algorithm>
#include <vector>

#include "apis/core/v1/maps.h"
#include "apis/core/v1/well_known.h"
#include "apis/meta/v1/finalizers.h"
#include "apis/meta/v1/time.h"
#include "lib/base/json_string.h"
#include "lib/base/strings.h"
#include "lib/kube/leader_election.h"

namespace csinative::attacher {
namespace {

// kube-apiserver, validation of VolumeError.message.
constexpr size_t kMaxMessageBytes = 1024;

std::string Json(std::string_view text) { return JsonString(text, JsonEscaping::kHtml); }

std::string JsonList(const std::vector<std::string>& items) {
  std::vector<std::string> quoted;
  quoted.reserve(items.size());
  for (const std::string& item : items) quoted.push_back(Json(item));
  return StrCat("[", Join(quoted, ","), "]");
}

// {"<member>":{…}} around the members, or "{}".
std::string In(std::string_view member, const std::vector<std::string>& members) {
  if (members.empty()) return "{}";
  return StrCat("{\"", member, "\":{", Join(members, ","), "}}");
}

// Members of metadata that replace the finalizers of exactly this version of the object.
void AddFinalizers(const meta::ObjectMeta& old, const std::vector<std::string>& finalizers,
                   std::vector<std::string>* members) {
  members->push_back(
      StrCat(R"("finalizers":)", finalizers.empty() ? "null" : JsonList(finalizers)));
  if (old.resourceversion().empty()) return;
  members->push_back(StrCat(R"("resourceVersion":)", Json(old.resourceversion())));
}

// The member attachmentMetadata, empty when nothing differs.
std::string ContextDifference(const apis::Entries<apis::StringEntry>& old_context,
                              const PublishContext& new_context) {
  if (new_context.empty()) return old_context.empty() ? "" : R"("attachmentMetadata":null)";
  std::map<std::string, std::string> changes;  // key to JSON value
  for (const auto& [key, value] : new_context) {
    const std::string* old_value = apis::GetEntry(old_context, key);
    if (old_value == nullptr || *old_value != value) changes[key] = Json(value);
  }
  for (const apis::StringEntry& entry : old_context) {
    if (!new_context.contains(entry.key())) changes[entry.key()] = "null";
  }
  if (changes.empty()) return "";
  std::vector<std::string> members;
  for (const auto& [key, value] : changes) members.push_back(StrCat(Json(key), ":", value));
  return StrCat(R"("attachmentMetadata":{)", Join(members, ","), "}");
}

std::string_view CutMessage(std::string_view message) {
  if (message.size() <= kMaxMessageBytes) return message;
  size_t end = kMaxMessageBytes;
  while (end > 0 && (static_cast<unsigned char>(message[end]) & 0xc0) == 0x80) --end;
  return message.substr(0, end);
}

}  // namespace

std::string FinalizerOf(std::string_view driver) {
  return StrCat(apis::kFinalizerAttacherPrefix, kube::SanitizeLeaseName(driver));
}

std::string AddVolumeFinalizer(const meta::ObjectMeta& volume, std::string_view finalizer) {
  // A test for null succeeds only while the member is missing. A list that is not empty can take
  // one more whatever it holds by now.
  if (!volume.finalizers().empty()) {
    return StrCat(R"([{"op":"add","path":"/metadata/finalizers/-","value":)", Json(finalizer),
                  "}]");
  }
  return StrCat(R"([{"op":"test","path":"/metadata/finalizers","value":null},)",
                R"({"op":"add","path":"/metadata/finalizers","value":[)", Json(finalizer), "]}]");
}

Result<std::string> RemoveVolumeFinalizer(const meta::ObjectMeta& volume,
                                          std::string_view finalizer) {
  const auto& all = volume.finalizers();
  const auto found = std::find(all.begin(), all.end(), finalizer);
  if (found == all.end()) {
    return NotFoundError(StrCat("finalizer ", finalizer, " is not on the volume"));
  }
  const std::string path = StrCat("\"/metadata/finalizers/", found - all.begin(), "\"");
  return StrCat(R"([{"op":"test","path":)", path, R"(,"value":)", Json(finalizer),
                R"(},{"op":"remove","path":)", path, "}]");
}

std::optional<std::string> PrepareAttachment(const meta::ObjectMeta& attachment,
                                             std::string_view finalizer, std::string_view node_id) {
  std::vector<std::string> members;
  const std::string* recorded = apis::GetEntry(attachment.annotations(), apis::kAnnNodeId);
  if (recorded == nullptr || *recorded != node_id) {
    members.push_back(
        StrCat(R"("annotations":{)", Json(apis::kAnnNodeId), ":", Json(node_id), "}"));
  }
  if (!apis::HasFinalizer(attachment, finalizer)) {
    std::vector<std::string> all(attachment.finalizers().begin(), attachment.finalizers().end());
    all.emplace_back(finalizer);
    AddFinalizers(attachment, all, &members);
  }
  if (members.empty()) return std::nullopt;
  return In("metadata", members);
}

std::string RemoveAttachmentFinalizer(const meta::ObjectMeta& attachment,
                                      std::string_view finalizer) {
  std::vector<std::string> others;
  for (const std::string& other : attachment.finalizers()) {
    if (other != finalizer) others.push_back(other);
  }
  std::vector<std::string> members;
  AddFinalizers(attachment, others, &members);
  return In("metadata", members);
}

std::string MarkAttached(const storage::VolumeAttachmentStatus& status,
                         const PublishContext& publish_context) {
  std::vector<std::string> members;
  if (status.has_attacherror()) members.emplace_back(R"("attachError":null)");
  if (!status.attached()) members.emplace_back(R"("attached":true)");
  std::string context = ContextDifference(status.attachmentmetadata(), publish_context);
  if (!context.empty()) members.push_back(std::move(context));
  return In("status", members);
}

std::string MarkDetached(const storage::VolumeAttachmentStatus& status) {
  std::vector<std::string> members;
  if (status.attached()) members.emplace_back(R"("attached":false)");
  if (!status.attachmentmetadata().empty()) members.emplace_back(R"("attachmentMetadata":null)");
  if (status.has_detacherror()) members.emplace_back(R"("detachError":null)");
  return In("status", members);
}

std::string SaveError(const storage::VolumeAttachmentStatus& status, const OperationError& error) {
  const bool attach = error.kind == OperationError::Kind::kAttach;
  const storage::VolumeError& old = attach ? status.attacherror() : status.detacherror();
  std::vector<std::string> members;
  if (error.code && (!old.has_errorcode() || old.errorcode() != *error.code)) {
    members.push_back(StrCat(R"("errorCode":)", *error.code));
  } else if (!error.code && old.has_errorcode()) {
    members.emplace_back(R"("errorCode":null)");
  }
  const std::string_view message = CutMessage(error.message);
  if (old.message() != message) {
    members.push_back(
        StrCat(R"("message":)", message.empty() ? std::string("null") : Json(message)));
  }
  const meta::Time time = apis::MakeTime(error.time);
  if (!apis::SameTime(old.time(), time)) {
    members.push_back(StrCat(R"("time":)", Json(apis::FormatTime(time))));
  }
  std::vector<std::string> all;
  if (!members.empty()) {
    all.push_back(
        StrCat(attach ? R"("attachError":{)" : R"("detachError":{)", Join(members, ","), "}"));
  }
  if (error.no_longer_attached && status.attached()) all.emplace_back(R"("attached":false)");
  return In("status", all);
}

}  // namespace csinative::attacher
