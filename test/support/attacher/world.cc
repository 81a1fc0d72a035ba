// SPDX-License-Identifier: Apache-2.0
#include "test/support/attacher/world.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>

#include "lib/base/json_string.h"
#include "lib/base/strings.h"
#include "lib/log/backend.h"
#include "lib/metrics/exposition.h"
#include "test/support/unlimited_client.h"

namespace csinative::attacher {
namespace {

std::string JsonList(const std::vector<std::string>& items) {
  std::vector<std::string> quoted;
  for (const std::string& item : items) quoted.push_back(JsonString(item));
  return StrCat("[", Join(quoted, ","), "]");
}

// " name{k=v,…}", sorted; nothing when empty.
std::string MapText(const char* name, const google::protobuf::Map<std::string, std::string>& map) {
  if (map.empty()) return "";
  std::vector<std::string> entries;
  for (const auto& [key, value] : std::map<std::string, std::string>(map.begin(), map.end())) {
    entries.push_back(StrCat(key, "=", value));
  }
  return StrCat(" ", name, "{", Join(entries, ","), "}");
}

std::string CallText(const std::string& method, const google::protobuf::Message& message) {
  if (method == kPublish) {
    const auto& request = static_cast<const ::csi::v1::ControllerPublishVolumeRequest&>(message);
    return StrCat(
        "PUB ", request.volume_id(), " ", request.node_id(), request.readonly() ? " readonly" : "",
        MapText("context", request.volume_context()), MapText("secrets", request.secrets()));
  }
  if (method == kUnpublish) {
    const auto& request = static_cast<const ::csi::v1::ControllerUnpublishVolumeRequest&>(message);
    return StrCat("UNPUB ", request.volume_id(), " ", request.node_id(),
                  MapText("secrets", request.secrets()));
  }
  if (method == kListVolumes) return "LIST";
  return method;
}

// The path behind group, version and namespace.
std::string Place(std::string_view target) {
  for (std::string_view prefix :
       {"/api/v1/namespaces/default/", "/api/v1/", "/apis/storage.k8s.io/v1/"}) {
    if (target.starts_with(prefix)) return std::string(target.substr(prefix.size()));
  }
  return std::string(target);
}

bool IsCollection(const std::string& place) {
  return place.substr(0, place.find('?')).find('/') == std::string::npos;
}

}  // namespace

const VolumeSpec kGceDisk = {
    .source = R"("gcePersistentDisk":{"pdName":"testpd"})",
    .metadata = R"(,"labels":{"failure-domain.beta.kubernetes.io/zone":"testZone"},)"
                R"("annotations":{"pv.kubernetes.io/migrated-to":"test.csi.example"})",
    .modes = "ReadWriteOnce"};

AttachmentSpec AttachedBefore() {
  return {.finalizers = {kFinalizer}, .node_id = "nodeID1", .attached = true};
}

async::Task<Status> World::TracedChannel::Call(std::string method,
                                               const google::protobuf::Message& request,
                                               google::protobuf::Message* response) {
  world_.calls_.push_back({world_.api_.log().size(), CallText(method, request)});
  if (auto plain = world_.plain_.extract(method)) return plain.mapped()();
  return world_.driver_.Call(std::move(method), request, response);
}

World::World()
    : client_(testing::NewUnlimitedClient(loop_, *random_, transport_)),
      admin_(testing::NewUnlimitedClient(loop_, *random_, admin_transport_)),
      channel_(std::make_unique<TracedChannel>(*this),
               {.operations = std::make_shared<metrics::CsiOperations>(
                    registry_, metrics::CsiOperations::Options{.varying_labels = {"migrated"}})}) {
  features.name = kDriver;
  features.publish_unpublish_volume = true;
  features.publish_readonly = true;
  config.default_fs_type = "ext4";
  config.call_timeout = std::chrono::milliseconds(100);
  driver_.Answer(kPublish, ::csi::v1::ControllerPublishVolumeResponse());
  driver_.Answer(kUnpublish, ::csi::v1::ControllerUnpublishVolumeResponse());
  api_.set_fault_hook([this](const apiserver::RequestInfo& request) {
    apiserver::Fault fault;
    if (request.user != "attacher") return fault;
    if (held_ && (request.verb == "list" || request.verb == "watch")) {
      fault.code = 503;
      return fault;
    }
    if (unreadable_.contains(request.resource) &&
        (request.verb == "list" || request.verb == "watch")) {
      fault.code = 403;
      fault.reason = "Forbidden";
      return fault;
    }
    std::string place = StrCat(request.resource, "/", request.name);
    if (!request.subresource.empty()) place += StrCat("/", request.subresource);
    if (auto action = arrivals_.extract(StrCat(request.verb, " ", place))) return action.mapped()();
    if (request.verb != "patch") return fault;
    const auto found = std::find_if(refusals_.begin(), refusals_.end(),
                                    [&](const Refusal& r) { return r.place == place; });
    if (found == refusals_.end()) return fault;
    fault.code = 403;
    fault.reason = "Forbidden";
    fault.message = found->message;
    refusals_.erase(found);
    return fault;
  });
}

World::~World() {
  if (running_) Stop();
  Wait(transport_.Close());
  Wait(admin_transport_.Close());
}

void World::Start() {
  AttachController::Deps deps;
  deps.loop = &loop_;
  deps.random = random_.get();
  deps.client = client_.get();
  deps.channel = &channel_;
  deps.migrated_channel = &migrated_channel_;
  deps.registry = &registry_;
  if (log_) deps.log = log::Logger(std::make_shared<log::Backend>(log_));
  deps.features = features;
  deps.config = config;
  controller_ = std::make_unique<AttachController>(std::move(deps));
  running_ = std::make_unique<async::Scope>(loop_);
  running_->Spawn(controller_->Run());
  Settle();
}

void World::Stop() {
  Wait(running_->Close());
  running_.reset();
  controller_.reset();
}

void World::Fail(const Status& status) { ADD_FAILURE() << status.message(); }

void World::Add(const std::string& json) {
  auto created = api_.CreateObject(json);
  ASSERT_TRUE(created.ok()) << json;
}

void World::AddVolume(const VolumeSpec& spec) {
  const std::string source = spec.source.empty()
                                 ? StrCat(R"("csi":{"driver":)", JsonString(kDriver),
                                          R"(,"volumeHandle":"handle1")", spec.csi, "}")
                                 : spec.source;
  Add(StrCat(R"({"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"pv1",)",
             R"("finalizers":)", JsonList(spec.finalizers), spec.metadata,
             R"(},"spec":{"capacity":{"storage":"1Gi"},"accessModes":[)", JsonString(spec.modes),
             R"(],"persistentVolumeReclaimPolicy":"Delete",)", source, "}}"));
}

