// SPDX-License-Identifier: Apache-2.0
#include "lib/log/logger.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "lib/base/secret.h"
#include "lib/base/unique_fd.h"
#include "test/support/oracle.h"
#include "test/unit/log/log_fixture.h"

namespace csinative::log {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(LoggerTest, LevelsAboveTheVerbosityAreNotWritten) {
  const oracle::Row row("common/20.3/3");
  TestLog test;
  test.log.backend()->SetVerbosity(10);
  test.log.V(9).Info("nine");
  test.log.V(10).Info("ten");
  test.log.V(11).Info("eleven");
  test.log.V(11).Infof("eleven");
  EXPECT_THAT(test.output->Records(), ElementsAre(EndsWith("\"nine\""), EndsWith("\"ten\"")));
}

TEST(LoggerTest, VmoduleRaisesTheVerbosityOfItsFile) {
  const oracle::Row row("common/20.3/4");
  TestLog test;
  test.log.backend()->SetVerbosity(10);
  test.log.backend()->SetVmodule({{"logger_test", 11}});
  EXPECT_TRUE(test.log.Enabled(11));
  EXPECT_FALSE(test.log.Enabled(12));
  test.log.V(11).Info("eleven");
  test.log.V(12).Info("twelve");
  EXPECT_THAT(test.output->Records(), ElementsAre(EndsWith("\"eleven\"")));
}

TEST(LoggerTest, VmoduleOfAnotherFileChangesNothing) {
  const oracle::Row row("common/20.3/5");
  TestLog test;
  test.log.backend()->SetVerbosity(10);
  test.log.backend()->SetVmodule({{"other", 11}});
  test.log.V(11).Info("eleven");
  EXPECT_THAT(test.output->Records(), IsEmpty());
}

TEST(LoggerTest, VmoduleNeverLowersTheVerbosity) {
  TestLog test;
  test.log.backend()->SetVerbosity(5);
  test.log.backend()->SetVmodule({{"logger_test", 1}});
  EXPECT_TRUE(test.log.Enabled(5));
}

TEST(LoggerTest, ErrorsAndWarningsIgnoreVerbosity) {
  TestLog test;
  test.log.backend()->SetVerbosity(0);
  test.log.Error("whoops", "error");
  test.log.Errorf("error");
  test.log.Warningf("warning");
  EXPECT_THAT(test.output->Records(), SizeIs(3));
}

TEST(LoggerTest, DisabledArgumentsAreNotComputed) {
  TestLog test;
  int calls = 0;
  const auto value = [&calls] {
    ++calls;
    return "computed";
  };
  test.log.V(1).Info("test", "key", value);
  test.log.V(1).Infof("{}", value);
  EXPECT_EQ(calls, 0);
  test.log.Info("test", "key", value);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(test.Body(), "\"test\" key=\"computed\"");
}

TEST(LoggerTest, LevelGuardsWork) {
  TestLog test;
  EXPECT_FALSE(test.log.V(1));
  test.log.backend()->SetVerbosity(1);
  EXPECT_TRUE(test.log.V(1));
  EXPECT_TRUE(test.log.V(1).enabled());
}

TEST(LoggerTest, DefaultLoggerWritesNothing) {
  const Logger log;
  log.Info("x", "key", [] { return "never"; });
  log.Error("e", "x");
  log.Fatalf("x");
  log.WithName("n").WithValues("a", 1).Info("x");
  EXPECT_FALSE(log.Enabled(0));
  EXPECT_EQ(log.backend(), nullptr);
}

TEST(LoggerTest, SecretsDoNotCompile) {
  static_assert(!std::is_constructible_v<Value, Secret>);
  static_assert(!std::is_constructible_v<Value, const Secret&>);
  static_assert(!std::is_convertible_v<Secret, ErrorArgument>);
}

TEST(LoggerTest, CopiesShareTheBackend) {
  TestLog test;
  const Logger child = test.log.WithName("child");
  test.log.backend()->SetVerbosity(3);
  EXPECT_TRUE(child.Enabled(3));
}

TEST(LoggerTest, RecordsOfSeveralThreadsStayWhole) {
  TestLog test;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([log = test.log, i] {
      for (int k = 0; k < 100; ++k) log.Info("test", "thread", i);
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto records = test.output->Records();
  ASSERT_THAT(records, SizeIs(400));
  for (const std::string& record : records) {
    EXPECT_EQ(record.substr(record.find("] ") + 2, 14), "\"test\" thread=");
  }
}

TEST(OutputTest, OneRecordIsOneLineOnTheDescriptor) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  const std::shared_ptr<Output> output = NewFdOutput(writer.get());
  NewLogger(output).Info("to a pipe");
  writer.reset();
  std::string text(1000, '\0');
  const ssize_t size = ::read(reader.get(), text.data(), text.size());
  ASSERT_GT(size, 0);
  text.resize(static_cast<size_t>(size));
  EXPECT_THAT(text, EndsWith("] \"to a pipe\"\n"));
}

TEST(OutputTest, ClosedDescriptorIsIgnored) {
  const std::shared_ptr<Output> output = NewFdOutput(-1);
  NewLogger(output).Info("lost");
}

}  // namespace
}  // namespace csinative::log
