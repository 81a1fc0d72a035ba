// SPDX-License-Identifier: Apache-2.0
#include "cmd/volumemanager/node_info.h"

#include <rapidjson/document.h>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "apis/core/v1/maps.h"
#include "apis/core/v1/node.pb.h"
#include "apis/core/v1/well_known.h"
#include "apis/json/parse.h"
#include "apis/namespaces.h"
#include "apis/storage/v1/storage.pb.h"
#include "lib/async/sleep.h"
#include "lib/async/timeout.h"
#include "lib/base/json_string.h"
#include "lib/base/strings.h"
#include "lib/kube/errors.h"

namespace csinative::volumemanager {
namespace {

using Json = rapidjson::Value;
using Allocator = rapidjson::Document::AllocatorType;

// In-tree plugins that Kubernetes 1.36 always leaves to CSI drivers (volumemanager-csi 15.2).
constexpr char kMigratedPlugins[] =
    "kubernetes.io/aws-ebs,kubernetes.io/azure-disk,kubernetes.io/azure-file,kubernetes.io/cinder,"
    "kubernetes.io/gce-pd,kubernetes.io/portworx-volume,kubernetes.io/vsphere-volume";

// How often it is looked whether the CSINode is there, and when a failed attempt to make it again
// is repeated; and up to half as much more.
constexpr Duration kLookAgainAfter = std::chrono::minutes(1);
constexpr Duration kRestoreAgainAfter = std::chrono::seconds(10);

// Waits between the four attempts of a write (volumemanager-csi 1).
constexpr Duration kRetryWaits[] = {std::chrono::milliseconds(10), std::chrono::milliseconds(50),
                                    std::chrono::milliseconds(250)};

Json Text(std::string_view text, Allocator& allocator) {
  return Json(text.data(), static_cast<rapidjson::SizeType>(text.size()), allocator);
}

Json& Member(Json& object, const char* name, rapidjson::Type type, Allocator& allocator) {
  const auto found = object.FindMember(name);
  if (found != object.MemberEnd()) {
    if (found->value.GetType() != type) found->value = Json(type);
    return found->value;
  }
  object.AddMember(Json(name, allocator), Json(type), allocator);
  return object[name];
}

std::string StringAt(const Json& object, const char* name) {
  const auto found = object.FindMember(name);
  if (found == object.MemberEnd() || !found->value.IsString()) return "";
  return std::string(apis::JsonString(found->value));
}

std::set<std::string> ToSet(std::string_view text) {
  std::set<std::string> out;
  for (std::string_view part : Split(text, ',')) {
    if (!part.empty()) out.emplace(part);
  }
  return out;
}

// True if the document changed.
bool SetMigratedPlugins(rapidjson::Document* document) {
  Allocator& allocator = document->GetAllocator();
  Json& metadata = Member(*document, "metadata", rapidjson::kObjectType, allocator);
  Json& annotations = Member(metadata, "annotations", rapidjson::kObjectType, allocator);
  const std::string key(apis::kAnnMigratedPlugins);
  const auto found = annotations.FindMember(key.c_str());
  if (found == annotations.MemberEnd()) {
    annotations.AddMember(Text(key, allocator), Text(kMigratedPlugins, allocator), allocator);
    return true;
  }
  if (found->value.IsString() && ToSet(apis::JsonString(found->value)) == ToSet(kMigratedPlugins)) {
    return false;
  }
  found->value = Text(kMigratedPlugins, allocator);
  return true;
}

bool IsOwnedBy(const rapidjson::Document& document, const std::string& node,
               const std::string& uid) {
  const auto metadata = document.FindMember("metadata");
  if (metadata == document.MemberEnd() || !metadata->value.IsObject()) return false;
  const auto owners = metadata->value.FindMember("ownerReferences");
  if (owners == metadata->value.MemberEnd() || !owners->value.IsArray()) return false;
  for (const Json& owner : owners->value.GetArray()) {
    if (owner.IsObject() && StringAt(owner, "kind") == "Node" && StringAt(owner, "name") == node &&
        StringAt(owner, "uid") == uid) {
      return true;
    }
  }
  return false;
}

std::string UidOf(const rapidjson::Document& document) {
  const auto metadata = document.FindMember("metadata");
  if (metadata == document.MemberEnd() || !metadata->value.IsObject()) return "";
  return StringAt(metadata->value, "uid");
}

Json& DriversOf(rapidjson::Document* document) {
  Allocator& allocator = document->GetAllocator();
  Json& spec = Member(*document, "spec", rapidjson::kObjectType, allocator);
  return Member(spec, "drivers", rapidjson::kArrayType, allocator);
}

Json::ValueIterator FindDriver(Json& drivers, const std::string& name) {
  return std::find_if(drivers.Begin(), drivers.End(), [&](const Json& entry) {
    return entry.IsObject() && StringAt(entry, "name") == name;
  });
}

bool SameEntry(const Json& entry, const DriverNodeInfo& info) {
  if (StringAt(entry, "nodeID") != info.node_id) return false;
  std::set<std::string> keys;
  const auto listed = entry.FindMember("topologyKeys");
  if (listed != entry.MemberEnd() && listed->value.IsArray()) {
    for (const Json& key : listed->value.GetArray()) {
      if (key.IsString()) keys.emplace(apis::JsonString(key));
    }
  }
  std::set<std::string> wanted;
  for (const auto& [key, value] : info.topology) wanted.insert(key);
  if (keys != wanted) return false;
  int64_t count = 0;
  const auto allocatable = entry.FindMember("allocatable");
  if (allocatable != entry.MemberEnd() && allocatable->value.IsObject()) {
    const auto value = allocatable->value.FindMember("count");
    if (value != allocatable->value.MemberEnd() && value->value.IsInt64()) {
      count = value->value.GetInt64();
    }
  }
  return count == std::max<int64_t>(info.max_volumes, 0);
}

Json NewEntry(const std::string& name, const DriverNodeInfo& info, Allocator& allocator) {
  Json entry(rapidjson::kObjectType);
  entry.AddMember("name", Text(name, allocator), allocator);
  entry.AddMember("nodeID", Text(info.node_id, allocator), allocator);
  Json keys(rapidjson::kArrayType);
  for (const auto& [key, value] : info.topology) keys.PushBack(Text(key, allocator), allocator);
  entry.AddMember("topologyKeys", keys, allocator);
  if (info.max_volumes > 0) {
    const int64_t count = std::min<int64_t>(info.max_volumes, std::numeric_limits<int32_t>::max());
    Json allocatable(rapidjson::kObjectType);
    allocatable.AddMember("count", Json(count), allocator);
    entry.AddMember("allocatable", allocatable, allocator);
  }
  return entry;
}

// The annotation's content: driver to node id.
Result<std::map<std::string, std::string>> ParseNodeIds(const std::string& text) {
  std::map<std::string, std::string> ids;
  if (text.empty()) return ids;
  rapidjson::Document document;
  CSI_RETURN_IF_ERROR(apis::ParseJson(text, &document));
  if (!document.IsObject()) return InvalidArgumentError("not an object");
  for (const auto& member : document.GetObject()) {
    if (!member.value.IsString()) return InvalidArgumentError("a value is no string");
    ids[std::string(apis::JsonString(member.name))] = std::string(apis::JsonString(member.value));
  }
  return ids;
}

std::string FormatMap(const std::map<std::string, std::string>& map) {
  std::vector<std::string> parts;
  for (const auto& [key, value] : map) {
    parts.push_back(
        StrCat(JsonString(key, JsonEscaping::kHtml), ":", JsonString(value, JsonEscaping::kHtml)));
  }
  return StrCat("{", Join(parts, ","), "}");
}

Result<std::map<std::string, std::string>> NodeIdsOf(const core::Node& node) {
  auto ids = ParseNodeIds(
      std::string(apis::GetEntryOr(node.metadata().annotations(), apis::kAnnCsiNodeIds)));
  if (!ids.ok()) {
    return ids.status().WithContext(
        StrCat("failed to parse annotation ", apis::kAnnCsiNodeIds, " of the node"));
  }
  return ids;
}

std::string AnnotationPatch(std::string_view key, const std::string& json_value) {
  return StrCat(R"({"metadata":{"annotations":{)", JsonString(key), ":", json_value, "}}}");
}

}  // namespace

async::Task<Status> NodeInfo::Retry(const char* what,
                                    std::function<async::Task<Status>()> attempt) {
  CSI_CO_RETURN_IF_ERROR(co_await initialized_.Wait());
  std::vector<std::string> failures;
  for (size_t i = 0;; ++i) {
    CSI_CO_RETURN_IF_ERROR(co_await one_at_a_time_.Acquire());
    Status done = co_await attempt();
    one_at_a_time_.Release();
    if (done.ok()) co_return done;
    failures.push_back(done.message());
    if (i == std::size(kRetryWaits)) {
      co_return done.WithMessage(StrCat("error updating ", what,
                                        ": timed out waiting for the condition; caused by: [",
                                        Join(failures, ", "), "]"));
    }
    const double jitter = 1.0 + 0.1 * random_.Unit();
    CSI_CO_RETURN_IF_ERROR(
        co_await async::Sleep(std::chrono::duration_cast<Duration>(kRetryWaits[i] * jitter)));
  }
}

async::Task<Status> NodeInfo::PatchNode(std::string body) {
  auto patched = co_await client_.Patch<core::Node>({"", node_}, kube::PatchType::kStrategic,
                                                    std::move(body), "status");
  co_return patched.status();
}

// --- start ---------------------------------------------------------------------------------------

async::Task<Status> NodeInfo::Initialize() {
  Duration wait = std::chrono::milliseconds(30);
  for (;;) {
    Status done = co_await InitializeOnce();
    if (done.ok()) break;
    CSI_CO_RETURN_IF_ERROR(co_await async::CancellationStatus());
    log_.Error(done, "Failed to initialize CSINode, trying again", "node", node_, "after", wait);
    CSI_CO_RETURN_IF_ERROR(co_await async::Sleep(wait));
    wait = std::min<Duration>(wait * 2, std::chrono::seconds(10));
  }
  initialized_.Set();
  co_return Status();
}

async::Task<Status> NodeInfo::InitializeOnce() {
  auto node = co_await client_.Get<core::Node>({"", node_});
  if (!node.ok()) co_return node.status();
  node_uid_ = node->metadata().uid();
  if (apis::GetEntryOr(node->metadata().annotations(), apis::kAnnControllerManagedAttach) !=
      "true") {
    CSI_CO_RETURN_IF_ERROR(
        co_await PatchNode(AnnotationPatch(apis::kAnnControllerManagedAttach, "\"true\"")));
  }
  const kube::ResourceInfo* resource = &kube::ResourceOf<storage::CSINode>();
  auto stored = co_await client_.GetDocument(resource, {"", node_});
  if (kube::IsNotFound(stored.status())) co_return co_await CreateCsiNode();
  if (!stored.ok()) co_return stored.status();
  if (!IsOwnedBy(**stored, node_, node_uid_)) {
    CSI_CO_RETURN_IF_ERROR(co_await DeleteCsiNode(UidOf(**stored)));
    co_return co_await CreateCsiNode();
  }
  if (!SetMigratedPlugins(stored->get())) co_return Status();
  co_return (co_await client_.ReplaceDocument(resource, {"", node_}, *stored)).status();
}

async::Task<Status> NodeInfo::CreateCsiNode() {
  storage::CSINode object;
  object.mutable_metadata()->set_name(node_);
  apis::SetEntry(object.mutable_metadata()->mutable_annotations(), apis::kAnnMigratedPlugins,
                 std::string(kMigratedPlugins));
  auto* owner = object.mutable_metadata()->add_ownerreferences();
  owner->set_apiversion("v1");
  owner->set_kind("Node");
  owner->set_name(node_);
  owner->set_uid(node_uid_);
  object.mutable_spec();
  co_return (co_await client_.Create<storage::CSINode>(std::move(object))).status();
}

async::Task<Status> NodeInfo::DeleteCsiNode(std::string uid) {
  // Differs: upstream deletes without precondition.
  kube::DeleteOptions options;
  options.uid = std::move(uid);
  Status deleted = co_await client_.Delete<storage::CSINode>({"", node_}, std::move(options));
  co_return kube::IsNotFound(deleted) ? Status() : deleted;
}

// --- what is deleted meanwhile -------------------------------------------------------------------

async::Task<void> NodeInfo::Run() {
  Status done = co_await Initialize();
  for (;;) {
    const Duration wait = done.ok() ? kLookAgainAfter : kRestoreAgainAfter;
    (void)co_await async::WithTimeout(
        std::chrono::duration_cast<Duration>(wait * (1.0 + 0.5 * random_.Unit())), look_.Wait());
    if (!(co_await async::CancellationStatus()).ok()) co_return;
    look_.Reset();
    if (!(co_await one_at_a_time_.Acquire()).ok()) co_return;
    done = co_await Restore();
    one_at_a_time_.Release();
    if (!done.ok() && !IsCancelled(done)) {
      log_.Error(done, "Failed to restore CSINode, trying again", "node", node_);
    }
  }
}

void NodeInfo::OnNode(const std::string& uid) {
  if (uid == std::exchange(seen_uid_, uid) || node_uid_.empty() || uid == node_uid_) return;
  LookSoon();
}

void NodeInfo::LookSoon() {
  complete_ = false;
  look_.Set();
}

// Annotations and labels of the Node are only lost together with the Node.
async::Task<Result<bool>> NodeInfo::IsComplete() {
  if (!complete_) co_return false;
  auto stored = co_await client_.GetDocument(&kube::ResourceOf<storage::CSINode>(), {"", node_});
  if (kube::IsNotFound(stored.status())) co_return false;
  if (!stored.ok()) co_return stored.status();
  if (!IsOwnedBy(**stored, node_, node_uid_)) co_return false;
  Json& drivers = DriversOf(stored->get());
  co_return std::all_of(installed_.begin(), installed_.end(), [&](const auto& driver) {
    return FindDriver(drivers, driver.first) != drivers.End();
  });
}

async::Task<Status> NodeInfo::Restore() {
  CSI_CO_ASSIGN_OR_RETURN(const bool complete, co_await IsComplete());
  if (complete) co_return Status();
  log_.Info("CSINode is not as it was left, making it again", "node", node_);
  CSI_CO_RETURN_IF_ERROR(co_await InitializeOnce());
  Status first;
  complete_ = true;
  const auto drivers = installed_;
  for (const auto& [driver, info] : drivers) {
    if (!installed_.contains(driver)) continue;  // gone meanwhile
    Status written = co_await AnnotateNode(driver, info);
    if (written.ok()) written = co_await WriteCsiNode(driver, info);
    if (first.ok()) first = written;
  }
  if (!first.ok()) complete_ = false;
  co_return first;
}

// --- install -------------------------------------------------------------------------------------

async::Task<Status> NodeInfo::Install(std::string driver, DriverNodeInfo info) {
  if (info.node_id.empty()) {
    co_return InvalidArgumentError(
        "error adding CSI driver node info: driverNodeID must not be empty");
  }
  co_return co_await Retry("node", [this, driver, info] { return InstallOnce(driver, info); });
}

async::Task<Status> NodeInfo::InstallOnce(std::string driver, DriverNodeInfo info) {
  CSI_CO_RETURN_IF_ERROR(co_await AnnotateNode(driver, info));
  CSI_CO_RETURN_IF_ERROR(co_await WriteCsiNode(driver, info));
  installed_[driver] = std::move(info);
  co_return Status();
}

async::Task<Status> NodeInfo::AnnotateNode(std::string driver, DriverNodeInfo info) {
  auto node = co_await client_.Get<core::Node>({"", node_});
  if (!node.ok()) co_return node.status();
  if (std::exchange(node_uid_, node->metadata().uid()) != node->metadata().uid()) LookSoon();
  CSI_CO_ASSIGN_OR_RETURN(auto ids, NodeIdsOf(*node));
  std::map<std::string, std::string> labels;
  for (const auto& [key, value] : info.topology) {
    const std::string* existing = apis::GetEntry(node->metadata().labels(), key);
    if (existing == nullptr) {
      labels[key] = value;
    } else if (*existing != value) {
      co_return FailedPreconditionError(
          StrCat("detected topology value collision: driver reported \"", key, "\":\"", value,
                 "\" but existing label is \"", key, "\":\"", *existing, "\""));
    }
  }
  std::vector<std::string> members;
  const auto found = ids.find(driver);
  if (found == ids.end() || found->second != info.node_id) {
    ids[driver] = info.node_id;
    members.push_back(StrCat(R"("annotations":{)", JsonString(apis::kAnnCsiNodeIds), ":",
                             JsonString(FormatMap(ids)), "}"));
  }
  if (!labels.empty()) members.push_back(StrCat(R"("labels":)", FormatMap(labels)));
  // Differs: with topology upstream patches even if there is nothing to change.
  if (members.empty()) co_return Status();
  co_return co_await PatchNode(StrCat(R"({"metadata":{)", Join(members, ","), "}}"));
}

async::Task<Status> NodeInfo::WriteCsiNode(std::string driver, DriverNodeInfo info) {
  const kube::ResourceInfo* resource = &kube::ResourceOf<storage::CSINode>();
  auto stored = co_await client_.GetDocument(resource, {"", node_});
  bool missing = kube::IsNotFound(stored.status());
  if (stored.ok() && !IsOwnedBy(**stored, node_, node_uid_)) {
    CSI_CO_RETURN_IF_ERROR(co_await DeleteCsiNode(UidOf(**stored)));
    missing = true;
  }
  if (missing) {
    CSI_CO_RETURN_IF_ERROR(co_await CreateCsiNode());
    LookSoon();  // the entries of other drivers are gone
    stored = co_await client_.GetDocument(resource, {"", node_});
  }
  if (!stored.ok()) co_return stored.status();
  rapidjson::Document* document = stored->get();
  bool changed = SetMigratedPlugins(document);
  Json& drivers = DriversOf(document);
  const auto found = FindDriver(drivers, driver);
  if (found == drivers.End() || !SameEntry(*found, info)) {
    if (found != drivers.End()) drivers.Erase(found);
    drivers.PushBack(NewEntry(driver, info, document->GetAllocator()), document->GetAllocator());
    changed = true;
  }
  if (!changed) co_return Status();
  co_return (co_await client_.ReplaceDocument(resource, {"", node_}, *stored)).status();
}

// --- uninstall -----------------------------------------------------------------------------------

async::Task<Status> NodeInfo::Uninstall(std::string driver) {
  installed_.erase(driver);
  co_return co_await Retry("CSINode", [this, driver] { return UninstallOnce(driver); });
}

async::Task<Status> NodeInfo::UninstallOnce(std::string driver) {
  // Again, as an installation may have ended meanwhile.
  installed_.erase(driver);
  const kube::ResourceInfo* resource = &kube::ResourceOf<storage::CSINode>();
  auto stored = co_await client_.GetDocument(resource, {"", node_});
  if (!stored.ok() && !kube::IsNotFound(stored.status())) co_return stored.status();
  if (stored.ok()) {
    Json& drivers = DriversOf(stored->get());
    const auto found = FindDriver(drivers, driver);
    if (found != drivers.End()) {
      drivers.Erase(found);
      auto written = co_await client_.ReplaceDocument(resource, {"", node_}, *stored);
      if (!written.ok()) co_return written.status();
    }
  }
  auto node = co_await client_.Get<core::Node>({"", node_});
  if (!node.ok()) co_return node.status();
  CSI_CO_ASSIGN_OR_RETURN(auto ids, NodeIdsOf(*node));
  if (ids.erase(driver) == 0) co_return Status();
  // Topology labels stay, as upstream.
  co_return co_await PatchNode(
      AnnotationPatch(apis::kAnnCsiNodeIds, ids.empty() ? "null" : JsonString(FormatMap(ids))));
}

}  // namespace csinative::volumemanager
