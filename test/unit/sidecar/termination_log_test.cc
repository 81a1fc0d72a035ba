// SPDX-License-Identifier: Apache-2.0
#include "lib/sidecar/termination_log.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "lib/log/backend.h"
#include "lib/log/output.h"

namespace csinative::sidecar {
namespace {

TEST(TerminationLogTest, ReplacesTheContentWithoutALineFeed) {
  std::string dir = "/tmp/termination-XXXXXX";
  ASSERT_NE(::mkdtemp(dir.data()), nullptr);
  const std::string path = dir + "/log";
  std::ofstream(path) << "a longer text that was there before";
  WriteTerminationLog("Lost connection to CSI driver, exiting", log::Logger(), path);
  std::ifstream in(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}),
            "Lost connection to CSI driver, exiting");
  ::unlink(path.c_str());
  ::rmdir(dir.c_str());
}

TEST(TerminationLogTest, FailureIsOnlyLogged) {
  auto output = std::make_shared<log::CollectingOutput>();
  log::Logger log(std::make_shared<log::Backend>(output));
  WriteTerminationLog("x", log, "/nonexistent-folder/log");
  EXPECT_NE(
      output->Last().find(R"("Failed to write a message to the termination logfile" err="open )"
                          R"(/nonexistent-folder/log: )"),
      std::string::npos)
      << output->Last();
  EXPECT_NE(output->Last().find(R"(terminationLogPath="/nonexistent-folder/log")"),
            std::string::npos);
}

}  // namespace
}  // namespace csinative::sidecar
