// SPDX-License-Identifier: Apache-2.0
#include "lib/cli/auto_max_procs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include "lib/log/output.h"
#include "test/support/oracle.h"

namespace csinative::cli {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// A made-up /proc and /sys.
class AutoMaxProcsTest : public ::testing::Test {
 protected:
  AutoMaxProcsTest() {
    std::string pattern = ::testing::TempDir() + "procs-XXXXXX";
    root_ = ::mkdtemp(pattern.data());
  }
  ~AutoMaxProcsTest() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }

  AutoMaxProcs Make(std::optional<std::string> gomaxprocs = std::nullopt) {
    return AutoMaxProcs(log::NewLogger(output_),
                        {.root = root_, .gomaxprocs = std::move(gomaxprocs)});
  }

  std::string root_;
  const std::shared_ptr<log::CollectingOutput> output_ = std::make_shared<log::CollectingOutput>();
};

TEST_F(AutoMaxProcsTest, SecondEnableDoesNothingAndDisableUndoes) {
  const oracle::Row row("registrar/12.5/14");
  const oracle::Row common("common/20.10/14");
  Write("/proc/self/cgroup", "0::/\n");
  Write("/sys/fs/cgroup/cpu.max", "250000 100000\n");
  AutoMaxProcs procs = Make();
  EXPECT_TRUE(procs.Set("true").ok());
  EXPECT_TRUE(procs.Set("").ok());
  EXPECT_EQ(procs.limit(), 2);
  EXPECT_THAT(output_->Records(), SizeIs(1));
  EXPECT_TRUE(procs.Set("false").ok());
  EXPECT_EQ(procs.limit(), std::nullopt);
  EXPECT_THAT(output_->Records(), Each(HasSubstr("] maxprocs: ")));
}

TEST_F(AutoMaxProcsTest, TakesBooleansOnly) {
  const oracle::Row row("registrar/12.5/12");
  const oracle::Row row2("registrar/12.5/13");
  const oracle::Row common("common/20.10/12");
  AutoMaxProcs procs = Make();
  for (const char* text : {"true", "false", "", "1", "F"}) EXPECT_TRUE(procs.Set(text).ok());
  EXPECT_EQ(procs.Set("error").message(), R"(strconv.ParseBool: parsing "error": invalid syntax)");
}

TEST_F(AutoMaxProcsTest, GomaxprocsInTheEnvironmentWins) {
  Write("/proc/self/cgroup", "0::/\n");
  Write("/sys/fs/cgroup/cpu.max", "250000 100000\n");
  AutoMaxProcs procs = Make("");
  EXPECT_TRUE(procs.Set("true").ok());
  EXPECT_EQ(procs.limit(), std::nullopt);
}

TEST_F(AutoMaxProcsTest, LessThanOneCpuIsOneThread) {
  Write("/proc/self/cgroup", "0::/kubepods/pod1\n");
  Write("/sys/fs/cgroup/kubepods/pod1/cpu.max", "10000 100000\n");
  AutoMaxProcs procs = Make();
  EXPECT_TRUE(procs.Set("true").ok());
  EXPECT_EQ(procs.limit(), 1);
}

TEST_F(AutoMaxProcsTest, NoQuotaLeavesTheLimitAlone) {
  Write("/proc/self/cgroup", "0::/\n");
  Write("/sys/fs/cgroup/cpu.max", "max 100000\n");
  AutoMaxProcs procs = Make();
  EXPECT_TRUE(procs.Set("true").ok());
  EXPECT_EQ(procs.limit(), std::nullopt);
  EXPECT_THAT(output_->Records(), SizeIs(1));
}

TEST_F(AutoMaxProcsTest, VersionOneGroupsAreRead) {
  Write("/proc/self/cgroup", "12:memory:/x\n4:cpu,cpuacct:/docker/abc\n");
  Write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "350000\n");
  Write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(CgroupCpuQuota(root_).value(), 3.5);
  Write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(CgroupCpuQuota(root_).value(), std::nullopt);
}

TEST_F(AutoMaxProcsTest, MalformedDataIsAFlagError) {
  Write("/proc/self/cgroup", "0::/\n");
  Write("/sys/fs/cgroup/cpu.max", "lots\n");
  AutoMaxProcs procs = Make();
  EXPECT_FALSE(procs.Set("true").ok());
  Write("/proc/self/cgroup", "nonsense\n");
  EXPECT_FALSE(CgroupCpuQuota(root_).ok());
}

}  // namespace
}  // namespace csinative::cli
