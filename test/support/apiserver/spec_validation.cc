// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "apis/meta/v1/names.h"
#include "apis/resource/quantity.h"
#include "lib/base/json_string.h"
#include "lib/base/strings.h"
#include "test/support/apiserver/kinds.h"

namespace csinative::apiserver {
namespace {

constexpr char kImmutable[] = "field is immutable";

apis::Quantity QuantityOf(const Json* value) {
  return apis::Quantity::Parse(Text(value)).value_or(apis::Quantity());
}

bool Same(const Json* a, const Json* b) {
  if (a == nullptr || b == nullptr) return IsEmpty(a) && IsEmpty(b);
  return *a == *b;
}

void RequireOneOf(std::string field, std::string_view value, std::vector<std::string> supported,
                  std::vector<Cause>* out) {
  if (value.empty()) return;
  if (std::find(supported.begin(), supported.end(), value) == supported.end()) {
    out->push_back(UnsupportedValue(std::move(field), JsonString(value), supported));
  }
}

void ValidateAccessModes(const Json* modes, std::string_view empty_text, std::vector<Cause>* out) {
  if (IsEmpty(modes)) {
    out->push_back(RequiredValue("spec.accessModes", empty_text));
    return;
  }
  bool once_pod = false;
  for (const Json& mode : modes->GetArray()) {
    RequireOneOf("spec.accessModes", Text(&mode),
                 {"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"}, out);
    once_pod = once_pod || Text(&mode) == "ReadWriteOncePod";
  }
  if (once_pod && modes->Size() > 1) {
    out->push_back(
        ForbiddenValue("spec.accessModes", "may not use ReadWriteOncePod with other access modes"));
  }
}

void ValidateClaim(const Json& document, std::vector<Cause>* out) {
  const Json* spec = Find(document, "spec");
  ValidateAccessModes(Find(spec, "accessModes"), "at least 1 access mode is required", out);
  const Json* resources = Find(spec, "resources");
  const Json* size = Find(Find(resources, "requests"), "storage");
  if (IsEmpty(size)) {
    out->push_back(RequiredValue("spec.resources[storage]", ""));
  } else if (QuantityOf(size).Sign() <= 0) {
    out->push_back(
        InvalidValue("spec.resources[storage]", Dump(*size), "must be greater than zero"));
  }
}

bool HasVolumeSource(const Json& spec) {
  static constexpr std::string_view kNotSources[] = {"capacity",
                                                     "accessModes",
                                                     "claimRef",
                                                     "persistentVolumeReclaimPolicy",
                                                     "storageClassName",
                                                     "mountOptions",
                                                     "volumeMode",
                                                     "nodeAffinity",
                                                     "volumeAttributesClassName"};
  for (const auto& member : spec.GetObject()) {
    if (std::find(std::begin(kNotSources), std::end(kNotSources), Text(&member.name)) ==
        std::end(kNotSources)) {
      return true;
    }
  }
  return false;
}

void ValidateVolume(const Json& document, std::vector<Cause>* out) {
  const Json& spec = *Find(document, "spec");
  ValidateAccessModes(Find(spec, "accessModes"), "", out);
  const Json* capacity = Find(spec, "capacity");
  if (IsEmpty(capacity)) {
    out->push_back(RequiredValue("spec.capacity", ""));
    out->push_back(UnsupportedValue("spec.capacity", "null", {"storage"}));
  }
  if (!HasVolumeSource(spec)) {
    out->push_back(RequiredValue("spec", "must specify a volume type"));
  }
  if (const Json* csi = Find(spec, "csi")) {
    if (TextAt(*csi, "driver").empty()) {
      out->push_back(RequiredValue("spec.csi.driver", ""));
    }
    if (TextAt(*csi, "volumeHandle").empty()) {
      out->push_back(RequiredValue("spec.csi.volumeHandle", ""));
    }
  }
}

void ValidateAttachment(const Json& document, std::vector<Cause>* out) {
  const Json& spec = *Find(document, "spec");
  if (TextAt(spec, "attacher").empty()) out->push_back(RequiredValue("spec.attacher", ""));
  bool by_name = !TextAt(spec, "source", "persistentVolumeName").empty();
  bool in_line = Find(spec, "source", "inlineVolumeSpec") != nullptr;
  if (by_name == in_line) {
    out->push_back(RequiredValue(
        "spec.source", "must specify exactly one of inlineVolumeSpec and persistentVolumeName"));
  }
  std::string_view node = TextAt(spec, "nodeName");
  if (auto error = NameError(NameRule::kSubdomain, node)) {
    out->push_back(InvalidValue("spec.nodeName", JsonString(node), *error));
  }
}

void ValidateClass(const Json& document, std::vector<Cause>* out) {
  if (TextAt(document, "provisioner").empty()) out->push_back(RequiredValue("provisioner", ""));
  RequireOneOf("reclaimPolicy", TextAt(document, "reclaimPolicy"), {"Delete", "Retain"}, out);
  RequireOneOf("volumeBindingMode", TextAt(document, "volumeBindingMode"),
               {"Immediate", "WaitForFirstConsumer"}, out);
}

void ValidateLease(const Json& document, std::vector<Cause>* out) {
  for (std::string_view key : {"leaseDurationSeconds"}) {
    std::optional<int64_t> value = Integer(Find(document, "spec", key));
    if (value && *value <= 0) {
      out->push_back(
          InvalidValue(StrCat("spec.", key), std::to_string(*value), "must be greater than 0"));
    }
  }
  std::optional<int64_t> transitions = Integer(Find(document, "spec", "leaseTransitions"));
  if (transitions && *transitions < 0) {
    out->push_back(InvalidValue("spec.leaseTransitions", std::to_string(*transitions),
                                "must be greater than or equal to 0"));
  }
}

void ValidateEvent(const Json& document, std::vector<Cause>* out) {
  std::string_view own = TextAt(document, "metadata", "namespace");
  std::string_view involved = TextAt(document, "involvedObject", "namespace");
  if (involved.empty() ? own != "default" : involved != own) {
    out->push_back(InvalidValue("involvedObject.namespace", JsonString(involved),
                                "does not match event.namespace"));
  }
}

void ValidatePod(const Json& document, std::vector<Cause>* out) {
  const Json* containers = Find(document, "spec", "containers");
  if (IsEmpty(containers)) {
    out->push_back(RequiredValue("spec.containers", ""));
    return;
  }
  for (rapidjson::SizeType i = 0; i < containers->Size(); ++i) {
    if (TextAt((*containers)[i], "name").empty()) {
      out->push_back(RequiredValue(StrCat("spec.containers[", i, "].name"), ""));
    }
    if (TextAt((*containers)[i], "image").empty()) {
      out->push_back(RequiredValue(StrCat("spec.containers[", i, "].image"), ""));
    }
  }
}

void ValidateDriverName(const Json& document, std::vector<Cause>* out) {
  std::string_view name = TextAt(document, "metadata", "name");
  if (name.size() > 63) {
    out->push_back(
        {"FieldValueTooLong", "Too long: may not be more than 63 bytes", "metadata.name"});
  }
}

void RequireSame(const Json& next, const Json& old, std::string_view key, std::vector<Cause>* out) {
  const Json* value = Find(next, key);
  if (!Same(value, Find(old, key))) {
    out->push_back(InvalidValue(std::string(key), value ? Dump(*value) : "null", kImmutable));
  }
}

// Everything a claim may not change is compared with its mutable part taken out.
void ValidateClaimUpdate(const Json& next, const Json& old, std::vector<Cause>* out) {
  JsonDocument before, after;
  before.CopyFrom(*Find(old, "spec"), before.GetAllocator());
  after.CopyFrom(*Find(next, "spec"), after.GetAllocator());
  const bool bound = !TextAt(before, "volumeName").empty();
  for (JsonDocument* spec : {&before, &after}) {
    if (!bound) Remove(*spec, "volumeName");
    if (bound) {
      Remove(*spec, "volumeAttributesClassName");
      if (Json* resources = FindMutable(spec, "resources")) Remove(*resources, "requests");
    }
  }
  // A class can be set once where there was none.
  if (!bound && Find(before, "storageClassName") == nullptr) Remove(after, "storageClassName");
  if (before != after) {
    out->push_back(ForbiddenValue("spec",
                                  "spec is immutable after creation except resources.requests and "
                                  "volumeAttributesClassName for bound claims\n"));
    return;
  }
  auto request = [](const Json& claim) {
    return QuantityOf(Find(claim, "spec", "resources", "requests", "storage"));
  };
  // A failed expansion can be taken back, but not below what there is.
  if (request(next) < request(old) &&
      request(next) <= QuantityOf(Find(old, "status", "capacity", "storage"))) {
    out->push_back(ForbiddenValue("spec.resources.requests.storage",
                                  "field can not be less than status.capacity"));
  }
}

void ValidateVolumeUpdate(const Json& next, const Json& old, std::vector<Cause>* out) {
  for (const auto& member : Find(old, "spec")->GetObject()) {
    std::string_view key = Text(&member.name);
    if (key != "csi" && key != "hostPath" && key != "local" && key != "nfs") continue;
    if (!Same(&member.value, Find(next, "spec", key))) {
      out->push_back(ForbiddenValue("spec.persistentvolumesource",
                                    "spec.persistentvolumesource is immutable after creation\n"));
    }
  }
  RequireSame(*Find(next, "spec"), *Find(old, "spec"), "volumeMode", out);
  const Json* affinity = Find(next, "spec", "nodeAffinity");
  const Json* old_affinity = Find(old, "spec", "nodeAffinity");
  if (old_affinity != nullptr && !Same(affinity, old_affinity)) {
    out->push_back(InvalidValue("nodeAffinity", affinity ? Dump(*affinity) : "null",
                                "field is immutable, except for updating from beta label to GA"));
  }
}

void ValidateClassUpdate(const Json& next, const Json& old, std::vector<Cause>* out) {
  for (std::string_view key : {"parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"}) {
    RequireSame(next, old, key, out);
  }
}

void ValidateCapacityUpdate(const Json& next, const Json& old, std::vector<Cause>* out) {
  for (std::string_view key : {"nodeTopology", "storageClassName"}) {
    RequireSame(next, old, key, out);
  }
}

void ValidateDriverUpdate(const Json& next, const Json& old, std::vector<Cause>* out) {
  const Json& spec = *Find(next, "spec");
  const Json* attach = Find(&spec, "attachRequired");
  if (!Same(attach, Find(old, "spec", "attachRequired"))) {
    // The field's name in the message is the server's.
    out->push_back(
        InvalidValue("spec.attachedRequired", attach ? Dump(*attach) : "null", kImmutable));
  }
  const Json* modes = Find(&spec, "volumeLifecycleModes");
  if (!Same(modes, Find(old, "spec", "volumeLifecycleModes"))) {
    out->push_back(
        InvalidValue("spec.volumeLifecycleModes", modes ? Dump(*modes) : "null", kImmutable));
  }
}

// A driver on a node can come and go and change what it can hold, nothing else.
void ValidateNodeUpdate(const Json& next, const Json& old, std::vector<Cause>* out) {
  const Json* drivers = Find(next, "spec", "drivers");
  const Json* old_drivers = Find(old, "spec", "drivers");
  if (IsEmpty(drivers) || IsEmpty(old_drivers)) return;
  for (const Json& driver : drivers->GetArray()) {
    for (const Json& before : old_drivers->GetArray()) {
      if (TextAt(driver, "name") != TextAt(before, "name")) continue;
      const Json* keys = Find(driver, "topologyKeys");
      if (TextAt(driver, "nodeID") == TextAt(before, "nodeID") &&
          Same(keys, Find(before, "topologyKeys"))) {
        continue;
      }
      out->push_back(InvalidValue(
          "spec.drivers",
          StrCat("{\"Name\":", JsonString(TextAt(driver, "name")),
                 ",\"NodeID\":", JsonString(TextAt(driver, "nodeID")),
                 ",\"TopologyKeys\":", keys ? Dump(*keys) : "null", ",\"Allocatable\":null}"),
          kImmutable));
    }
  }
}

void ValidateAttributesClassUpdate(const Json& next, const Json& old, std::vector<Cause>* out) {
  for (std::string_view key : {"driverName", "parameters"}) {
    if (!Same(Find(next, key), Find(old, key))) {
      out->push_back(
          ForbiddenValue(std::string(key), StrCat("updates to ", key, " are forbidden.")));
    }
  }
}

void ValidatePodUpdate(const Json& next, const Json& old, std::vector<Cause>* out) {
  JsonDocument before, after;
  before.CopyFrom(*Find(old, "spec"), before.GetAllocator());
  after.CopyFrom(*Find(next, "spec"), after.GetAllocator());
  for (JsonDocument* spec : {&before, &after}) {
    for (std::string_view key : {"tolerations", "activeDeadlineSeconds",
                                 "terminationGracePeriodSeconds", "schedulingGates"}) {
      Remove(*spec, key);
    }
    for (std::string_view list : {"containers", "initContainers"}) {
      Json* containers = FindMutable(spec, list);
      if (containers == nullptr || !containers->IsArray()) continue;
      for (Json& container : containers->GetArray()) Remove(container, "image");
    }
  }
  if (before != after) {
    out->push_back(ForbiddenValue(
        "spec",
        "pod updates may not change fields other than `spec.containers[*].image`,"
        "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only "
        "additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be "
        "set to 1 if it was previously negative)\n"));
  }
}

// Go's names of the fields of a VolumeAttachment's spec, as the server prints the value.
std::string GoAttachmentSpec(const Json& spec) {
  const Json* in_line = Find(spec, "source", "inlineVolumeSpec");
  std::string_view volume = TextAt(spec, "source", "persistentVolumeName");
  const Json* name = Find(spec, "source", "persistentVolumeName");
  return StrCat("{\"Attacher\":", JsonString(TextAt(spec, "attacher")),
                ",\"Source\":{\"PersistentVolumeName\":", name ? JsonString(volume) : "null",
                ",\"InlineVolumeSpec\":", in_line ? Dump(*in_line) : "null",
                "},\"NodeName\":", JsonString(TextAt(spec, "nodeName")), "}");
}

}  // namespace

void ValidateSpec(const ResourceInfo& info, const JsonDocument& document, std::vector<Cause>* out) {
  if (info.custom) return;
  const std::string& kind = info.kind;
  if (kind == "PersistentVolumeClaim") ValidateClaim(document, out);
  if (kind == "PersistentVolume") ValidateVolume(document, out);
  if (kind == "VolumeAttachment") ValidateAttachment(document, out);
  if (kind == "StorageClass") ValidateClass(document, out);
  if (kind == "Lease") ValidateLease(document, out);
  if (kind == "Event") ValidateEvent(document, out);
  if (kind == "Pod") ValidatePod(document, out);
  if (kind == "CSIDriver") ValidateDriverName(document, out);
  if (kind == "CSIStorageCapacity" && TextAt(document, "storageClassName").empty()) {
    out->push_back(InvalidValue("storageClassName", "\"\"", *NameError(NameRule::kSubdomain, "")));
  }
}

void ValidateSpecUpdate(const ResourceInfo& info, const JsonDocument& next, const JsonDocument& old,
                        std::vector<Cause>* out) {
  if (info.custom) return;
  const std::string& kind = info.kind;
  if (kind == "PersistentVolumeClaim") ValidateClaimUpdate(next, old, out);
  if (kind == "PersistentVolume") ValidateVolumeUpdate(next, old, out);
  if (kind == "VolumeAttachment" && !Same(Find(next, "spec"), Find(old, "spec"))) {
    out->push_back(InvalidValue("spec", GoAttachmentSpec(*Find(next, "spec")), kImmutable));
  }
  if (kind == "StorageClass") ValidateClassUpdate(next, old, out);
  if (kind == "CSIDriver") ValidateDriverUpdate(next, old, out);
  if (kind == "CSINode") ValidateNodeUpdate(next, old, out);
  if (kind == "VolumeAttributesClass") ValidateAttributesClassUpdate(next, old, out);
  if (kind == "Lease") ValidateLease(next, out);
  if (kind == "CSIStorageCapacity") ValidateCapacityUpdate(next, old, out);
  if (kind == "Pod") ValidatePodUpdate(next, old, out);
}

}  // namespace csinative::apiserver
