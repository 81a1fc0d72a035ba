// SPDX-License-Identifier: Apache-2.0
//
// kube-client 24.12 E31: labels of the leader election's lease.
#include <gtest/gtest.h>

#include "lib/cli/common_flags.h"
#include "test/support/oracle.h"

namespace csinative::cli {
namespace {

TEST(LabelsOracle, OneColonEach) {
  struct Entry {
    const char* text;
    bool ok;
  };
  const Entry kEntries[] = {{"a:b", true}, {"a", false}, {"a:b:c", false}};
  for (const Entry& entry : kEntries) {
    const oracle::Row row("kube-client/24.12/15");
    LabelMap labels;
    EXPECT_EQ(MergeLabels(entry.text, labels).ok(), entry.ok) << entry.text;
    if (entry.ok) EXPECT_EQ(labels, (LabelMap{{"a", "b"}}));
  }
}

}  // namespace
}  // namespace csinative::cli
