// SPDX-License-Identifier: Apache-2.0
//
// Any text: what is a quantity keeps its value through its text and through arithmetic.
#include "apis/resource/quantity.h"

#include <string>

#include "test/fuzz/fuzz.h"

using csinative::Result;
using csinative::apis::Quantity;
using csinative::fuzz::Require;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Result<Quantity> parsed = Quantity::Parse(csinative::fuzz::Text(data, size));
  if (!parsed.ok()) return 0;
  const Result<Quantity> again = Quantity::Parse(parsed->ToString());
  Require(again.ok(), "the text of a quantity is a quantity");
  Require(parsed->ToProto().string() == parsed->ToString(), "protobuf holds the text");
  Quantity negated = *parsed;
  negated.Negate();
  Quantity sum = *parsed;
  sum.Add(negated);
  Require(sum.IsZero(), "a quantity and its negative are nothing");
  negated.Negate();
  Require(negated == *parsed, "two negations are none");
  Require(parsed->Compare(*parsed) == 0, "a quantity equals itself");
  Quantity rounded = *parsed;
  rounded.RoundUp(0);
  (void)rounded.Value();
  (void)parsed->ScaledValue(Quantity::kMilli);
  (void)parsed->AsInt64();
  // Decimal texts of more than an exa lose their suffix, as upstream's do.
  if (parsed->ScaledValue(Quantity::kNano) != 0 && parsed->AsInt64()) {
    Require(*again == *parsed, "the text has the value");
  }
  return 0;
}
