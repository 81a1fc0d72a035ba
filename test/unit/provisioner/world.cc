// SPDX-License-Identifier: Apache-2.0
#include "test/unit/provisioner/world.h"

#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include <algorithm>

#include "apis/core/v1/well_known.h"
#include "apis/json/from_json.h"
#include "lib/base/json_string.h"
#include "lib/base/strings.h"
#include "test/support/unlimited_client.h"

namespace csinative::provisioner {

World::World()
    : client_(testing::NewUnlimitedClient(loop_, *random_, transport_)),
      admin_(testing::NewUnlimitedClient(loop_, *random_, admin_transport_)) {
  features.name = kDriver;
  features.controller_service = true;
  features.create_delete_volume = true;
  config.default_fs_type = "ext4";
  config.call_timeout = std::chrono::seconds(5);
  Add(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"ns"}})");
  UseGoodDriver();
}

World::~World() {
  if (running_) Stop();
  Wait(transport_.Close());
  Wait(admin_transport_.Close());
}

void World::Start() {
  ProvisionController::Deps deps;
  deps.loop = &loop_;
  deps.random = random_.get();
  deps.client = client_.get();
  deps.event_client = client_.get();
  deps.channel = &channel_;
  deps.registry = &registry_;
  deps.log = log::Logger(std::make_shared<log::Backend>(log_));
  deps.host_name = "host";
  deps.migrated_channel = &migrated_channel_;
  deps.names = names;
  deps.features = features;
  deps.config = config;
  deps.identity = "test-provisioner";
  controller_ = std::make_unique<ProvisionController>(std::move(deps));
  running_ = std::make_unique<async::Scope>(loop_);
  running_->Spawn(controller_->Run());
  Settle();
}

Provisioner::Deps World::ProvisionerDeps(DriverCalls* driver, ClaimHold* hold,
                                         kube::EventBroadcaster& broadcaster) {
  return {random_.get(),
          client_.get(),
          &controller_->caches(),
          driver,
          kube::EventRecorder(broadcaster, "external-provisioner"),
          log::Logger(),
          names,
          features,
          config,
          "test-provisioner",
          hold,
          [this](const std::string& snapshot, const std::string& claim) {
            const auto restores = controller_->caches().PendingRestoresOf(snapshot);
            return std::ranges::any_of(
                restores, [&](const auto& other) { return other.metadata().uid() != claim; });
          }};
}

ProvisionResult World::Attempt(core::PersistentVolumeClaim claim, storage::StorageClass klass,
                               std::string selected_node) {
  DriverCalls driver(channel_, migrated_channel_, config.call_timeout);
  kube::EventBroadcaster broadcaster(loop_, *random_, *client_, log::Logger());
  ClaimHold hold(client_.get(), names.driver, ClaimHold::Mode::kOff);
  Provisioner provisioner(ProvisionerDeps(&driver, &hold, broadcaster));
  return Wait(provisioner.Provision(std::move(claim), std::move(klass), std::move(selected_node)));
}

Status World::DeleteStorage(core::PersistentVolume volume) {
  DriverCalls driver(channel_, migrated_channel_, config.call_timeout);
  StorageDeletion deletion(
      {client_.get(), &controller_->caches(), &driver, log::Logger(), names, features});
  return Wait(deletion.Delete(std::move(volume)));
}

namespace {

template <typename T>
T Parse(const std::string& json) {
  T object;
  const Status parsed = apis::FromJsonString(json, &object);
  EXPECT_TRUE(parsed.ok()) << json << ": " << parsed.message();
  return object;
}

}  // namespace

