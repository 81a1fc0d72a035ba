// SPDX-License-Identifier: Apache-2.0
#include "lib/base/strings.h"
#include "test/support/apiserver/kinds.h"

namespace csinative::apiserver {
namespace {

void SetDefaultInt(Json& object, std::string_view key, int64_t value, JsonAllocator& allocator) {
  SetDefault(object, key, Json(value), allocator);
}

void ClaimSpecDefaults(Json& spec, JsonAllocator& allocator) {
  SetDefaultText(spec, "volumeMode", "Filesystem", allocator);
}

void VolumeDefaults(Json& volume, JsonAllocator& allocator) {
  for (std::string_view source : {"secret", "configMap", "downwardAPI", "projected"}) {
    Json* found = FindMutable(&volume, source);
    if (found != nullptr && found->IsObject()) SetDefaultInt(*found, "defaultMode", 420, allocator);
  }
  Json* projected = FindMutable(&volume, "projected");
  Json* sources = FindMutable(projected, "sources");
  if (sources != nullptr && sources->IsArray()) {
    for (Json& source : sources->GetArray()) {
      Json* token = FindMutable(&source, "serviceAccountToken");
      if (token != nullptr && token->IsObject()) {
        SetDefaultInt(*token, "expirationSeconds", 3600, allocator);
      }
    }
  }
  Json* host_path = FindMutable(&volume, "hostPath");
  if (host_path != nullptr && host_path->IsObject()) {
    SetDefault(*host_path, "type", MakeString("", allocator), allocator);
  }
  Json* ephemeral = FindMutable(&volume, "ephemeral");
  Json* claim = FindMutable(ephemeral, "volumeClaimTemplate");
  if (claim != nullptr && claim->IsObject()) {
    ClaimSpecDefaults(Ensure(*claim, "spec", allocator), allocator);
  }
}

bool ImageIsLatest(std::string_view image) {
  if (image.find('@') != std::string_view::npos) return false;
  size_t slash = image.rfind('/');
  size_t colon = image.rfind(':');
  if (colon == std::string_view::npos || (slash != std::string_view::npos && colon < slash)) {
    return true;
  }
  return image.substr(colon + 1) == "latest";
}

void ContainerDefaults(Json& container, JsonAllocator& allocator) {
  SetDefaultText(container, "terminationMessagePath", "/dev/termination-log", allocator);
  SetDefaultText(container, "terminationMessagePolicy", "File", allocator);
  SetDefaultText(container, "imagePullPolicy",
                 ImageIsLatest(TextAt(container, "image")) ? "Always" : "IfNotPresent", allocator);
  Json* ports = FindMutable(&container, "ports");
  if (ports != nullptr && ports->IsArray()) {
    for (Json& port : ports->GetArray()) SetDefaultText(port, "protocol", "TCP", allocator);
  }
  // Limits without requests ask for the limit.
  Json* resources = FindMutable(&container, "resources");
  const Json* limits = Find(resources, "limits");
  if (limits != nullptr && limits->IsObject() && !limits->ObjectEmpty()) {
    Json copy = Copy(*limits, allocator);
    Json& requests = Ensure(*resources, "requests", allocator);
    for (const auto& member : copy.GetObject()) {
      SetDefault(requests, Text(&member.name), Copy(member.value, allocator), allocator);
    }
  }
}

// The single address is the first of the list.
void SyncPodAddresses(JsonDocument& document) {
  JsonAllocator& allocator = document.GetAllocator();
  Json* status = FindMutable(&document, "status");
  if (status == nullptr || !status->IsObject()) return;
  const Json* list = Find(status, "podIPs");
  if (list != nullptr && list->IsArray() && !list->Empty()) {
    SetText(*status, "podIP", std::string(TextAt((*list)[0], "ip")), allocator);
  } else if (std::string address(TextAt(*status, "podIP")); !address.empty()) {
    Json item(rapidjson::kObjectType);
    SetText(item, "ip", address, allocator);
    Json items(rapidjson::kArrayType);
    items.PushBack(item, allocator);
    Set(*status, "podIPs", std::move(items), allocator);
  }
}

void PodDefaults(JsonDocument& document) {
  JsonAllocator& allocator = document.GetAllocator();
  SyncPodAddresses(document);
  Json& spec = Ensure(document, "spec", allocator);
  SetDefaultText(spec, "restartPolicy", "Always", allocator);
  SetDefaultInt(spec, "terminationGracePeriodSeconds", 30, allocator);
  SetDefaultText(spec, "dnsPolicy", "ClusterFirst", allocator);
  SetDefault(spec, "securityContext", Json(rapidjson::kObjectType), allocator);
  SetDefaultText(spec, "schedulerName", "default-scheduler", allocator);
  SetDefault(spec, "enableServiceLinks", Json(true), allocator);
  if (std::string_view account = TextAt(spec, "serviceAccountName"); !account.empty()) {
    SetText(spec, "serviceAccount", std::string(account), allocator);
  }
  if (Json* volumes = FindMutable(&spec, "volumes"); volumes != nullptr && volumes->IsArray()) {
    for (Json& volume : volumes->GetArray()) VolumeDefaults(volume, allocator);
  }
  for (std::string_view list : {"initContainers", "containers", "ephemeralContainers"}) {
    Json* containers = FindMutable(&spec, list);
    if (containers == nullptr || !containers->IsArray()) continue;
    for (Json& container : containers->GetArray()) ContainerDefaults(container, allocator);
  }
}

bool SameResources(const Json* a, const Json* b) {
  for (std::string_view name : {"cpu", "memory"}) {
    const Json* x = a == nullptr ? nullptr : Find(a, name);
    const Json* y = b == nullptr ? nullptr : Find(b, name);
    if (x == nullptr || y == nullptr || *x != *y) return false;
  }
  return true;
}

std::string_view QosClass(const Json& spec) {
  bool any = false, guaranteed = true;
  for (std::string_view list : {"initContainers", "containers"}) {
    const Json* containers = Find(spec, list);
    if (containers == nullptr || !containers->IsArray()) continue;
    for (const Json& container : containers->GetArray()) {
      const Json* requests = Find(container, "resources", "requests");
      const Json* limits = Find(container, "resources", "limits");
      for (const Json* amounts : {requests, limits}) {
        if (!IsEmpty(Find(amounts, "cpu")) || !IsEmpty(Find(amounts, "memory"))) any = true;
      }
      if (!SameResources(requests, limits)) guaranteed = false;
    }
  }
  return !any ? "BestEffort" : guaranteed ? "Guaranteed" : "Burstable";
}

void AddFinalizer(JsonDocument& document, std::string_view finalizer) {
  JsonAllocator& allocator = document.GetAllocator();
  Json& metadata = Ensure(document, "metadata", allocator);
  Json* list = FindMutable(&metadata, "finalizers");
  if (list == nullptr || !list->IsArray()) {
    Set(metadata, "finalizers", Json(rapidjson::kArrayType), allocator);
    list = FindMutable(&metadata, "finalizers");
  }
  for (const Json& present : list->GetArray()) {
    if (Text(&present) == finalizer) return;
  }
  list->PushBack(MakeString(finalizer, allocator), allocator);
}

void AddToleration(Json& spec, std::string_view key, JsonAllocator& allocator) {
  Json* list = FindMutable(&spec, "tolerations");
  if (list == nullptr || !list->IsArray()) {
    Set(spec, "tolerations", Json(rapidjson::kArrayType), allocator);
    list = FindMutable(&spec, "tolerations");
  }
  for (const Json& present : list->GetArray()) {
    std::string_view effect = TextAt(present, "effect");
    std::string_view present_key = TextAt(present, "key");
    if ((present_key == key || present_key.empty()) && (effect == "NoExecute" || effect.empty())) {
      return;
    }
  }
  Json toleration(rapidjson::kObjectType);
  SetText(toleration, "key", key, allocator);
  SetText(toleration, "operator", "Exists", allocator);
  SetText(toleration, "effect", "NoExecute", allocator);
  Set(toleration, "tolerationSeconds", Json(300), allocator);
  list->PushBack(toleration, allocator);
}

bool IsKnownDataSource(const Json& source) {
  std::string_view group = TextAt(source, "apiGroup"), kind = TextAt(source, "kind");
  return (group.empty() && kind == "PersistentVolumeClaim") ||
         (group == "snapshot.storage.k8s.io" && kind == "VolumeSnapshot");
}

// Both spellings of a claim's source are kept equal. The older one only knows claims and snapshots.
void NormalizeDataSource(Json& spec, JsonAllocator& allocator) {
  const Json* given = Find(&spec, "dataSource");
  if (given != nullptr && Find(&spec, "dataSourceRef") == nullptr && !IsKnownDataSource(*given)) {
    Remove(spec, "dataSource");
  }
  const Json* source = Find(&spec, "dataSource");
  const Json* reference = Find(&spec, "dataSourceRef");
  if (source != nullptr && reference == nullptr) {
    Set(spec, "dataSourceRef", Copy(*source, allocator), allocator);
  } else if (source == nullptr && reference != nullptr && TextAt(*reference, "namespace").empty()) {
    Json copy = Copy(*reference, allocator);
    Remove(copy, "namespace");
    Set(spec, "dataSource", std::move(copy), allocator);
  }
}

}  // namespace

void ApplyDefaults(const ResourceInfo& info, JsonDocument& document) {
  JsonAllocator& allocator = document.GetAllocator();
  const std::string& kind = info.kind;
  if (info.custom) return;
  if (kind == "Pod") {
    PodDefaults(document);
  } else if (kind == "PersistentVolumeClaim") {
    Json& spec = Ensure(document, "spec", allocator);
    ClaimSpecDefaults(spec, allocator);
    SetDefaultText(Ensure(document, "status", allocator), "phase", "Pending", allocator);
  } else if (kind == "PersistentVolume") {
    Json& spec = Ensure(document, "spec", allocator);
    SetDefaultText(spec, "persistentVolumeReclaimPolicy", "Retain", allocator);
    SetDefaultText(spec, "volumeMode", "Filesystem", allocator);
    SetDefaultText(Ensure(document, "status", allocator), "phase", "Pending", allocator);
    Json* host_path = FindMutable(&spec, "hostPath");
    if (host_path != nullptr && host_path->IsObject()) {
      SetDefault(*host_path, "type", MakeString("", allocator), allocator);
    }
  } else if (kind == "StorageClass") {
    SetDefaultText(document, "reclaimPolicy", "Delete", allocator);
    SetDefaultText(document, "volumeBindingMode", "Immediate", allocator);
  } else if (kind == "CSIDriver") {
    Json& spec = Ensure(document, "spec", allocator);
    SetDefault(spec, "attachRequired", Json(true), allocator);
    SetDefault(spec, "podInfoOnMount", Json(false), allocator);
    SetDefault(spec, "storageCapacity", Json(false), allocator);
    SetDefaultText(spec, "fsGroupPolicy", "ReadWriteOnceWithFSType", allocator);
    SetDefault(spec, "requiresRepublish", Json(false), allocator);
    SetDefault(spec, "seLinuxMount", Json(false), allocator);
    if (IsEmpty(Find(&spec, "volumeLifecycleModes"))) {
      Json modes(rapidjson::kArrayType);
      modes.PushBack("Persistent", allocator);
      Set(spec, "volumeLifecycleModes", std::move(modes), allocator);
    }
  } else if (kind == "Secret") {
    SetDefaultText(document, "type", "Opaque", allocator);
  } else if (kind == "Node") {
    Json& status = Ensure(document, "status", allocator);
    const Json* capacity = Find(&status, "capacity");
    if (capacity != nullptr && IsEmpty(Find(&status, "allocatable"))) {
      Set(status, "allocatable", Copy(*capacity, allocator), allocator);
    }
  } else if (kind == "Namespace") {
    SetDefaultText(Ensure(document, "status", allocator), "phase", "Active", allocator);
    Json& metadata = Ensure(document, "metadata", allocator);
    std::string name(TextAt(metadata, "name"));
    if (!name.empty()) {
      SetDefaultText(Ensure(metadata, "labels", allocator), "kubernetes.io/metadata.name", name,
                     allocator);
    }
  }
}

void PrepareForCreate(const ResourceInfo& info, JsonDocument& document, std::string_view now) {
  JsonAllocator& allocator = document.GetAllocator();
  const std::string& kind = info.kind;
  Json& metadata = Ensure(document, "metadata", allocator);
  if (info.generation != GenerationRule::kNone) Remove(metadata, "generation");
  if (info.generation == GenerationRule::kSpec ||
      info.generation == GenerationRule::kAllButStatus) {
    Set(metadata, "generation", Json(1), allocator);
  }
  if (info.custom) {
    if (info.has_status) Remove(document, "status");
    return;
  }
  if (kind == "PersistentVolumeClaim") {
    Json status(rapidjson::kObjectType);
    SetText(status, "phase", "Pending", allocator);
    Set(document, "status", std::move(status), allocator);
    AddFinalizer(document, "kubernetes.io/pvc-protection");
    NormalizeDataSource(Ensure(document, "spec", allocator), allocator);
  } else if (kind == "PersistentVolume") {
    Json status(rapidjson::kObjectType);
    SetText(status, "phase", "Pending", allocator);
    SetText(status, "lastPhaseTransitionTime", now, allocator);
    Set(document, "status", std::move(status), allocator);
    AddFinalizer(document, "kubernetes.io/pv-protection");
  } else if (kind == "VolumeAttributesClass") {
    AddFinalizer(document, "kubernetes.io/vac-protection");
  } else if (kind == "VolumeAttachment") {
    Json status(rapidjson::kObjectType);
    Set(status, "attached", Json(false), allocator);
    Set(document, "status", std::move(status), allocator);
  } else if (kind == "Namespace") {
    Json finalizers(rapidjson::kArrayType);
    finalizers.PushBack("kubernetes", allocator);
    Set(Ensure(document, "spec", allocator), "finalizers", std::move(finalizers), allocator);
    Json status(rapidjson::kObjectType);
    SetText(status, "phase", "Active", allocator);
    Set(document, "status", std::move(status), allocator);
  } else if (kind == "Node") {
    Json taint(rapidjson::kObjectType);
    SetText(taint, "key", "node.kubernetes.io/not-ready", allocator);
    SetText(taint, "effect", "NoSchedule", allocator);
    Json& spec = Ensure(document, "spec", allocator);
    Json* taints = FindMutable(&spec, "taints");
    if (taints == nullptr || !taints->IsArray()) {
      Set(spec, "taints", Json(rapidjson::kArrayType), allocator);
      taints = FindMutable(&spec, "taints");
    }
    taints->PushBack(taint, allocator);
  } else if (kind == "Pod") {
    Json& spec = Ensure(document, "spec", allocator);
    SetDefaultText(spec, "serviceAccountName", "default", allocator);
    SetText(spec, "serviceAccount", std::string(TextAt(spec, "serviceAccountName")), allocator);
    AddToleration(spec, "node.kubernetes.io/not-ready", allocator);
    AddToleration(spec, "node.kubernetes.io/unreachable", allocator);
    SetDefaultInt(spec, "priority", 0, allocator);
    SetDefaultText(spec, "preemptionPolicy", "PreemptLowerPriority", allocator);
    Json status(rapidjson::kObjectType);
    SetText(status, "phase", "Pending", allocator);
    SetText(status, "qosClass", QosClass(spec), allocator);
    Set(document, "status", std::move(status), allocator);
  }
}

}  // namespace csinative::apiserver
