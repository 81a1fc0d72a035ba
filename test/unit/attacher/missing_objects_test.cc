// SPDX-License-Identifier: Apache-2.0
#include "cmd/attacher/missing_objects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace csinative::attacher {
namespace {

using Kind = MissingObjects::Kind;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(MissingObjectsTest, ObjectWakesAllThatWaitForItOnce) {
  MissingObjects missing;
  missing.Note("a", Kind::kCsiNode, "n");
  missing.Note("b", Kind::kCsiNode, "n");
  missing.Note("c", Kind::kCsiNode, "m");
  missing.Note("d", Kind::kVolume, "n");
  EXPECT_THAT(missing.Take(Kind::kCsiNode, "n"), ElementsAre("a", "b"));
  EXPECT_THAT(missing.Take(Kind::kCsiNode, "n"), IsEmpty());
  EXPECT_EQ(missing.size(), 2u);
}

TEST(MissingObjectsTest, AttachmentWaitsForWhatItMissedLast) {
  MissingObjects missing;
  missing.Note("a", Kind::kVolume, "v");
  missing.Note("a", Kind::kCsiNode, "n");
  missing.Note("a", Kind::kCsiNode, "n");
  EXPECT_EQ(missing.size(), 1u);
  EXPECT_THAT(missing.Take(Kind::kVolume, "v"), IsEmpty());
  EXPECT_THAT(missing.Take(Kind::kCsiNode, "n"), ElementsAre("a"));
  EXPECT_EQ(missing.size(), 0u);
}

TEST(MissingObjectsTest, AttachmentThatIsForgottenIsNotWoken) {
  MissingObjects missing;
  missing.Note("a", Kind::kCsiNode, "n");
  missing.Note("b", Kind::kCsiNode, "n");
  missing.Forget("a");
  missing.Forget("unknown");
  EXPECT_THAT(missing.Take(Kind::kCsiNode, "n"), ElementsAre("b"));
}

}  // namespace
}  // namespace csinative::attacher
