// SPDX-License-Identifier: Apache-2.0
//
// Secrets that a test plants where a program meets them, to look for them where it writes.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "lib/base/base64.h"
#include "lib/base/strings.h"

namespace csinative::test {

class PlantedSecrets {
 public:
  // Something that may be nowhere, as it is or encoded. REQUIRES: long enough to be no coincidence.
  void Plant(const std::string& what, const std::string& value) {
    ASSERT_GE(value.size(), 12u) << what;
    planted_.emplace_back(what, value);
    planted_.emplace_back(what + " in base64", Base64Encode(value));
  }
  // A key in PEM: each of its lines, too.
  void PlantKey(const std::string& what, const std::string& pem) {
    for (const std::string_view line : Split(pem, '\n')) {
      if (line.size() >= 40 && !line.starts_with("-")) Plant(what, std::string(line));
    }
    Plant(what, pem);
  }
  // The JSON of a Secret in the namespace default whose value is planted.
  std::string PlantedSecret(const std::string& name) {
    const std::string value = StrCat("planted-", name, "-value-7391");
    Plant("Secret " + name, value);
    return StrCat(R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":")", name,
                  R"(","namespace":"default"},"data":{"password":")", Base64Encode(value),
                  R"("}})");
  }

  void ExpectNone(const std::string& text, const std::string& where) const {
    for (const auto& [what, value] : planted_) {
      EXPECT_EQ(text.find(value), std::string::npos) << what << " in " << where;
    }
  }

 private:
  std::vector<std::pair<std::string, std::string>> planted_;
};

}  // namespace csinative::test
