// SPDX-License-Identifier: Apache-2.0
//
// What promtool's lint and a strict parser would say about a program's /metrics, in the text format
// 0.0.4. Pure; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace csinative::test {

// One sentence for each thing that is wrong, in the order of the text:
// - form: each family has one HELP (not empty) and one TYPE, in this order and before its samples,
//   all lines of a family are together, families are sorted, the last line has its end;
// - names: of metrics and labels; labels sorted, no label twice, none beginning with __; `le` only
//   for buckets, and last;
// - values are numbers; those of counters neither negative nor infinite; no series twice;
// - histograms: bounds ascend and are those of the whole family, counts do not fall, +Inf is there
//   and equal to _count, _sum is there;
// - conventions: counters end in _total and nothing else does; no reserved suffix, no name of a
//   type in a name, only base units, no capital letters.
// `allowed` are families whose name upstream has chosen against the conventions; one that needs no
// allowance, or is not there, is wrong too.
std::vector<std::string> LintMetrics(std::string_view text,
                                     const std::vector<std::string>& allowed = {});

}  // namespace csinative::test
