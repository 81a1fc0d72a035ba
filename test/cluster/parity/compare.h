// SPDX-License-Identifier: Apache-2.0
//
// Comparing our answers with the real server's, recorded or live.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "test/cluster/parity/script.h"

namespace csinative::parity {

using Answers = std::map<std::string, Answer>;  // by step

// golden.jsonl: {"name":..., "answer":{...}} a line.
Result<Answers> ParseGolden(std::string_view text);
std::string FormatGolden(const std::vector<Step>& steps, const Answers& answers);

struct Difference {
  std::string step;
  std::string text;  // for people
};
// One entry for each step whose answers differ, or that one side lacks.
std::vector<Difference> Compare(const std::vector<Step>& steps, const Answers& ours,
                                const Answers& theirs);

}  // namespace csinative::parity
