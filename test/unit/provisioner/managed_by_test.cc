// SPDX-License-Identifier: Apache-2.0
#include "cmd/provisioner/managed_by.h"

#include <gtest/gtest.h>

#include "test/support/oracle_rows.h"

namespace csinative::provisioner {
namespace {

std::string Node(int letters) { return "node" + std::string(letters, 'a'); }

struct Entry {
  std::string row;
  std::string base;
  std::string node;
  std::string expected;
};

TEST(ManagedByOracle, NamesOfNodesFitIntoALabel) {
  const std::string base = "external-provisioner";
  const Entry kEntries[] = {
      {"provisioner/22.17/1", base, "node01", "external-provisioner-node01"},
      {"provisioner/22.17/2", "", "node01", "node01"},
      {"provisioner/22.17/3", base, Node(38), "external-provisioner-" + Node(38)},
      {"provisioner/22.17/4", base, Node(39), "external-p-53f40b57-" + Node(39)},
      {"provisioner/22.17/5", base, Node(48), "e-53f40b57-" + Node(48)},
      {"provisioner/22.17/6", base, Node(49), "external-provisioner-a3607ff1"},
      {"provisioner/22.17/7", base, Node(63), "external-provisioner-df38e37f"},
      {"provisioner/22.17/8", "", Node(63), "fa65587e"},
  };
  for (const Entry& entry : kEntries) {
    const oracle::Row row(entry.row);
    const std::string name = ManagedBy(entry.base, entry.node);
    EXPECT_EQ(name, entry.expected);
    EXPECT_LE(name.size(), 63u);
  }
}

}  // namespace
}  // namespace csinative::provisioner
