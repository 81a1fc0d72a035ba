// SPDX-License-Identifier: Apache-2.0
#include "lib/metrics/process_collector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "lib/metrics/exposition.h"
#include "test/support/oracle.h"

namespace csinative::metrics {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class FixedClock final : public Clock {
 public:
  MonotonicTime Now() const override { return {}; }
  WallTime WallNow() const override { return WallTime(std::chrono::milliseconds(1700000000999)); }
};

// A made-up /proc with known numbers.
class ProcessCollectorTest : public ::testing::Test {
 protected:
  ProcessCollectorTest() {
    std::string pattern = ::testing::TempDir() + "proc-XXXXXX";
    root_ = ::mkdtemp(pattern.data());
  }
  ~ProcessCollectorTest() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }

  std::string root_;
  const FixedClock clock_;
};

// common 9.5
TEST_F(ProcessCollectorTest, EveryFamilyIsRead) {
  Write("/proc/stat", "cpu 1 2 3\nbtime 1700000000\nprocesses 9\n");
  // The name of the program may contain blanks and parentheses.
  Write("/proc/self/stat",
        "7 (a b) c) S 1 7 7 0 -1 4194304 100 0 0 0 150 51 0 0 20 0 4 0 250 104857600 512 "
        "18446744073709551615 1 1 0 0\n");
  Write("/proc/self/limits",
        "Limit                     Soft Limit           Hard Limit           Units     \n"
        "Max open files            1024                 1048576              files     \n"
        "Max address space         unlimited            unlimited            bytes     \n");
  Write("/proc/self/net/netstat",
        "TcpExt: A B\nTcpExt: 1 2\nIpExt: InNoRoutes InOctets OutOctets\nIpExt: 0 12345 1234567\n");
  Write("/proc/self/fd/0", "");
  Write("/proc/self/fd/1", "");
  Write("/proc/self/fd/17", "");
  Registry registry;
  AddProcessCollector(registry, clock_, {.root = root_});
  const double page = static_cast<double>(::sysconf(_SC_PAGESIZE));
  ASSERT_EQ(page, 4096);
  std::string samples;
  std::string text = ExposeText(registry);
  for (size_t end; (end = text.find('\n')) != std::string::npos; text.erase(0, end + 1)) {
    if (text[0] != '#') samples += text.substr(0, end + 1);
  }
  EXPECT_EQ(samples,
            "process_cpu_seconds_total 2.01\n"
            "process_max_fds 1024\n"
            "process_network_receive_bytes_total 12345\n"
            "process_network_transmit_bytes_total 1.234567e+06\n"
            "process_open_fds 3\n"
            "process_resident_memory_bytes 2.097152e+06\n"
            "process_start_time_seconds 1.7000000025e+09\n"
            "process_virtual_memory_bytes 1.048576e+08\n"
            "process_virtual_memory_max_bytes 1.8446744073709552e+19\n");
}

TEST_F(ProcessCollectorTest, WhatCannotBeReadIsLeftOut) {
  Write("/proc/self/stat", "garbage");
  Write("/proc/self/limits", "Max open files            x y files\n");
  Registry registry;
  AddProcessCollector(registry, clock_, {.root = root_});
  // The start time falls back to whole seconds of the clock.
  EXPECT_EQ(ExposeText(registry),
            "# HELP process_start_time_seconds [ALPHA] Start time of the process since unix epoch "
            "in seconds.\n# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds "
            "1.7e+09\n");
}

// common 9.4
TEST_F(ProcessCollectorTest, HelpPrefixAndExtentDependOnTheProgram) {
  const oracle::Row row("registrar/12.4/13");
  const oracle::Row common("common/20.8/14");
  Registry provisioner;
  AddProcessCollector(provisioner, clock_, {.start_time_help_prefix = ""});
  EXPECT_THAT(ExposeText(provisioner),
              HasSubstr("# HELP process_start_time_seconds Start time of the process since"));
  Registry livenessprobe;
  AddProcessCollector(livenessprobe, clock_, {.start_time_only = true});
  EXPECT_THAT(ExposeText(livenessprobe), Not(HasSubstr("process_open_fds")));
}

TEST_F(ProcessCollectorTest, ThisProcessHasEveryFamily) {
  Registry registry;
  AddProcessCollector(registry, SystemClock());
  const std::string text = ExposeText(registry);
  for (const char* name :
       {"process_cpu_seconds_total", "process_max_fds", "process_network_receive_bytes_total",
        "process_network_transmit_bytes_total", "process_open_fds", "process_resident_memory_bytes",
        "process_start_time_seconds", "process_virtual_memory_bytes",
        "process_virtual_memory_max_bytes"}) {
    EXPECT_THAT(text, HasSubstr("\n" + std::string(name) + " ")) << name;
  }
  const double age =
      std::chrono::duration<double>(SystemClock().WallNow().time_since_epoch()).count() -
      ProcessStartTime("", SystemClock());
  EXPECT_GT(age, -5);
  EXPECT_LT(age, 3600);
}

}  // namespace
}  // namespace csinative::metrics
