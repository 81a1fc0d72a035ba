// SPDX-License-Identifier: Apache-2.0
#include "cmd/provisioner/clone_source.h"

#include <gtest/gtest.h>

#include <functional>

#include "apis/core/v1/maps.h"
#include "apis/core/v1/well_known.h"
#include "test/support/oracle_rows.h"

namespace csinative::provisioner {
namespace {

struct Objects {
  core::PersistentVolumeClaim claim;
  core::PersistentVolumeClaim source;
  core::PersistentVolume volume;
};

// A source that can be cloned.
Objects Good() {
  Objects o;
  o.claim.mutable_metadata()->set_name("clone");
  o.claim.mutable_spec()->set_storageclassname("fake-sc-1");
  apis::MutableEntry(o.claim.mutable_spec()->mutable_resources()->mutable_requests(), "storage")
      ->set_string("1000");
  o.source.mutable_metadata()->set_name("src");
  o.source.mutable_metadata()->set_namespace_("ns");
  o.source.mutable_metadata()->set_uid("src-uid");
  o.source.mutable_spec()->set_storageclassname("fake-sc-1");
  o.source.mutable_spec()->set_volumename("pv");
  apis::MutableEntry(o.source.mutable_spec()->mutable_resources()->mutable_requests(), "storage")
      ->set_string("1000");
  o.source.mutable_status()->set_phase("Bound");
  o.volume.mutable_metadata()->set_name("pv");
  o.volume.mutable_spec()->mutable_persistentvolumesource()->mutable_csi()->set_driver("drv");
  auto* reference = o.volume.mutable_spec()->mutable_claimref();
  reference->set_namespace_("ns");
  reference->set_name("src");
  reference->set_uid("src-uid");
  o.volume.mutable_status()->set_phase("Bound");
  return o;
}

struct CloneCase {
  std::string rows;  // of the oracle
  std::string name;
  std::function<void(Objects*)> change;
  bool usable = false;
};

void PrintTo(const CloneCase& c, std::ostream* out) { *out << c.name; }

class CloneSourceTest : public ::testing::TestWithParam<CloneCase> {};

TEST_P(CloneSourceTest, FollowsTheOracle) {
  const oracle::Rows rows(GetParam().rows);
  Objects o = Good();
  GetParam().change(&o);
  Status status = CheckSourceClaim(o.claim, o.source);
  if (status.ok()) status = CheckSourceVolume(o.claim, o.source, o.volume, "drv");
  EXPECT_EQ(status.ok(), GetParam().usable) << status.message();
}

void SetRequest(core::PersistentVolumeClaim* claim, const std::string& size) {
  apis::MutableEntry(claim->mutable_spec()->mutable_resources()->mutable_requests(), "storage")
      ->set_string(size);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, CloneSourceTest,
    ::testing::Values(
        CloneCase{"provisioner/22.8/1", "matching", [](Objects*) {}, true},
        CloneCase{"provisioner/22.8/3", "another class",
                  [](Objects* o) { o->claim.mutable_spec()->set_storageclassname("fake-sc-2"); },
                  true},
        CloneCase{"provisioner/22.8/4", "larger", [](Objects* o) { SetRequest(&o->claim, "1001"); },
                  true},
        CloneCase{"provisioner/22.8/5", "smaller",
                  [](Objects* o) { SetRequest(&o->claim, "999"); }},
        CloneCase{"provisioner/22.8/7", "source without class",
                  [](Objects* o) { o->source.mutable_spec()->clear_storageclassname(); }},
        CloneCase{"provisioner/22.8/8", "claim without class",
                  [](Objects* o) { o->claim.mutable_spec()->clear_storageclassname(); }},
        CloneCase{"provisioner/22.8/10", "source Pending",
                  [](Objects* o) { o->source.mutable_status()->set_phase("Pending"); }},
        CloneCase{"provisioner/22.8/10", "source Lost",
                  [](Objects* o) { o->source.mutable_status()->set_phase("Lost"); }},
        CloneCase{"", "source is being deleted",
                  [](Objects* o) {
                    o->source.mutable_metadata()->mutable_deletiontimestamp()->set_seconds(1);
                  }},
        CloneCase{"", "source without volume",
                  [](Objects* o) { o->source.mutable_spec()->clear_volumename(); }},
        CloneCase{"provisioner/22.8/11", "volume Released",
                  [](Objects* o) { o->volume.mutable_status()->set_phase("Released"); }},
        CloneCase{"provisioner/22.8/11", "volume Failed",
                  [](Objects* o) { o->volume.mutable_status()->set_phase("Failed"); }},
        CloneCase{"provisioner/22.8/11", "volume Pending",
                  [](Objects* o) { o->volume.mutable_status()->set_phase("Pending"); }},
        CloneCase{"provisioner/22.8/11", "volume Available",
                  [](Objects* o) { o->volume.mutable_status()->set_phase("Available"); }},
        CloneCase{"provisioner/22.8/12", "volume without claim",
                  [](Objects* o) { o->volume.mutable_spec()->clear_claimref(); }},
        CloneCase{"provisioner/22.8/13", "other UID",
                  [](Objects* o) { o->volume.mutable_spec()->mutable_claimref()->set_uid("x"); }},
        CloneCase{
            "provisioner/22.8/13", "other namespace",
            [](Objects* o) { o->volume.mutable_spec()->mutable_claimref()->set_namespace_("x"); }},
        CloneCase{"provisioner/22.8/13", "other name",
                  [](Objects* o) { o->volume.mutable_spec()->mutable_claimref()->set_name("x"); }},
        CloneCase{
            "provisioner/22.8/14", "other driver",
            [](Objects* o) {
              o->volume.mutable_spec()->mutable_persistentvolumesource()->mutable_csi()->set_driver(
                  "wrong.com");
            }},
        CloneCase{"", "in-tree volume",
                  [](Objects* o) { o->volume.mutable_spec()->clear_persistentvolumesource(); }},
        CloneCase{"provisioner/22.8/15", "Block from Block",
                  [](Objects* o) {
                    o->claim.mutable_spec()->set_volumemode("Block");
                    o->volume.mutable_spec()->set_volumemode("Block");
                  },
                  true},
        CloneCase{"provisioner/22.8/16", "Block from Filesystem",
                  [](Objects* o) {
                    o->claim.mutable_spec()->set_volumemode("Block");
                    o->volume.mutable_spec()->set_volumemode("Filesystem");
                  }},
        CloneCase{"provisioner/22.8/16", "Block from no mode",
                  [](Objects* o) { o->claim.mutable_spec()->set_volumemode("Block"); }},
        CloneCase{"provisioner/22.8/17", "Filesystem from Filesystem",
                  [](Objects* o) {
                    o->claim.mutable_spec()->set_volumemode("Filesystem");
                    o->volume.mutable_spec()->set_volumemode("Filesystem");
                  },
                  true},
        CloneCase{"provisioner/22.8/17", "Filesystem from no mode",
                  [](Objects* o) { o->claim.mutable_spec()->set_volumemode("Filesystem"); }, true},
        CloneCase{"provisioner/22.8/18", "Filesystem from Block", [](Objects* o) {
                    o->claim.mutable_spec()->set_volumemode("Filesystem");
                    o->volume.mutable_spec()->set_volumemode("Block");
                  }}));

}  // namespace
}  // namespace csinative::provisioner