void World::AddAttachment(const AttachmentSpec& spec) {
  std::string annotations;
  if (!spec.node_id.empty()) {
    annotations = StrCat(R"(,"annotations":{"csi.alpha.kubernetes.io/node-id":)",
                         JsonString(spec.node_id), "}");
  }
  Add(StrCat(R"({"apiVersion":"storage.k8s.io/v1","kind":"VolumeAttachment","metadata":{)",
             R"("name":"va1","finalizers":)", JsonList(spec.finalizers), annotations,
             R"(},"spec":{"attacher":)", JsonString(spec.attacher),
             R"(,"nodeName":"node1","source":)", spec.source, "}}"));
  if (!spec.invalid_source.empty()) {
    const apiserver::ObjectPtr stored =
        api_.GetObject("storage.k8s.io", "volumeattachments", "", "va1");
    apiserver::JsonDocument document = apiserver::ParseDocument(*stored);
    apiserver::JsonDocument source;
    source.Parse(spec.invalid_source.c_str());
    document["spec"]["source"].CopyFrom(source, document.GetAllocator());
    const auto* info = api_.resources().FindKind("storage.k8s.io/v1", "VolumeAttachment");
    api_.store().Put(api_.store().collection(*info), document);
  }
  if (spec.attached) {
    Merge<storage::VolumeAttachment>("va1", R"({"status":{"attached":true}})", "status");
  }
}

void World::AddNode(const std::string& driver, const std::string& node_id) {
  const std::string drivers = driver.empty()
                                  ? ""
                                  : StrCat(R"({"name":)", JsonString(driver), R"(,"nodeID":)",
                                           JsonString(node_id), R"(,"topologyKeys":[]})");
  Add(StrCat(R"({"apiVersion":"storage.k8s.io/v1","kind":"CSINode","metadata":{"name":"node1"},)",
             R"("spec":{"drivers":[)", drivers, "]}}"));
}

