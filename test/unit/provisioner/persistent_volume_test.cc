// SPDX-License-Identifier: Apache-2.0
#include "cmd/provisioner/persistent_volume.h"

#include <gtest/gtest.h>

#include "apis/core/v1/maps.h"
#include "test/support/oracle_rows.h"

namespace csinative::provisioner {
namespace {

struct Entry {
  std::string row;
  int64_t bytes;
  std::string expected;
};

TEST(CapacityOracle, IsABinaryQuantity) {
  const double gib = 1024.0 * 1024 * 1024;
  const Entry kEntries[] = {
      {"provisioner/22.1/5", static_cast<int64_t>(5.56 * gib), "5970004541"},
      {"provisioner/22.1/6", static_cast<int64_t>(5.5 * gib), "5632Mi"},
      {"provisioner/22.1/7", static_cast<int64_t>(5 * gib), "5Gi"},
      {"provisioner/22.1/8", static_cast<int64_t>(5.23 * 1024 * 1024), "5484052"},
      {"provisioner/22.1/9", 102400, "100Ki"},
      {"", 1000, "1k"},
      {"", 0, "0"},
  };
  for (const Entry& entry : kEntries) {
    const oracle::Rows rows(entry.row);
    const core::PersistentVolumeClaim claim;
    const storage::StorageClass klass;
    const ::csi::v1::Volume created;
    VolumeRecipe recipe;
    recipe.claim = &claim;
    recipe.klass = &klass;
    recipe.volume = &created;
    recipe.capacity_bytes = entry.bytes;
    const core::PersistentVolume volume = BuildVolume(recipe);
    EXPECT_EQ(apis::GetEntry(volume.spec().capacity(), "storage")->string(), entry.expected);
  }
}

}  // namespace
}  // namespace csinative::provisioner