core::PersistentVolumeClaim World::ParseClaim(const std::string& json) {
  return Parse<core::PersistentVolumeClaim>(json);
}
storage::StorageClass World::ParseClass(const std::string& json) {
  return Parse<storage::StorageClass>(json);
}
core::PersistentVolume World::ParseVolume(const std::string& json) {
  return Parse<core::PersistentVolume>(json);
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

void World::AddClass(const ClassSpec& spec) {
  Add(StrCat(R"({"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":)",
             JsonString(spec.name), R"(},"provisioner":)", JsonString(spec.provisioner),
             R"(,"parameters":)", spec.parameters, R"(,"reclaimPolicy":)",
             JsonString(spec.reclaim_policy), R"(,"volumeBindingMode":)",
             JsonString(spec.binding_mode), spec.extra, "}"));
}

std::string World::AddClaim(const ClaimSpec& spec) {
  std::string annotations;
  const auto annotate = [&](std::string_view key, std::string_view value) {
    annotations += StrCat(annotations.empty() ? "" : ",", JsonString(key), ":", JsonString(value));
  };
  if (!spec.provisioner.empty()) {
    annotate("volume.kubernetes.io/storage-provisioner", spec.provisioner);
  }
  if (!spec.selected_node.empty()) {
    annotate("volume.kubernetes.io/selected-node", spec.selected_node);
  }
  std::vector<std::string> modes;
  for (const std::string& mode : spec.modes) modes.push_back(JsonString(mode));
  Add(StrCat(R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":)",
             JsonString(spec.name), R"(,"namespace":)", JsonString(spec.ns), R"(,"annotations":{)",
             annotations, spec.annotations, R"(}},"spec":{"accessModes":[)", Join(modes, ","),
             R"(],"storageClassName":)", JsonString(spec.klass), R"(,"volumeMode":)",
             JsonString(spec.volume_mode), R"(,"resources":{"requests":{"storage":)",
             JsonString(spec.request), "}}", spec.extra_spec,
             R"(},"status":{"phase":"Pending"}})"));
  const auto claim = Find<core::PersistentVolumeClaim>({spec.ns, spec.name});
  return claim ? claim->metadata().uid() : "";
}

void World::AddSecret(const std::string& ns, const std::string& name, const std::string& key,
                      const std::string& base64) {
  Add(StrCat(R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":)", JsonString(name),
             R"(,"namespace":)", JsonString(ns), R"(},"data":{)", JsonString(key), ":",
             JsonString(base64), "}}"));
}

void World::CallDocument(kube::ApiRequest request, const std::string& resource,
                         const std::string& ns, const std::string& name,
                         const std::string& subresource) {
  request.path = StrCat("/apis/snapshot.storage.k8s.io/v1/", ns.empty() ? "" : "namespaces/", ns,
                        ns.empty() ? "" : "/", resource, "/", name, subresource.empty() ? "" : "/",
                        subresource);
  request.accept = "application/json";
  auto answer = Wait(admin_transport_.Do(std::move(request)));
  ASSERT_TRUE(answer.ok() && answer->code == 200) << (answer.ok() ? answer->body : "");
}

void World::MergeDocument(const std::string& resource, const std::string& ns,
                          const std::string& name, const std::string& patch,
                          const std::string& subresource) {
  kube::ApiRequest request;
  request.method = "PATCH";
  request.content_type = "application/merge-patch+json";
  request.body = patch;
  CallDocument(std::move(request), resource, ns, name, subresource);
}

void World::RemoveDocument(const std::string& resource, const std::string& ns,
                           const std::string& name) {
  kube::ApiRequest request;
  request.method = "DELETE";
  CallDocument(std::move(request), resource, ns, name, "");
}

void World::AddGrant(const std::string& ns, const std::string& from, const std::string& to) {
  Add(StrCat(R"({"apiVersion":"gateway.networking.k8s.io/v1beta1","kind":"ReferenceGrant",
      "metadata":{"name":"grant","namespace":)",
             JsonString(ns), R"(},"spec":{"from":[)", from, R"(],"to":[)", to, "]}}"));
}

void World::RemoveClaim(const std::string& name, const std::string& ns) {
  Remove<core::PersistentVolumeClaim>({ns, name});
  const auto left = Find<core::PersistentVolumeClaim>({ns, name});
  if (!left) return;
  std::vector<std::string> kept;
  for (const std::string& finalizer : left->metadata().finalizers()) {
    if (finalizer != apis::kFinalizerPvcProtection) kept.push_back(JsonString(finalizer));
  }
  Merge<core::PersistentVolumeClaim>(
      {ns, name}, StrCat(R"({"metadata":{"finalizers":[)", Join(kept, ","), "]}}"));
}

void World::Bind(const std::string& volume, const ClaimSpec& claim) {
  Merge<core::PersistentVolumeClaim>({claim.ns, claim.name},
                                     StrCat(R"({"spec":{"volumeName":)", JsonString(volume), "}}"));
  Merge<core::PersistentVolumeClaim>({claim.ns, claim.name}, R"({"status":{"phase":"Bound"}})",
                                     "status");
  Merge<core::PersistentVolume>({"", volume}, R"({"status":{"phase":"Bound"}})", "status");
}

void World::Release(const std::string& volume) {
  Merge<core::PersistentVolume>({"", volume}, R"({"status":{"phase":"Released"}})", "status");
}

std::optional<core::PersistentVolume> World::OnlyVolume() {
  auto list = Wait(admin_->List<core::PersistentVolume>({}));
  if (!list.ok() || list->items.size() != 1) return std::nullopt;
  return std::move(list->items.front());
}

std::vector<std::string> World::Writes() {
  std::vector<std::string> out;
  for (const apiserver::LoggedRequest& request : api_.log()) {
    if (request.user != "provisioner" || request.method == "GET") continue;
    std::string_view path = request.target;
    for (std::string_view prefix : {"/api/v1/", "/apis/storage.k8s.io/v1/"}) {
      if (path.starts_with(prefix)) path.remove_prefix(prefix.size());
    }
    if (path.ends_with("/events") || path.find("/events/") != std::string_view::npos) continue;
    std::string line = StrCat(request.method, " ", path);
    if (request.code < 200 || request.code > 299) line += StrCat(" -> ", request.code);
    out.push_back(std::move(line));
  }
  return out;
}

std::vector<std::string> World::Events() {
  std::vector<std::pair<int64_t, std::string>> events;
  for (const apiserver::ObjectPtr& object : api_.ListObjects("", "events")) {
    rapidjson::Document event;
    event.Parse(object->json.c_str());
    std::string line = StrCat(event["type"].GetString(), " ", event["reason"].GetString(), ": ",
                              event["message"].GetString());
    if (event.HasMember("count") && event["count"].GetInt() > 1) {
      line += StrCat(" (x", event["count"].GetInt(), ")");
    }
    // Creation order: names end in the time in hexadecimal.
    const size_t dot = object->name.rfind('.');
    events.emplace_back(std::stoll(object->name.substr(dot + 1), nullptr, 16), std::move(line));
  }
  std::stable_sort(events.begin(), events.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> out;
  for (auto& [time, line] : events) out.push_back(std::move(line));
  return out;
}

double World::Counter(const std::string& family, std::initializer_list<std::string_view> labels) {
  auto it = registry_.families().find(family);
  if (it == registry_.families().end()) return 0;
  const metrics::Registry::AnyFamily& any = *it->second;
  const auto* counters = std::get_if<metrics::CounterFamily>(&any);
  if (counters == nullptr) return 0;
  const std::vector<std::string> key(labels.begin(), labels.end());
  auto series = counters->series().find(key);
  return series == counters->series().end() ? 0 : series->second.value();
}

void World::UseGoodDriver() {
  channel_.Handle<::csi::v1::CreateVolumeRequest, ::csi::v1::CreateVolumeResponse>(
      kCreateVolume,
      [](::csi::v1::CreateVolumeRequest request,
         ::csi::v1::CreateVolumeResponse* response) -> async::Task<Status> {
        auto* volume = response->mutable_volume();
        volume->set_volume_id("test-volume-id");
        volume->set_capacity_bytes(request.capacity_range().required_bytes());
        if (request.has_volume_content_source()) {
          *volume->mutable_content_source() = request.volume_content_source();
        }
        co_return Status();
      });
  channel_.Answer(kDeleteVolume, ::csi::v1::DeleteVolumeResponse());
}

}  // namespace csinative::provisioner
