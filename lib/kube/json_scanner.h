// SPDX-License-Identifier: Apache-2.0
//
// Finds where JSON values end in a byte stream, without parsing them: to cut watch streams and
// lists into objects. Text that is no JSON is cut somewhere; whoever parses the piece notices.
// Value; any thread.
#pragma once

#include <cstddef>
#include <string_view>

namespace csinative::kube {

class JsonScanner {
 public:
  // Looks at `text`, which starts with the value (no white space before it) and is longer each time
  // until the end is found. Returns the length of the value; npos while it is not complete. A
  // number or word is complete when something follows it.
  size_t Find(std::string_view text);
  // Starts over, for the next value.
  void Reset() { *this = JsonScanner(); }

  static constexpr size_t npos = std::string_view::npos;

 private:
  size_t position_ = 0;  // looked at so far
  size_t depth_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;
};

// JSON's white space, and nothing else.
inline bool IsJsonSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

}  // namespace csinative::kube
