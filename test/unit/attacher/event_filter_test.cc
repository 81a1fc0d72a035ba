// SPDX-License-Identifier: Apache-2.0
#include "cmd/attacher/event_filter.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>

#include "apis/core/v1/maps.h"
#include "apis/core/v1/well_known.h"
#include "lib/kube/codec.h"
#include "test/support/oracle.h"

namespace csinative::attacher {
namespace {

constexpr char kDriver[] = "pd.csi.storage.gke.io";
constexpr char kFinalizer[] = "external-attacher/pd-csi-storage-gke-io";

// attacher 15.5
storage::VolumeAttachment Base() {
  storage::VolumeAttachment va;
  va.mutable_metadata()->set_resourceversion("1");
  va.mutable_spec()->set_attacher("1");
  va.mutable_status()->mutable_attacherror()->set_message("mock error1");
  va.mutable_status()->mutable_detacherror()->set_message("mock error1");
  return va;
}

struct UpdateRow {
  std::string row;  // of the oracle; empty: none
  std::string name;
  std::function<void(storage::VolumeAttachment* old_va, storage::VolumeAttachment* va)> change;
  bool enqueue;
};

class UpdateFilterTest : public ::testing::TestWithParam<UpdateRow> {};

TEST_P(UpdateFilterTest, DecidesAsTheOracle) {
  std::optional<oracle::Row> row;
  if (!GetParam().row.empty()) row.emplace(GetParam().row);
  storage::VolumeAttachment old_va = Base();
  storage::VolumeAttachment va = Base();
  va.mutable_metadata()->set_resourceversion("2");
  GetParam().change(&old_va, &va);
  EXPECT_EQ(NeedsSync(old_va, va), GetParam().enqueue);
}

using Va = storage::VolumeAttachment;
INSTANTIATE_TEST_SUITE_P(
    Rows, UpdateFilterTest,
    ::testing::Values(
        UpdateRow{"attacher/15.5/1", "resync",
                  [](Va*, Va* va) { va->mutable_metadata()->set_resourceversion("1"); }, true},
        UpdateRow{"attacher/15.5/2", "attacher_changed",
                  [](Va*, Va* va) { va->mutable_spec()->set_attacher("2"); }, true},
        UpdateRow{"attacher/15.5/3", "annotation_added",
                  [](Va*, Va* va) {
                    apis::SetEntry(va->mutable_metadata()->mutable_annotations(), "k", "v");
                  },
                  true},
        UpdateRow{"attacher/15.5/4", "attach_error_changed",
                  [](Va*, Va* va) {
                    va->mutable_status()->mutable_attacherror()->set_message("mock error2");
                  },
                  false},
        UpdateRow{"attacher/15.5/5", "detach_error_changed",
                  [](Va*, Va* va) {
                    va->mutable_status()->mutable_detacherror()->set_message("mock error2");
                  },
                  false},
        UpdateRow{"attacher/15.5/6", "errors_appeared",
                  [](Va* old_va, Va*) { old_va->clear_status(); }, false},
        UpdateRow{"attacher/15.5/7", "detach_error_appeared",
                  [](Va* old_va, Va*) { old_va->mutable_status()->clear_detacherror(); }, false},
        UpdateRow{"", "only_the_version_changed", [](Va*, Va*) {}, false},
        UpdateRow{"", "attached_changed",
                  [](Va*, Va* va) { va->mutable_status()->set_attached(true); }, true},
        UpdateRow{"", "no_errors_at_all",
                  [](Va* old_va, Va* va) {
                    old_va->clear_status();
                    va->clear_status();
                  },
                  true}),
    [](const auto& info) { return info.param.name; });

struct PreparationRow {
  std::string name;
  std::function<void(Va* old_va, Va* va)> change;
  bool is_preparation;
};
class PreparationTest : public ::testing::TestWithParam<PreparationRow> {};

// From an object with nothing to one with finalizer and node id, and then as the row says.
TEST_P(PreparationTest, IsFinalizerAndNodeIdAndNothingElse) {
  Va old_va = Base();
  Va va = Base();
  va.mutable_metadata()->set_resourceversion("2");
  va.mutable_metadata()->add_finalizers(kFinalizer);
  apis::SetEntry(va.mutable_metadata()->mutable_annotations(), apis::kAnnNodeId, "id");
  GetParam().change(&old_va, &va);
  EXPECT_EQ(IsPreparation(old_va, va, kFinalizer), GetParam().is_preparation);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, PreparationTest,
    ::testing::Values(
        PreparationRow{"both", [](Va*, Va*) {}, true},
        PreparationRow{"finalizers_of_others_stay",
                       [](Va* old_va, Va* va) {
                         old_va->mutable_metadata()->add_finalizers("x");
                         *va->mutable_metadata()->mutable_finalizers() = {
                             old_va->metadata().finalizers().begin(),
                             old_va->metadata().finalizers().end()};
                         va->mutable_metadata()->add_finalizers(kFinalizer);
                       },
                       true},
        PreparationRow{"node_id_alone",
                       [](Va* old_va, Va*) {
                         old_va->mutable_metadata()->add_finalizers(kFinalizer);
                         apis::SetEntry(old_va->mutable_metadata()->mutable_annotations(),
                                        apis::kAnnNodeId, "old");
                       },
                       true},
        PreparationRow{"finalizer_alone",
                       [](Va* old_va, Va*) {
                         apis::SetEntry(old_va->mutable_metadata()->mutable_annotations(),
                                        apis::kAnnNodeId, "id");
                       },
                       true},
        PreparationRow{"nothing", [](Va* old_va, Va* va) { *old_va = *va; }, false},
        PreparationRow{"deletion",
                       [](Va*, Va* va) {
                         va->mutable_metadata()->mutable_deletiontimestamp()->set_seconds(1);
                       },
                       false},
        PreparationRow{"error_appeared", [](Va* old_va, Va*) { old_va->clear_status(); }, false},
        PreparationRow{"another_object",
                       [](Va*, Va* va) { va->mutable_metadata()->set_uid("other"); }, false},
        PreparationRow{"finalizer_of_others_came",
                       [](Va*, Va* va) { va->mutable_metadata()->add_finalizers("x"); }, false},
        PreparationRow{"finalizer_went",
                       [](Va* old_va, Va* va) {
                         old_va->mutable_metadata()->add_finalizers(kFinalizer);
                         va->mutable_metadata()->clear_finalizers();
                       },
                       false}),
    [](const auto& info) { return info.param.name; });

TEST(UpdateFilterTest, ManagedFieldsDoNotCount) {
  const oracle::Row row("attacher/15.5/8");
  const auto decode = [](const std::string& version, const std::string& managed) {
    const std::string json =
        R"({"apiVersion":"storage.k8s.io/v1","kind":"VolumeAttachment","metadata":{"name":"va",)"
        R"("resourceVersion":")" +
        version + R"(","managedFields":[)" + managed +
        R"(]},"spec":{"attacher":"1"},"status":{"attached":false,"attachError":)"
        R"({"message":"mock error1"},"detachError":{"message":"mock error1"}}})";
    // As the informer keeps it.
    Va va;
    EXPECT_TRUE(kube::DecodeObject({.encoding = kube::Encoding::kJson, .bytes = json},
                                   kube::UnknownFields::kDrop, &va)
                    .ok());
    return va;
  };
  const std::string entry = R"({"manager":"kube-controller-manager","operation":"Update",)"
                            R"("apiVersion":"storage.k8s.io/v1","fieldsType":"FieldsV1",)"
                            R"("fieldsV1":{"f:spec":{}}})";
  EXPECT_FALSE(NeedsSync(decode("1", ""), decode("2", entry)));
}

// attacher 15.3, "PV event filter"
struct VolumeRow {
  std::string name;
  bool finalizer = true;
  bool going = false;
  bool in_tree = false;
  std::string migrated_to = "";
  bool relevant = false;
};

class VolumeFilterTest : public ::testing::TestWithParam<VolumeRow> {};

TEST_P(VolumeFilterTest, DecidesAsTheOracle) {
  const VolumeRow& row = GetParam();
  core::PersistentVolume volume;
  if (row.finalizer) volume.mutable_metadata()->add_finalizers(kFinalizer);
  if (row.going) volume.mutable_metadata()->mutable_deletiontimestamp()->set_seconds(1);
  if (row.in_tree) {
    volume.mutable_spec()->mutable_persistentvolumesource()->mutable_gcepersistentdisk();
  }
  if (!row.migrated_to.empty()) {
    apis::SetEntry(volume.mutable_metadata()->mutable_annotations(), "pv.kubernetes.io/migrated-to",
                   row.migrated_to);
  }
  EXPECT_EQ(NeedsSync(volume, kFinalizer, kDriver), row.relevant);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, VolumeFilterTest,
    ::testing::Values(
        VolumeRow{.name = "empty", .finalizer = false}, VolumeRow{.name = "live"},
        VolumeRow{.name = "going", .going = true, .relevant = true},
        VolumeRow{.name = "going_without_finalizer", .finalizer = false, .going = true},
        VolumeRow{.name = "in_tree", .in_tree = true, .relevant = true},
        VolumeRow{.name = "in_tree_of_another_driver",
                  .in_tree = true,
                  .migrated_to = "other",
                  .relevant = true},
        VolumeRow{.name = "in_tree_migrated", .in_tree = true, .migrated_to = kDriver}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace csinative::attacher
