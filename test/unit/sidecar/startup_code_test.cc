// SPDX-License-Identifier: Apache-2.0
#include "lib/sidecar/startup_code.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace csinative::sidecar {
namespace {

// What is resident of the mappings of files that hold code.
size_t ResidentCodeKib() {
  std::ifstream file("/proc/self/smaps");
  size_t total = 0;
  bool is_code = false;
  for (std::string line; std::getline(file, line);) {
    if (line.find('-') < line.find(' ')) is_code = !CodeMappings(line).empty();
    if (is_code && line.rfind("Rss:", 0) == 0) total += std::stoul(line.substr(4));
  }
  return total;
}

TEST(CodeMappings, AreThoseOfFilesThatCanBeExecutedOnly) {
  const std::string maps =
      "1000-2000 r--p 00000000 fe:00 12 /usr/bin/program\n"
      "2000-5000 r-xp 00001000 fe:00 12 /usr/bin/program with a space\n"
      "5000-6000 rw-p 00004000 fe:00 12 /usr/bin/program\n"
      "6000-7000 rwxp 00004000 fe:00 12 /usr/bin/program\n"
      "7000-8000 r-xs 00004000 fe:00 12 /usr/bin/shared\n"
      "8000-9000 r-xp 00000000 00:00 0\n"
      "9000-a000 r-xp 00000000 00:00 0 [vdso]\n"
      "7f0000000000-7f0000400000 r-xp 00000000 fe:00 77 /lib/library.so\n"
      "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n";
  EXPECT_EQ(CodeMappings(maps),
            (std::vector<CodeMapping>{{0x2000, 0x3000}, {0x7f0000000000, 0x400000}}));
}

TEST(CodeMappings, OfGarbageAreNone) {
  for (const char* maps :
       {"", "\n\n", "garbage", "1000 r-xp 0 fe:00 12 /x", "2000-1000 r-xp 0 fe:00 12 /x",
        "1000-2000", "10z0-2000 r-xp 0 fe:00 12 /x", "-2000 r-xp 0 fe:00 12 /x"}) {
    EXPECT_TRUE(CodeMappings(maps).empty()) << maps;
  }
}

TEST(ReleaseStartupCode, LeavesLessResidentAndEverythingUsable) {
  const size_t before = ResidentCodeKib();
  ASSERT_GT(before, 0U);
  ReleaseStartupCode();
  const size_t after = ResidentCodeKib();
  EXPECT_GT(after, 0U) << "what measures runs, too";
  EXPECT_LT(after, before);
}

}  // namespace
}  // namespace csinative::sidecar
