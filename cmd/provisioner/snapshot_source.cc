// SPDX-License-Identifier: Apache-2.0
#include "cmd/provisioner/snapshot_source.h"

#include <optional>
#include <set>
#include <string_view>

#include "apis/core/v1/maps.h"
#include "apis/core/v1/well_known.h"
#include "apis/resource/quantity.h"
#include "lib/base/go_quote.h"
#include "lib/base/strings.h"

namespace csinative::provisioner {
namespace {

std::string NameOf(const rapidjson::Document& object) {
  return TextAt(object, {"metadata", "name"}).value_or("");
}

Status Unusable(const rapidjson::Document& snapshot, std::string_view why) {
  return FailedPreconditionError(StrCat("snapshot ", NameOf(snapshot), " ", why));
}

// strconv.ParseBool.
std::optional<bool> ParseBool(const std::string& text) {
  static const std::set<std::string_view> kTrue{"1", "t", "T", "true", "TRUE", "True"};
  static const std::set<std::string_view> kFalse{"0", "f", "F", "false", "FALSE", "False"};
  if (kTrue.contains(text)) return true;
  if (kFalse.contains(text)) return false;
  return std::nullopt;
}

// Check 9.
Status CheckSize(const core::PersistentVolumeClaim& claim, const rapidjson::Document& snapshot) {
  auto restore_size = TextAt(snapshot, {"status", "restoreSize"});
  const JsonValue* number = ValueAt(snapshot, {"status", "restoreSize"});
  if (number != nullptr && number->IsInt64()) restore_size = StrCat(number->GetInt64());
  if (!restore_size) return Status();
  const auto* request = apis::GetEntry(claim.spec().resources().requests(), apis::kResourceStorage);
  if (request == nullptr) {
    return FailedPreconditionError(
        StrCat("claim ", claim.metadata().name(), " requests no storage"));
  }
  CSI_ASSIGN_OR_RETURN(const apis::Quantity requested, apis::Quantity::FromProto(*request));
  CSI_ASSIGN_OR_RETURN(const apis::Quantity needed, apis::Quantity::Parse(*restore_size));
  if (requested < needed) {
    return FailedPreconditionError(StrCat("requested volume size ", requested.Value(),
                                          " is less than the size ", needed.Value(),
                                          " for the source snapshot ", NameOf(snapshot)));
  }
  return Status();
}

// Check 10.
Status CheckMode(const core::PersistentVolumeClaim& claim, const rapidjson::Document& content) {
  const auto source_mode = TextAt(content, {"spec", "sourceVolumeMode"});
  if (!source_mode || !claim.spec().has_volumemode() || *source_mode == claim.spec().volumemode()) {
    return Status();
  }
  const auto refused = [&](const std::string& why) {
    return FailedPreconditionError(StrCat(
        "requested volume ", claim.metadata().namespace_(), "/", claim.metadata().name(),
        " modifies the mode of the source volume but does not have permission to do so. ", why));
  };
  const auto allowed =
      TextAt(content, {"metadata", "annotations", apis::kAnnAllowVolumeModeChange});
  if (!allowed) {
    return refused(StrCat(apis::kAnnAllowVolumeModeChange,
                          " annotation is not present on snapshotcontent ", NameOf(content)));
  }
  const std::optional<bool> value = ParseBool(*allowed);
  if (!value) {
    return refused(StrCat("failed to convert ", apis::kAnnAllowVolumeModeChange,
                          " annotation value to boolean with error: strconv.ParseBool: parsing ",
                          GoQuote(*allowed), ": invalid syntax"));
  }
  if (*value) return Status();
  return refused(StrCat(apis::kAnnAllowVolumeModeChange, " is set to false on snapshotcontent ",
                        NameOf(content)));
}

}  // namespace

Result<std::string> BoundContentName(const rapidjson::Document& snapshot) {
  // One that was being restored when it was deleted stays usable.
  if (ValueAt(snapshot, {"metadata", "deletionTimestamp"}) != nullptr &&
      !HasFinalizer(snapshot, apis::kFinalizerSnapshotSource)) {
    return Unusable(snapshot, "is being deleted");
  }
  auto content = TextAt(snapshot, {"status", "boundVolumeSnapshotContentName"});
  if (!content) return Unusable(snapshot, "not bound");
  return *std::move(content);
}

Result<std::string> RestorableHandle(const core::PersistentVolumeClaim& claim,
                                     const rapidjson::Document& snapshot,
                                     const rapidjson::Document& content,
                                     const std::string& provisioner, ModeConversion conversion) {
  const auto content_unusable = [&](std::string_view why) {
    return FailedPreconditionError(
        StrCat("snapshotcontent ", NameOf(content), " for snapshot ", NameOf(snapshot), " ", why));
  };
  for (const std::string_view field : {"uid", "namespace", "name"}) {
    if (TextAt(content, {"spec", "volumeSnapshotRef", field}).value_or("") !=
        TextAt(snapshot, {"metadata", field}).value_or("")) {
      return content_unusable("is bound to a different snapshot");
    }
  }
  if (TextAt(content, {"spec", "driver"}).value_or("") != provisioner) {
    return content_unusable(
        StrCat("is not handled by CSI driver of StorageClass ", claim.spec().storageclassname()));
  }
  const JsonValue* ready = ValueAt(snapshot, {"status", "readyToUse"});
  if (ready == nullptr || !ready->IsBool() || !ready->GetBool()) {
    return Unusable(snapshot, "is not Ready");
  }
  auto handle = TextAt(content, {"status", "snapshotHandle"});
  if (!handle) {
    return FailedPreconditionError(
        StrCat("snapshot handle ", NameOf(snapshot), " is not available"));
  }
  CSI_RETURN_IF_ERROR(CheckSize(claim, snapshot));
  if (conversion == ModeConversion::kNeedsPermission) {
    CSI_RETURN_IF_ERROR(CheckMode(claim, content));
  }
  return *std::move(handle);
}

}  // namespace csinative::provisioner
