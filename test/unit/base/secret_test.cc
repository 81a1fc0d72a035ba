// SPDX-License-Identifier: Apache-2.0
#include "lib/base/secret.h"

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "lib/base/strings.h"

namespace csinative {
namespace {

template <typename T>
concept Streamable = requires(std::ostream& out, const T& value) { out << value; };

TEST(SecretTest, NothingConvertsItToText) {
  static_assert(!std::is_convertible_v<Secret, std::string>);
  static_assert(!std::is_convertible_v<Secret, std::string_view>);
  static_assert(!std::is_convertible_v<std::string, Secret>);
  static_assert(!std::is_constructible_v<internal::CatPiece, Secret>);
  static_assert(!Streamable<Secret>);
}

TEST(SecretTest, MovingLeavesNothingBehind) {
  Secret first("short");
  const Secret second = std::move(first);
  EXPECT_EQ(second.Reveal(), "short");
  EXPECT_TRUE(first.empty());  // NOLINT(bugprone-use-after-move): the claim
  Secret third(std::string(100, 'x'));
  third = second;
  EXPECT_TRUE(third == second);
}

}  // namespace
}  // namespace csinative
