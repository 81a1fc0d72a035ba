// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "lib/http/cpprest_context.h"

namespace csinative::http {
namespace {

// So that what cpprestsdk still holds when the last test ends is not reported as a leak.
class CppRestEnvironment final : public ::testing::Environment {
 public:
  void TearDown() override { DrainCppRestContext(); }
};

const ::testing::Environment* const kEnvironment =
    ::testing::AddGlobalTestEnvironment(new CppRestEnvironment);

}  // namespace
}  // namespace csinative::http
