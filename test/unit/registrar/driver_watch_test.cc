// SPDX-License-Identifier: Apache-2.0
#include "cmd/registrar/driver_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "lib/async/run.h"
#include "lib/async/timeout.h"
#include "lib/async/virtual_loop.h"
#include "test/support/child_process.h"

namespace csinative::registrar {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;
using ::testing::ElementsAre;

struct FileRow {
  const char* name;
  const char* address;
  std::optional<std::string> file;
};
void PrintTo(const FileRow& row, std::ostream* out) { *out << row.name; }

class SocketFileTest : public ::testing::TestWithParam<FileRow> {};

TEST_P(SocketFileTest, IsWhatIsDialled) {
  EXPECT_EQ(SocketFile(GetParam().address), GetParam().file);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, SocketFileTest,
    ::testing::Values(FileRow{"absolute", "/csi/csi.sock", "/csi/csi.sock"},
                      FileRow{"three_slashes", "unix:///csi/csi.sock", "/csi/csi.sock"},
                      FileRow{"one_slash", "unix:/csi/csi.sock", "/csi/csi.sock"},
                      FileRow{"relative", "unix:csi.sock", "csi.sock"},
                      FileRow{"not_decoded", "unix:///csi/%78?a=1", "/csi/%78?a=1"},
                      FileRow{"tcp", "127.0.0.1:1", std::nullopt},
                      FileRow{"dns", "dns:///host:1", std::nullopt},
                      FileRow{"abstract", "unix-abstract:name", std::nullopt}),
    [](const auto& info) { return std::string(info.param.name); });

// The file stands for the driver's socket; what it would answer is a list of names.
class DriverWatchTest : public ::testing::Test {
 protected:
  void Replace() {
    fs::remove(path_);
    std::ofstream(path_ + ".new") << "text";
    fs::rename(path_ + ".new", path_);
  }
  DriverWatch Watch() {
    return DriverWatch({.address = path_, .driver = "a", .ask_name = [this] { return Answer(); }});
  }
  // What the watch says within `limit`: the other name or the text of the time-out.
  std::string Wait(DriverWatch& watch, Duration limit) {
    const Result<std::string> name =
        async::RunTask(scheduler_, loop_, async::WithTimeout(limit, watch.WaitForOtherName()));
    return name.ok() ? *name : name.status().message();
  }
  async::Task<Result<std::string>> Answer() {
    ++asked_;
    if (answers_.empty()) co_return UnavailableError("not yet");
    std::string name = answers_.front();
    answers_.erase(answers_.begin());
    co_return std::move(name);
  }

  static constexpr char kNothing[] = "context deadline exceeded";
  async::VirtualScheduler scheduler_;
  async::VirtualLoop loop_{scheduler_};
  test::TempDir dir_;
  const std::string path_ = dir_.path() + "/csi.sock";
  std::vector<std::string> answers_;
  int asked_ = 0;
};

TEST_F(DriverWatchTest, DriverThatStaysIsNotAskedAgain) {
  Replace();
  DriverWatch watch = Watch();
  EXPECT_EQ(Wait(watch, seconds(3600)), kNothing);
  EXPECT_EQ(asked_, 0);
}

TEST_F(DriverWatchTest, RestartedDriverIsAskedOnce) {
  Replace();
  DriverWatch watch = Watch();
  Replace();
  answers_ = {"a", "b"};
  EXPECT_EQ(Wait(watch, seconds(3600)), kNothing);
  EXPECT_EQ(asked_, 1);
}

TEST_F(DriverWatchTest, OtherNameIsNoticedWithinTenSeconds) {
  Replace();
  DriverWatch watch = Watch();
  Replace();
  answers_ = {"b"};
  EXPECT_EQ(Wait(watch, seconds(11)), "b");
}

TEST_F(DriverWatchTest, DriverThatIsAwayIsNotAsked) {
  Replace();
  DriverWatch watch = Watch();
  fs::remove(path_);
  EXPECT_EQ(Wait(watch, seconds(3600)), kNothing);
  EXPECT_EQ(asked_, 0);
  Replace();
  answers_ = {"b"};
  EXPECT_EQ(Wait(watch, seconds(11)), "b");
}

TEST_F(DriverWatchTest, RestartedDriverIsAskedUntilItAnswers) {
  Replace();
  DriverWatch watch = Watch();
  Replace();
  EXPECT_EQ(Wait(watch, seconds(31)), kNothing);
  EXPECT_EQ(asked_, 3);
  answers_ = {"b"};
  EXPECT_EQ(Wait(watch, seconds(11)), "b");
}

TEST_F(DriverWatchTest, AddressWithoutAFileIsNotWatched) {
  DriverWatch watch(
      {.address = "127.0.0.1:1", .driver = "a", .ask_name = [this] { return Answer(); }});
  EXPECT_EQ(Wait(watch, seconds(3600)), kNothing);
  EXPECT_EQ(asked_, 0);
}

}  // namespace
}  // namespace csinative::registrar
