// SPDX-License-Identifier: Apache-2.0
//
// The admission plugins that are on by default, and what controllers add at once.
#include "apis/resource/quantity.h"
#include "lib/base/strings.h"
#include "test/support/apiserver/semantics.h"

namespace csinative::apiserver {

std::optional<Failure> Semantics::CheckNamespace(const Target& target, std::string_view name) {
  if (!target.info->namespaced) return std::nullopt;
  const ResourceInfo* namespaces = resources_.Find("", "v1", "namespaces");
  ObjectPtr found = store_.collection(*namespaces).Get("", target.namespace_name);
  if (found == nullptr) return NotFound({"", "namespaces"}, target.namespace_name);
  JsonDocument document = ParseDocument(*found);
  if (TextAt(document, "status", "phase") != "Terminating") return std::nullopt;
  Failure failure = Forbidden(target.resource(), name,
                              StrCat("unable to create new content in namespace ",
                                     target.namespace_name, " because it is being terminated"));
  failure.causes.push_back({"NamespaceTerminating",
                            StrCat("namespace ", target.namespace_name, " is being terminated"),
                            "metadata.namespace"});
  return failure;
}

void Semantics::SetDefaultClass(JsonDocument& claim) {
  Json& spec = Ensure(claim, "spec", claim.GetAllocator());
  if (Find(&spec, "storageClassName") != nullptr) return;
  const Json* annotations = Find(claim, "metadata", "annotations");
  if (Find(annotations, "volume.beta.kubernetes.io/storage-class") != nullptr) return;
  const ResourceInfo* classes = resources_.Find("storage.k8s.io", "v1", "storageclasses");
  std::string best, best_time;
  for (const auto& [key, object] : store_.collection(*classes).objects()) {
    JsonDocument document = ParseDocument(*object);
    const Json* marks = Find(document, "metadata", "annotations");
    if (Text(Find(marks, "storageclass.kubernetes.io/is-default-class")) != "true" &&
        Text(Find(marks, "storageclass.beta.kubernetes.io/is-default-class")) != "true") {
      continue;
    }
    std::string time(TextAt(document, "metadata", "creationTimestamp"));
    // The newest wins; of equals the first name.
    if (best.empty() || time > best_time) {
      best = key.second;
      best_time = time;
    }
  }
  if (!best.empty()) SetText(spec, "storageClassName", best, claim.GetAllocator());
}

// A claim may only grow when its class allows it.
std::optional<Failure> Semantics::CheckResize(const Target& target, const JsonDocument& next,
                                              const JsonDocument& old) {
  auto request = [](const JsonDocument& claim) {
    const Json* size = Find(claim, "spec", "resources", "requests", "storage");
    return apis::Quantity::Parse(Text(size)).value_or(apis::Quantity());
  };
  if (request(next) <= request(old)) return std::nullopt;
  const ResourceInfo* classes = resources_.Find("storage.k8s.io", "v1", "storageclasses");
  ObjectPtr found = store_.collection(*classes).Get("", TextAt(old, "spec", "storageClassName"));
  if (found != nullptr && IsTrue(Find(ParseDocument(*found), "allowVolumeExpansion"))) {
    return std::nullopt;
  }
  return Forbidden(target.resource(), target.name,
                   "only dynamically provisioned pvc can be resized and the storageclass that "
                   "provisions the pvc must support resize");
}

void Semantics::InjectServiceAccountVolume(JsonDocument& pod) {
  static constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
  static constexpr char kMountPath[] = "/var/run/secrets/kubernetes.io/serviceaccount";
  JsonAllocator& allocator = pod.GetAllocator();
  Json& spec = *FindMutable(&pod, "spec");
  const Json* automount = Find(&spec, "automountServiceAccountToken");
  if (automount != nullptr && automount->IsFalse()) return;
  std::string name = "kube-api-access-";
  for (int i = 0; i < 5; ++i) name += kAlphabet[random_.Below(kAlphabet.size())];
  bool used = false;
  for (std::string_view list : {"initContainers", "containers"}) {
    Json* containers = FindMutable(&spec, list);
    if (containers == nullptr || !containers->IsArray()) continue;
    for (Json& container : containers->GetArray()) {
      Json* mounts = FindMutable(&container, "volumeMounts");
      if (mounts == nullptr || !mounts->IsArray()) {
        Set(container, "volumeMounts", Json(rapidjson::kArrayType), allocator);
        mounts = FindMutable(&container, "volumeMounts");
      }
      bool present = false;
      for (const Json& mount : mounts->GetArray()) {
        present = present || TextAt(mount, "mountPath") == kMountPath;
      }
      if (present) continue;
      Json mount(rapidjson::kObjectType);
      SetText(mount, "name", name, allocator);
      Set(mount, "readOnly", Json(true), allocator);
      SetText(mount, "mountPath", kMountPath, allocator);
      mounts->PushBack(mount, allocator);
      used = true;
    }
  }
  if (!used) return;
  JsonDocument volume = *ParseJson(
      R"({"projected":{"sources":[{"serviceAccountToken":{"expirationSeconds":3607,"path":"token"}},)"
      R"({"configMap":{"name":"kube-root-ca.crt","items":[{"key":"ca.crt","path":"ca.crt"}]}},)"
      R"({"downwardAPI":{"items":[{"path":"namespace","fieldRef":{"apiVersion":"v1",)"
      R"("fieldPath":"metadata.namespace"}}]}}],"defaultMode":420}})");
  SetText(volume, "name", name, volume.GetAllocator());
  Json* volumes = FindMutable(&spec, "volumes");
  if (volumes == nullptr || !volumes->IsArray()) {
    Set(spec, "volumes", Json(rapidjson::kArrayType), allocator);
    volumes = FindMutable(&spec, "volumes");
  }
  volumes->PushBack(Copy(volume, allocator), allocator);
}

void Semantics::AddDefaultServiceAccount(const std::string& namespace_name) {
  Target target{.info = resources_.Find("", "v1", "serviceaccounts"),
                .namespace_name = namespace_name};
  // Fails only where the account exists already.
  (void)Create(target, *ParseJson(R"({"metadata":{"name":"default"}})")).ok();
}

}  // namespace csinative::apiserver
