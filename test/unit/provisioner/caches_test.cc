// SPDX-License-Identifier: Apache-2.0
#include "cmd/provisioner/caches.h"

#include <gtest/gtest.h>

#include "apis/core/v1/maps.h"
#include "apis/core/v1/well_known.h"
#include "cmd/provisioner/pv_finalizers.h"
#include "cmd/provisioner/volume_filter.h"

namespace csinative::provisioner {
namespace {

core::PersistentVolumeClaim BoundClaim() {
  core::PersistentVolumeClaim claim;
  auto* metadata = claim.mutable_metadata();
  metadata->set_name("data-web-0");
  metadata->set_namespace_("default");
  metadata->set_uid("bf195b77-4a72-4434-be50-16450e8a347e");
  metadata->set_resourceversion("123456");
  metadata->mutable_creationtimestamp()->set_seconds(1);
  metadata->add_finalizers("kubernetes.io/pvc-protection");
  apis::SetEntry(metadata->mutable_annotations(), apis::kAnnStorageProvisioner, "drv");
  apis::SetEntry(metadata->mutable_annotations(), "big", std::string(10000, 'x'));
  apis::SetEntry(metadata->mutable_labels(), "app", "web");
  auto* spec = claim.mutable_spec();
  spec->add_accessmodes("ReadWriteOnce");
  spec->set_storageclassname("standard");
  spec->set_volumename("pvc-bf195b77-4a72-4434-be50-16450e8a347e");
  spec->set_volumemode("Filesystem");
  apis::MutableEntry(spec->mutable_resources()->mutable_requests(), "storage")->set_string("1Gi");
  claim.mutable_status()->set_phase("Bound");
  apis::MutableEntry(claim.mutable_status()->mutable_capacity(), "storage")->set_string("1Gi");
  return claim;
}

TEST(PruneClaimTest, BoundClaimKeepsWhatACloneOfItNeeds) {
  core::PersistentVolumeClaim claim = BoundClaim();
  PruneClaim(&claim);
  EXPECT_LE(claim.ByteSizeLong(), 240u);
  EXPECT_EQ(claim.metadata().annotations_size(), 0);
  EXPECT_EQ(claim.metadata().finalizers_size(), 1);
  EXPECT_EQ(claim.metadata().resourceversion(), "123456");
  EXPECT_TRUE(claim.spec().has_storageclassname());
  EXPECT_EQ(claim.spec().volumename(), "pvc-bf195b77-4a72-4434-be50-16450e8a347e");
  EXPECT_EQ(apis::GetEntry(claim.spec().resources().requests(), "storage")->string(), "1Gi");
  EXPECT_EQ(claim.status().phase(), "Bound");
}

TEST(PruneClaimTest, WaitingClaimKeepsItsAnnotationsAndSources) {
  core::PersistentVolumeClaim claim = BoundClaim();
  claim.mutable_spec()->clear_volumename();
  claim.mutable_status()->set_phase("Pending");
  claim.mutable_spec()->mutable_datasource()->set_name("s");
  claim.mutable_spec()->mutable_selector();
  PruneClaim(&claim);
  EXPECT_EQ(claim.metadata().annotations_size(), 2);
  EXPECT_EQ(claim.spec().accessmodes_size(), 1);
  EXPECT_EQ(claim.spec().datasource().name(), "s");
  EXPECT_TRUE(claim.spec().has_selector());
  EXPECT_EQ(claim.spec().volumemode(), "Filesystem");
}

TEST(PruneVolumeTest, DecisionsAreTheSameAfterwards) {
  const DriverNames names{"drv", ""};
  for (const char* phase : {"Pending", "Available", "Bound", "Released", "Failed"}) {
    for (const char* policy : {"Delete", "Retain"}) {
      core::PersistentVolume volume;
      volume.mutable_metadata()->set_name("pvc-bf195b77-4a72-4434-be50-16450e8a347e");
      volume.mutable_metadata()->set_uid("a05fcf52-a513-4dd9-a2c2-ab83ef1ca59d");
      volume.mutable_metadata()->add_finalizers("kubernetes.io/pv-protection");
      apis::SetEntry(volume.mutable_metadata()->mutable_annotations(), apis::kAnnProvisionedBy,
                     "drv");
      apis::SetEntry(volume.mutable_metadata()->mutable_annotations(), "other",
                     std::string(10000, 'x'));
      auto* spec = volume.mutable_spec();
      spec->set_persistentvolumereclaimpolicy(policy);
      spec->set_storageclassname("standard");
      spec->mutable_persistentvolumesource()->mutable_csi()->set_driver("drv");
      spec->mutable_persistentvolumesource()->mutable_csi()->set_volumehandle("handle");
      apis::SetEntry(
          spec->mutable_persistentvolumesource()->mutable_csi()->mutable_volumeattributes(), "a",
          std::string(1000, 'x'));
      spec->mutable_claimref()->set_namespace_("default");
      spec->mutable_claimref()->set_name("data-web-0");
      spec->mutable_claimref()->set_uid("bf195b77-4a72-4434-be50-16450e8a347e");
      spec->mutable_claimref()->set_resourceversion("1");
      volume.mutable_status()->set_phase(phase);
      core::PersistentVolume pruned = volume;
      PruneVolume(&pruned);
      EXPECT_LE(pruned.ByteSizeLong(), 360u);
      EXPECT_EQ(IsOwned(pruned, names), IsOwned(volume, names));
      EXPECT_EQ(NeededFinalizerAction(pruned), NeededFinalizerAction(volume));
      EXPECT_EQ(ShouldDelete(pruned), ShouldDelete(volume));
      EXPECT_EQ(pruned.spec().persistentvolumesource().csi().volumehandle(), "handle");
      EXPECT_EQ(pruned.spec().claimref().name(), "data-web-0");
    }
  }
}

}  // namespace
}  // namespace csinative::provisioner
