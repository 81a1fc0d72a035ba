// SPDX-License-Identifier: Apache-2.0
//
// AWS Elastic Block Store (attacher 12.1, provisioner 16).
#include <algorithm>
#include <utility>
#include <vector>

#include "apis/core/v1/maps.h"
#include "lib/base/strings.h"
#include "lib/translation/partition.h"
#include "lib/translation/plugin.h"
#include "lib/translation/topology.h"

namespace csinative::translation {
namespace {

constexpr std::string_view kZoneKey = "topology.ebs.csi.aws.com/zone";

// "vol-1" of "aws://us-east-1a/vol-1" and of "aws:///vol-1"; anything else is an id already.
Result<std::string> VolumeIdOf(const std::string& id) {
  constexpr std::string_view kScheme = "aws://";
  if (!id.starts_with(kScheme)) return id;
  std::string_view path = std::string_view(id).substr(kScheme.size());
  path = path.substr(0, path.find_first_of("?#"));
  path.remove_prefix(std::min(path.find('/'), path.size()));
  while (path.starts_with('/')) path.remove_prefix(1);
  while (path.ends_with('/')) path.remove_suffix(1);
  if (!path.starts_with("vol-") || path.find('/') != std::string_view::npos) {
    return InvalidArgumentError(StrCat("invalid format for AWS volume (", id, ")"));
  }
  return std::string(path);
}

Status ToCsi(core::PersistentVolume* volume, core::CSIPersistentVolumeSource* csi) {
  const auto& ebs = volume->spec().persistentvolumesource().awselasticblockstore();
  CSI_ASSIGN_OR_RETURN(*csi->mutable_volumehandle(), VolumeIdOf(ebs.volumeid()));
  csi->set_readonly(ebs.readonly());
  csi->set_fstype(ebs.fstype());
  apis::SetEntry(csi->mutable_volumeattributes(), "partition", StrCat(ebs.partition()));
  return Status();
}

// "us-west-2" of the zone us-west-2a, of the local zone us-west-2-lax-1a and of the wavelength zone
// us-west-2-wl1-las-wlz-1; "us-gov-east-1" of us-gov-east-1a.
Result<std::string> RegionOf(const std::string& zone) {
  const auto parts = Split(zone, '-');
  if ((parts.size() == 3 || parts.size() == 4) && parts.back().size() == 2) {
    return zone.substr(0, zone.size() - 1);
  }
  if (parts.size() == 5 || parts.size() == 7) {
    return StrCat(parts[0], "-", parts[1], "-", parts[2]);
  }
  return InvalidArgumentError(StrCat("unexpected zone format: ", zone, " is no AWS zone"));
}

Result<std::string> RegionOfAll(const std::set<std::string>& zones) {
  return OneRegion(zones, RegionOf);
}

Status ClassToCsi(storage::StorageClass* klass) {
  CSI_RETURN_IF_ERROR(
      TranslateClass({.zone_key = kZoneKey, .zones = ClassRules::Zones::kBecomeTopology}, klass));
  const auto& parameters = klass->parameters();
  const bool rate = std::any_of(parameters.begin(), parameters.end(), [](const auto& parameter) {
    return EqualsIgnoreCase(parameter.key(), "iopspergb");
  });
  // The plugin raised the rate to what the volume type needs at least.
  if (rate) {
    apis::SetEntry(klass->mutable_parameters(), "allowautoiopspergbincrease", std::string("true"));
  }
  return Status();
}

Status ToInTree(const core::CSIPersistentVolumeSource& csi, core::PersistentVolume* volume) {
  auto* ebs =
      volume->mutable_spec()->mutable_persistentvolumesource()->mutable_awselasticblockstore();
  ebs->set_volumeid(csi.volumehandle());
  if (!csi.fstype().empty()) ebs->set_fstype(csi.fstype());
  if (csi.readonly()) ebs->set_readonly(true);
  if (const std::string* partition = apis::GetEntry(csi.volumeattributes(), "partition")) {
    CSI_ASSIGN_OR_RETURN(const int32_t number, ParsePartition(*partition));
    if (number != 0) ebs->set_partition(number);
  }
  return TopologyToInTree(kZoneKey, RegionOfAll, volume);
}

}  // namespace

constinit const Plugin kAwsElasticBlockStore = {
    .driver = "ebs.csi.aws.com",
    .in_tree = "kubernetes.io/aws-ebs",
    .has_source =
        [](const core::PersistentVolumeSource& s) { return s.has_awselasticblockstore(); },
    .to_csi = ToCsi,
    .clear_source = [](core::PersistentVolumeSource* s) { s->clear_awselasticblockstore(); },
    .to_in_tree = ToInTree,
    .class_to_csi = ClassToCsi};

}  // namespace csinative::translation
