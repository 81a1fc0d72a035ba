// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/warning_header.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace csinative::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// kube-client 24.4 W1, W2.
TEST(ParseWarningsTest, TakesTextsOfCode299) {
  EXPECT_THAT(ParseWarnings(R"(299 - "text")"), ElementsAre("text"));
  EXPECT_THAT(ParseWarnings(R"(299 agent "say \"hi\" \\ bye")"), ElementsAre(R"(say "hi" \ bye)"));
  EXPECT_THAT(ParseWarnings(R"(299 - "one", 299 - "two")"), ElementsAre("one", "two"));
  EXPECT_THAT(ParseWarnings(R"(299 - "one" "Wed, 21 Oct 2015 07:28:00 GMT")"), ElementsAre("one"));
  EXPECT_THAT(ParseWarnings(R"(199 - "other code")"), IsEmpty());
}

TEST(ParseWarningsTest, SkipsAHeaderThatIsNotWellFormed) {
  for (const char* value :
       {"299 -", "300 - \"x\"", "abc - \"x\"", "299  \"x\"", "299 - x", "299 - \"\"", "299 - \"x",
        "299 - \"x\" \"date", "299 - \"x\" more", "299 - \"x\" \"date\" more"}) {
    EXPECT_THAT(ParseWarnings(value), IsEmpty()) << value;
  }
}

}  // namespace
}  // namespace csinative::kube
