// SPDX-License-Identifier: Apache-2.0
#include "cmd/provisioner/create_request.h"

#include "apis/core/v1/maps.h"
#include "apis/core/v1/well_known.h"
#include "apis/resource/quantity.h"
#include "lib/base/strings.h"

namespace csinative::provisioner {
Result<std::string> VolumeName(const VolumeNaming& naming, std::string_view claim_uid) {
  if (naming.prefix.empty())
    return InvalidArgumentError("volume name prefix cannot be of length 0");
  if (claim_uid.empty()) return InvalidArgumentError("the claim has no UID to name a volume after");
  if (naming.uuid_length == -1) return StrCat(naming.prefix, "-", claim_uid);
  constexpr int64_t kUuidDigits = 32;
  if (naming.uuid_length < 1 || naming.uuid_length > kUuidDigits) {
    // Differs: upstream crashes beyond 32 or below -1, and with 0 gives every volume one name that
    // the API server refuses.
    return InvalidArgumentError(StrCat("volume name UUID length ", naming.uuid_length,
                                       " is neither -1 nor in 1..", kUuidDigits));
  }
  const std::string digits = ReplaceAll(claim_uid, "-", "");
  return StrCat(naming.prefix, "-", digits.substr(0, static_cast<size_t>(naming.uuid_length)));
}

Result<int64_t> RequestedBytes(const core::PersistentVolumeClaim& claim) {
  const auto* request = apis::GetEntry(claim.spec().resources().requests(), apis::kResourceStorage);
  if (request == nullptr) return int64_t{0};
  CSI_ASSIGN_OR_RETURN(const apis::Quantity quantity, apis::Quantity::FromProto(*request));
  return quantity.Value();
}

bool IsBlock(const core::PersistentVolumeClaim& claim) {
  return claim.spec().volumemode() == apis::kVolumeModeBlock;
}

Result<std::vector<::csi::v1::VolumeCapability>> VolumeCapabilities(
    const core::PersistentVolumeClaim& claim, const storage::StorageClass& klass,
    const std::string& fs_type, csi::SingleNodeMultiWriter driver) {
  std::vector<::csi::v1::VolumeCapability> out;
  for (const std::string& mode : claim.spec().accessmodes()) {
    ::csi::v1::VolumeCapability& capability = out.emplace_back();
    // Each mode alone, so no combination is refused here.
    CSI_ASSIGN_OR_RETURN(const auto csi_mode, csi::ToCsiAccessMode({&mode, 1}, driver));
    capability.mutable_access_mode()->set_mode(csi_mode);
    if (IsBlock(claim)) {
      capability.mutable_block();
      continue;
    }
    auto* mount = capability.mutable_mount();
    mount->set_fs_type(fs_type);
    mount->mutable_mount_flags()->CopyFrom(klass.mountoptions());
  }
  return out;
}

}  // namespace csinative::provisioner
