// SPDX-License-Identifier: Apache-2.0
//
// For a table in which an entry stands for no row of the oracle, for one, or for several:
//
//   const oracle::Rows rows(GetParam().rows);  // "", "common/20.1/7" or "common/20.1/7 a/1.2/3"
#pragma once

#include <deque>
#include <sstream>
#include <string>

#include "test/support/oracle.h"

namespace csinative::oracle {

class Rows {
 public:
  // ids separated by spaces.
  explicit Rows(const std::string& ids) {
    std::istringstream in(ids);
    for (std::string id; in >> id;) rows_.emplace_back(id);
  }

 private:
  std::deque<Row> rows_;
};

}  // namespace csinative::oracle
