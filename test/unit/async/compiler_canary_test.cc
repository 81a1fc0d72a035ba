// SPDX-License-Identifier: Apache-2.0
//
// The coroutine shapes that the distribution's g++ 12 miscompiles. They hold under clang 19; a
// compiler that breaks one of them must not build this project.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "lib/async/run.h"
#include "lib/async/sleep.h"

namespace csinative::async {
namespace {

struct Request {
  std::string name;
  std::vector<std::string> items;
  std::shared_ptr<int> owner;
};

Task<size_t> Use(Request request) {
  (void)co_await Sleep(std::chrono::seconds(1));
  co_return request.name.size() + request.items.size() + (request.owner ? *request.owner : 0);
}

Task<bool> Truth(bool value) {
  (void)co_await Sleep(std::chrono::seconds(1));
  co_return value;
}

Task<size_t> AggregateTemporary(std::shared_ptr<int> owner) {
  co_return co_await Use(Request{"a-name-longer-than-the-small-buffer", {"x", "y"}, owner});
}

Task<size_t> BracedList(std::shared_ptr<int> owner) {
  co_return co_await Use({.name = "n", .items = {"one", "two", "three"}, .owner = owner});
}

Task<int> Conditions() {
  int rounds = 0;
  if (co_await Truth(true)) ++rounds;
  while (co_await Truth(rounds < 4)) ++rounds;
  co_return (co_await Truth(false)) ? 0 : rounds;
}

Task<size_t> CapturingCallArgument(std::string text) {
  auto apply = [](UniqueFunction<size_t()> fn) -> Task<size_t> {
    (void)co_await Sleep(std::chrono::seconds(1));
    co_return fn();
  };
  co_return co_await apply(
      [text, list = std::vector<int>{1, 2, 3}] { return text.size() + list.size(); });
}

class CompilerCanaryTest : public ::testing::Test {
 protected:
  VirtualScheduler scheduler_;
  VirtualLoop loop_{scheduler_};
};

TEST_F(CompilerCanaryTest, AggregateTemporaryAsArgumentIsDestroyedOnce) {
  auto owner = std::make_shared<int>(1);
  EXPECT_EQ(RunTask(scheduler_, loop_, AggregateTemporary(owner)), 35u + 2 + 1);
  EXPECT_EQ(owner.use_count(), 1);
}

TEST_F(CompilerCanaryTest, BracedListAsArgumentIsDestroyedOnce) {
  auto owner = std::make_shared<int>(1);
  EXPECT_EQ(RunTask(scheduler_, loop_, BracedList(owner)), 1u + 3 + 1);
  EXPECT_EQ(owner.use_count(), 1);
}

TEST_F(CompilerCanaryTest, AwaitInBareConditionsCompletes) {
  EXPECT_EQ(RunTask(scheduler_, loop_, Conditions()), 4);
}

TEST_F(CompilerCanaryTest, CapturingLambdaAsArgumentLivesLongEnough) {
  EXPECT_EQ(RunTask(scheduler_, loop_, CapturingCallArgument("twelve chars")), 12u + 3);
}

}  // namespace
}  // namespace csinative::async
