// SPDX-License-Identifier: Apache-2.0
//
// Any text as a label selector and as a field selector: its own text means the same.
#include <string>

#include "apis/meta/v1/labels.h"
#include "test/fuzz/fuzz.h"

using csinative::Result;
using csinative::apis::FieldSelector;
using csinative::apis::LabelSelector;
using csinative::fuzz::Require;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = csinative::fuzz::Text(data, size);
  const Result<LabelSelector> labels = LabelSelector::Parse(text);
  if (labels.ok()) {
    const Result<LabelSelector> again = LabelSelector::Parse(labels->ToString());
    Require(again.ok(), "the text of a label selector is one");
    Require(again->ToString() == labels->ToString(), "the text of a label selector is stable");
    (void)labels->Matches({});
  }
  const Result<FieldSelector> fields = FieldSelector::Parse(text);
  if (fields.ok()) {
    const Result<FieldSelector> again = FieldSelector::Parse(fields->ToString());
    Require(again.ok(), "the text of a field selector is one");
    Require(again->requirements().size() == fields->requirements().size(),
            "the text of a field selector has all its terms");
    (void)fields->Matches([](std::string_view) { return std::string(); });
  }
  return 0;
}
