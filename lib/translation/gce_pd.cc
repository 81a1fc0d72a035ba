// SPDX-License-Identifier: Apache-2.0
//
// GCE persistent disks (attacher 12.2, 12.3, provisioner 16).
#include <set>
#include <utility>
#include <vector>

#include "apis/core/v1/maps.h"
#include "apis/core/v1/well_known.h"
#include "lib/base/strings.h"
#include "lib/translation/partition.h"
#include "lib/translation/plugin.h"
#include "lib/translation/topology.h"

namespace csinative::translation {
namespace {

constexpr std::string_view kUnspecified = "UNSPECIFIED";
constexpr std::string_view kZoneKey = "topology.gke.io/zone";

// Parts of "projects/<project>/zones/<zone>/disks/<disk>", and of a node id of the same form.
constexpr size_t kProject = 1;
constexpr size_t kLevel = 2;  // "zones" or "regions"
constexpr size_t kPlace = 3;
constexpr size_t kParts = 6;

std::set<std::string> ZonesOf(const core::PersistentVolume& volume) {
  const auto& labels = volume.metadata().labels();
  std::string_view label = apis::GetEntryOr(labels, apis::kLabelBetaZone);
  if (label.empty()) label = apis::GetEntryOr(labels, apis::kLabelZone);
  std::set<std::string> zones;
  while (true) {
    const size_t end = label.find(kZoneSeparator);
    zones.emplace(label.substr(0, end));
    if (end == std::string_view::npos) return zones;
    label.remove_prefix(end + kZoneSeparator.size());
  }
}

// "us-central1" of "us-central1-c".
Result<std::string> RegionOf(const std::string& zone) {
  const auto parts = Split(zone, '-');
  if (parts.size() != 3) {
    return InvalidArgumentError(
        StrCat("expected a zone of three parts, like us-central1-c, not ", zone));
  }
  return StrCat(parts[0], "-", parts[1]);
}

Result<std::string> RegionOfAll(const std::set<std::string>& zones) {
  return OneRegion(zones, RegionOf);
}

std::string Handle(std::string_view level, std::string_view place, std::string_view disk) {
  return StrCat("projects/", kUnspecified, "/", level, "/", place, "/disks/", disk);
}

// A disk is written by one node, or read by many.
void RestrictAccessModes(core::PersistentVolumeSpec* spec) {
  if (spec->accessmodes().empty()) return;
  bool many_read = false, one_writes = false;
  for (const std::string& mode : spec->accessmodes()) {
    many_read |= mode == apis::kReadOnlyMany;
    one_writes |= mode == apis::kReadWriteOnce || mode == apis::kReadWriteMany;
  }
  spec->clear_accessmodes();
  spec->add_accessmodes(
      std::string(many_read && !one_writes ? apis::kReadOnlyMany : apis::kReadWriteOnce));
}

Status ToCsi(core::PersistentVolume* volume, core::CSIPersistentVolumeSource* csi) {
  const core::GCEPersistentDiskVolumeSource& disk =
      volume->spec().persistentvolumesource().gcepersistentdisk();
  const std::set<std::string> zones = ZonesOf(*volume);
  if (zones.size() > 1) {
    CSI_ASSIGN_OR_RETURN(const std::string region, RegionOfAll(zones));
    csi->set_volumehandle(Handle("regions", region, disk.pdname()));
  } else {
    const std::string& zone = *zones.begin();
    csi->set_volumehandle(
        Handle("zones", zone.empty() ? kUnspecified : std::string_view(zone), disk.pdname()));
  }
  csi->set_readonly(disk.readonly());
  csi->set_fstype(disk.fstype());
  apis::SetEntry(csi->mutable_volumeattributes(), "partition",
                 disk.partition() == 0 ? std::string() : StrCat(disk.partition()));
  RestrictAccessModes(volume->mutable_spec());
  return Status();
}

Result<std::string> RepairHandle(const std::string& handle, const std::string& node_id) {
  auto parts = Split(handle, '/');
  if (parts.size() < kParts) {
    return InvalidArgumentError(StrCat("volume handle has too few parts: ", handle));
  }
  if (parts[kProject] != kUnspecified) return handle;
  const auto node = Split(node_id, '/');
  if (node.size() < kParts) {
    return InvalidArgumentError(StrCat("node id has too few parts: ", node_id));
  }
  std::string place(parts[kPlace]);
  if (parts[kLevel] == "zones") {
    if (place == kUnspecified) place = node[kPlace];
  } else if (parts[kLevel] == "regions") {
    if (place == kUnspecified) {
      CSI_ASSIGN_OR_RETURN(place, RegionOf(std::string(node[kPlace])));
    }
  } else {
    return InvalidArgumentError(
        StrCat("expected zones or regions in the volume handle ", handle, ", not ", parts[kLevel]));
  }
  return StrCat("projects/", node[kProject], "/", parts[kLevel], "/", place, "/disks/",
                parts[kParts - 1]);
}

Status ClassToCsi(storage::StorageClass* klass) {
  return TranslateClass({.zone_key = kZoneKey, .zones = ClassRules::Zones::kBecomeTopology}, klass);
}

Status ToInTree(const core::CSIPersistentVolumeSource& csi, core::PersistentVolume* volume) {
  const auto parts = Split(csi.volumehandle(), '/');
  if (parts.size() < kParts) {
    return InvalidArgumentError(StrCat("volume handle has too few parts: ", csi.volumehandle()));
  }
  auto* disk =
      volume->mutable_spec()->mutable_persistentvolumesource()->mutable_gcepersistentdisk();
  disk->set_pdname(std::string(parts[kParts - 1]));
  if (!csi.fstype().empty()) disk->set_fstype(csi.fstype());
  if (csi.readonly()) disk->set_readonly(true);
  const std::string_view partition = apis::GetEntryOr(csi.volumeattributes(), "partition");
  if (!partition.empty()) {
    CSI_ASSIGN_OR_RETURN(const int32_t number, ParsePartition(partition));
    if (number != 0) disk->set_partition(number);
  }
  return TopologyToInTree(kZoneKey, RegionOfAll, volume);
}

}  // namespace

constinit const Plugin kGcePersistentDisk = {
    .driver = "pd.csi.storage.gke.io",
    .in_tree = "kubernetes.io/gce-pd",
    .has_source = [](const core::PersistentVolumeSource& s) { return s.has_gcepersistentdisk(); },
    .to_csi = ToCsi,
    .clear_source = [](core::PersistentVolumeSource* s) { s->clear_gcepersistentdisk(); },
    .to_in_tree = ToInTree,
    .class_to_csi = ClassToCsi,
    .repair_handle = RepairHandle,
    .labels = {apis::kLabelBetaZone, apis::kLabelZone}};

}  // namespace csinative::translation
