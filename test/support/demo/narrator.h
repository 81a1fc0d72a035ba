// SPDX-License-Identifier: Apache-2.0
//
// The table that the demo prints: when, who, which object, what happened. Loop only.
#pragma once

#include <string>

#include "lib/base/clock.h"

namespace csinative::demo {

class Narrator {
 public:
  explicit Narrator(const Clock& clock) : clock_(clock), start_(clock.Now()) {}

  // A line of its own between groups of rows.
  void Title(const std::string& text);
  // actor: who did it ("user", "driver", "API", ...).
  void Row(const std::string& actor, const std::string& object, const std::string& what);
  Duration elapsed() const { return clock_.Now() - start_; }

 private:
  const Clock& clock_;
  const MonotonicTime start_;
  bool header_printed_ = false;
};

}  // namespace csinative::demo
