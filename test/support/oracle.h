// SPDX-License-Identifier: Apache-2.0
//
// Marks the table entry of a test that stands for one row of the behaviour specification's oracle:
//
//   for (const Entry& entry : kEntries) {
//     const oracle::Row row(entry.row);  // "kube-client/24.1/7"
//     EXPECT_EQ(...);
//   }
//
// The row's id is in every failure message of the scope and in the test's result, where
// scripts/oracle looks for it (test/oracle/README.md). Several entries may stand for one row.
#pragma once

#include <gtest/gtest.h>

#include <string>

namespace csinative::oracle {

class Row {
 public:
  explicit Row(const std::string& id) : trace_(__FILE__, __LINE__, "oracle row " + id) {
    ::testing::Test::RecordProperty("oracle:" + id, "reached");
  }
  Row(const Row&) = delete;
  Row& operator=(const Row&) = delete;

 private:
  const ::testing::ScopedTrace trace_;
};

}  // namespace csinative::oracle