void World::AddSecret(const std::string& name, const std::string& data) {
  Add(StrCat(R"({"apiVersion":"v1","kind":"Secret","metadata":{"namespace":"default","name":)",
             JsonString(name), R"(},"data":)", data, "}"));
}

void World::HoldCaches(bool held) {
  held_ = held;
  if (held) api_.CutWatches();
}

void World::ForbidReads(const std::string& resource, bool forbidden) {
  if (forbidden) {
    unreadable_.insert(resource);
  } else {
    unreadable_.erase(resource);
  }
}

void World::RecordLog() { log_ = std::make_shared<log::CollectingOutput>(); }

std::string World::Log() const { return Join(log_->Records(), "\n"); }

std::string World::StoredAttachment(const std::string& name) {
  const auto object = api_.GetObject("storage.k8s.io", "volumeattachments", "", name);
  return object ? object->json : "";
}

void World::RemoveLater(const std::string& attachment, Duration delay) {
  struct Body {
    static async::Task<void> Run(kube::Client* admin, std::string name, Duration delay) {
      (void)co_await async::Sleep(delay);
      (void)co_await admin->Delete<storage::VolumeAttachment>({"", std::move(name)});
    }
  };
  running_->Spawn(Body::Run(admin_.get(), attachment, delay));
}

void World::AnnotateSoon(const std::string& attachment) {
  struct Body {
    static async::Task<void> Run(kube::Client* admin, std::string name) {
      (void)co_await admin->Patch<storage::VolumeAttachment>(
          {"", std::move(name)}, kube::PatchType::kMerge,
          R"({"metadata":{"annotations":{"somebody.example/was":"here"}}})");
    }
  };
  running_->Spawn(Body::Run(admin_.get(), attachment));
}

void World::Forbid(const std::string& place, std::string message) {
  refusals_.push_back({place, std::move(message)});
}

std::vector<std::string> World::Trace() const {
  static const std::regex kTime(R"re("time":"[^"]*")re");
  static const std::regex kVersion(R"re(,"resourceVersion":"[^"]*")re");
  std::vector<std::string> out;
  size_t call = 0;
  for (size_t i = 0; i <= api_.log().size(); ++i) {
    for (; call < calls_.size() && calls_[call].requests_before <= i; ++call) {
      out.push_back(calls_[call].text);
    }
    if (i == api_.log().size()) break;
    const apiserver::LoggedRequest& request = api_.log()[i];
    const std::string place = Place(request.target);
    if (request.user != "attacher" || IsCollection(place)) continue;
    std::string line = StrCat(request.method, " ", place);
    if (!request.body.empty()) {
      const std::string body = std::regex_replace(request.body, kTime, R"("time":"T")");
      line += StrCat(" ", std::regex_replace(body, kVersion, ""));
    }
    if (request.code < 200 || request.code > 299) line += StrCat(" -> ", request.code);
    out.push_back(std::move(line));
  }
  return out;
}

std::vector<std::string> World::Preconditions() const {
  static const std::regex kVersion(R"re("resourceVersion":"([^"]*)")re");
  std::vector<std::string> out;
  for (const apiserver::LoggedRequest& request : api_.log()) {
    const std::string place = Place(request.target);
    if (request.user != "attacher" || request.method != "PATCH") continue;
    if (!place.starts_with("volumeattachments/") || place.ends_with("/status")) continue;
    std::smatch found;
    out.push_back(std::regex_search(request.body, found, kVersion) ? found[1].str() : "");
  }
  return out;
}

std::string World::Metrics() const { return metrics::ExposeText(registry_); }

void World::List(const Listed& volumes) {
  ::csi::v1::ListVolumesResponse response;
  for (const auto& [handle, nodes] : volumes) {
    auto* entry = response.add_entries();
    entry->mutable_volume()->set_volume_id(handle);
    for (const std::string& node : nodes) entry->mutable_status()->add_published_node_ids(node);
  }
  driver_.Answer(kListVolumes, response);
}

std::vector<std::string> World::Watched() const {
  std::set<std::string> out;
  for (const apiserver::LoggedRequest& request : api_.log()) {
    const std::string place = Place(request.target);
    // An open watch has no user in the log yet.
    if (request.user != "admin" && IsCollection(place)) {
      out.insert(place.substr(0, place.find('?')));
    }
  }
  return {out.begin(), out.end()};
}

}  // namespace csinative::attacher
