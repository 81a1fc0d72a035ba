// SPDX-License-Identifier: Apache-2.0
#include "test/cluster/parity/compare.h"

#include "lib/base/json_string.h"
#include "lib/base/strings.h"
#include "test/cluster/parity/normalize.h"

namespace csinative::parity {

Result<Answers> ParseGolden(std::string_view text) {
  Answers answers;
  for (std::string_view line : Split(text, '\n')) {
    if (TrimSpace(line).empty()) continue;
    CSI_ASSIGN_OR_RETURN(apiserver::JsonDocument document, apiserver::ParseJson(line));
    const apiserver::Json* answer = apiserver::Find(document, "answer");
    if (answer == nullptr) return InvalidArgumentError("a line without an answer");
    CSI_ASSIGN_OR_RETURN(answers[std::string(apiserver::TextAt(document, "name"))],
                         ParseAnswer(apiserver::Dump(*answer)));
  }
  return answers;
}

std::string FormatGolden(const std::vector<Step>& steps, const Answers& answers) {
  std::string out;
  for (const Step& step : steps) {
    auto it = answers.find(step.name);
    if (it == answers.end()) continue;
    out +=
        StrCat("{\"name\":", JsonString(step.name), ",\"answer\":", it->second.ToString(), "}\n");
  }
  return out;
}

std::vector<Difference> Compare(const std::vector<Step>& steps, const Answers& ours,
                                const Answers& theirs) {
  std::vector<Difference> differences;
  for (const Step& step : steps) {
    auto our_answer = ours.find(step.name), their_answer = theirs.find(step.name);
    if (our_answer == ours.end() || their_answer == theirs.end()) {
      differences.push_back({step.name, our_answer == ours.end()
                                            ? "we have no answer"
                                            : "the real server has no answer"});
      continue;
    }
    Answer expected = their_answer->second;
    if (step.subset) expected.body = Project(expected.body, our_answer->second.body);
    if (expected == our_answer->second) continue;
    std::string text = Differences(our_answer->second.ToString(), expected.ToString());
    // Equal values in another form (1 and 1.0) are no difference.
    if (!text.empty()) differences.push_back({step.name, std::move(text)});
  }
  return differences;
}

}  // namespace csinative::parity
