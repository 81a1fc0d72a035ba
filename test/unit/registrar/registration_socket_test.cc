// SPDX-License-Identifier: Apache-2.0
#include "cmd/registrar/registration_socket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "lib/base/strings.h"
#include "lib/base/unique_fd.h"
#include "test/support/child_process.h"
#include "test/support/oracle.h"

namespace csinative::registrar {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using Removal = RegistrationSocket::Removal;

Result<UniqueFd> ListenAt(const std::string& path) {
  sockaddr_un where{};
  where.sun_family = AF_UNIX;
  std::strncpy(where.sun_path, path.c_str(), sizeof where.sun_path - 1);
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&where), sizeof where) != 0 ||
      ::listen(fd.get(), 1) != 0) {
    return UnknownError(std::strerror(errno));
  }
  return fd;
}

class RegistrationSocketTest : public ::testing::Test {
 protected:
  // What stands at the path before.
  void Live() { Keep(path_); }
  void Keep(const std::string& path) {
    auto fd = ListenAt(path);
    ASSERT_TRUE(fd.ok()) << fd.status().ToString();
    listeners_.push_back(*std::move(fd));
  }
  void Stale() {
    Live();
    listeners_.clear();
  }
  void File() { std::ofstream(path_) << "text"; }
  void Folder() { fs::create_directory(path_); }
  void Fifo() { ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0); }
  void Link(const std::string& target) { fs::create_symlink(target, path_); }
  bool Exists() const { return fs::exists(fs::symlink_status(path_)); }

  // A socket that the code under test made.
  RegistrationSocket Made() {
    RegistrationSocket socket(path_);
    const Status made = socket.Create([this] {
      Live();
      return Status();
    });
    EXPECT_TRUE(made.ok());
    return socket;
  }

  test::TempDir dir_;
  const std::string path_ = dir_.path() + "/reg.sock";
  std::vector<UniqueFd> listeners_;
};

TEST(SocketPathTest, IsPlainConcatenation) {
  EXPECT_EQ(SocketPath("/registration", "test.csi.drv"), "/registration/test.csi.drv-reg.sock");
  EXPECT_EQ(SocketPath("/registration/", "d"), "/registration//d-reg.sock");
  EXPECT_EQ(SocketPath("", "d"), "/d-reg.sock");
  EXPECT_EQ(SocketPath("/r", "sub/n"), "/r/sub/n-reg.sock");
}

// registrar 12.1, row 1.
TEST_F(RegistrationSocketTest, MissingFileIsNoSocketAndNothingToRemove) {
  const oracle::Row row("registrar/12.1/1");
  const Result<bool> exists = SocketExists(path_);
  ASSERT_TRUE(exists.ok());
  EXPECT_FALSE(*exists);
  EXPECT_TRUE(RemoveStaleSocket(path_).ok());
}

// Row 2.
TEST_F(RegistrationSocketTest, MissingDirectoryIsNoSocketAndNothingToRemove) {
  const oracle::Row row("registrar/12.1/2");
  const std::string path = dir_.path() + "/gone/reg.sock";
  const Result<bool> exists = SocketExists(path);
  ASSERT_TRUE(exists.ok());
  EXPECT_FALSE(*exists);
  EXPECT_TRUE(RemoveStaleSocket(path).ok());
}

// Row 3 and C2.
TEST_F(RegistrationSocketTest, LiveAndStaleSocketsAreRemoved) {
  const oracle::Row row("registrar/12.1/3");
  Live();
  EXPECT_TRUE(SocketExists(path_).value());
  EXPECT_TRUE(RemoveStaleSocket(path_).ok());
  EXPECT_FALSE(Exists());
  Stale();
  EXPECT_TRUE(RemoveStaleSocket(path_).ok());
  EXPECT_FALSE(Exists());
}

// Row 4 and C4.
TEST_F(RegistrationSocketTest, AnythingElseStaysAndIsAnError) {
  const oracle::Row row("registrar/12.1/4");
  const std::string other = dir_.path() + "/other";
  std::ofstream(other) << "text";
  const std::vector<std::function<void()>> states = {[this] { File(); }, [this] { Folder(); },
                                                     [this] { Fifo(); }, [&] { Link(other); }};
  for (const auto& make : states) {
    make();
    EXPECT_FALSE(SocketExists(path_).ok());
    const Status removed = RemoveStaleSocket(path_);
    EXPECT_THAT(removed.message(), HasSubstr(StrCat("file exists in socketPath ", path_,
                                                    " but it's not a socket.: &{")));
    EXPECT_TRUE(Exists());
    fs::remove(path_);
  }
}

TEST_F(RegistrationSocketTest, LinkToASocketIsRemovedAndItsTargetStays) {
  const std::string target = dir_.path() + "/target.sock";
  Keep(target);
  Link(target);
  EXPECT_TRUE(RemoveStaleSocket(path_).ok());
  EXPECT_FALSE(Exists());
  EXPECT_TRUE(SocketExists(target).value());
}

TEST_F(RegistrationSocketTest, DanglingLinkCountsAsMissing) {
  Link(dir_.path() + "/nowhere");
  EXPECT_FALSE(SocketExists(path_).value());
  EXPECT_TRUE(RemoveStaleSocket(path_).ok());
  EXPECT_TRUE(Exists());
}

// C6.
TEST_F(RegistrationSocketTest, PathThatCannotBeLookedAtIsAnError) {
  Link(path_);
  EXPECT_EQ(RemoveStaleSocket(path_).message(),
            StrCat("failed to stat the socket ", path_, " with error: stat ", path_,
                   ": too many levels of symbolic links"));
  const std::string below_file = dir_.path() + "/file/reg.sock";
  std::ofstream(dir_.path() + "/file") << "text";
  EXPECT_EQ(RemoveStaleSocket(below_file).message(),
            StrCat("failed to stat the socket ", below_file, " with error: stat ", below_file,
                   ": not a directory"));
}

TEST_F(RegistrationSocketTest, PathIsNotCutAtANulOfTheDriversName) {
  Live();
  const std::string path = path_ + '\0' + "-reg.sock";
  EXPECT_THAT(RemoveStaleSocket(path).message(), HasSubstr(": invalid argument"));
  EXPECT_TRUE(Exists());
}

// Root may do everything, so that the rest of a test runs as nobody.
class Unprivileged {
 public:
  Unprivileged() { EXPECT_TRUE(::geteuid() != 0 || ::seteuid(65534) == 0); }
  ~Unprivileged() { (void)!::seteuid(before_); }
  Unprivileged(const Unprivileged&) = delete;
  Unprivileged& operator=(const Unprivileged&) = delete;

 private:
  const uid_t before_ = ::geteuid();
};

// C6, C7.
TEST_F(RegistrationSocketTest, FolderWithoutPermissionIsAnError) {
  Stale();
  for (const auto& [mode, text] : std::initializer_list<std::pair<mode_t, std::string>>{
           {0555, StrCat("failed to remove stale socket ", path_, " with error: remove ", path_,
                         ": permission denied")},
           {0000, StrCat("failed to stat the socket ", path_, " with error: stat ", path_,
                         ": permission denied")}}) {
    ASSERT_EQ(::chmod(dir_.path().c_str(), mode), 0);
    const Unprivileged user;
    EXPECT_EQ(RemoveStaleSocket(path_).message(), text);
  }
  ASSERT_EQ(::chmod(dir_.path().c_str(), 0700), 0);
  EXPECT_TRUE(Exists());
}

// C1 and 12.13, row 11.
TEST_F(RegistrationSocketTest, SocketIsForItsOwnerOnlyAndTheUmaskComesBack) {
  const oracle::Row row("registrar/12.13/11");
  for (const mode_t mask : {0022, 0000}) {
    const mode_t before = ::umask(mask);
    const RegistrationSocket socket = Made();
    EXPECT_EQ(::umask(before), mask);
    struct stat info = {};
    ASSERT_EQ(::lstat(path_.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode, static_cast<mode_t>(S_IFSOCK | 0700));
    listeners_.clear();
    fs::remove(path_);
  }
}

TEST_F(RegistrationSocketTest, FailureToListenIsPassedOnAndTheUmaskComesBack) {
  const mode_t before = ::umask(0022);
  RegistrationSocket socket(path_);
  EXPECT_EQ(socket.Create([] { return UnavailableError("taken"); }).message(), "taken");
  EXPECT_EQ(::umask(before), static_cast<mode_t>(0022));
}

// F1.
TEST_F(RegistrationSocketTest, OwnSocketIsTakenBack) {
  const RegistrationSocket socket = Made();
  EXPECT_EQ(socket.Remove().value(), Removal::kRemoved);
  EXPECT_FALSE(Exists());
}

// F2 and 12.13, row 15.
TEST_F(RegistrationSocketTest, WhateverReplacedTheSocketIsRemovedUnlessItIsASocket) {
  const RegistrationSocket socket = Made();
  fs::remove(path_);
  EXPECT_EQ(socket.Remove().value(), Removal::kMissing);
  const std::string target = dir_.path() + "/target.sock";
  Keep(target);
  const std::vector<std::function<void()>> states = {[this] { File(); }, [this] { Folder(); },
                                                     [this] { Fifo(); }, [&] { Link(target); }};
  for (const auto& make : states) {
    make();
    EXPECT_EQ(socket.Remove().value(), Removal::kRemoved);
    EXPECT_FALSE(Exists());
  }
  EXPECT_TRUE(SocketExists(target).value());
}

TEST_F(RegistrationSocketTest, VanishedDirectoryIsNothingToRemove) {
  const std::string folder = dir_.path() + "/registration";
  fs::create_directory(folder);
  RegistrationSocket socket(folder + "/reg.sock");
  fs::remove(folder);
  EXPECT_EQ(socket.Remove().value(), Removal::kMissing);
}

// F3 and 12.13, row 16.
TEST_F(RegistrationSocketTest, FolderWithContentStaysAndIsAnError) {
  const RegistrationSocket socket = Made();
  fs::remove(path_);
  Folder();
  std::ofstream(path_ + "/file") << "text";
  EXPECT_EQ(socket.Remove().status().message(), StrCat("remove ", path_, ": directory not empty"));
  EXPECT_TRUE(fs::exists(path_ + "/file"));
}

// F4, where upstream takes the registration of the newer process back.
TEST_F(RegistrationSocketTest, SocketOfTheProcessThatReplacedUsStays) {
  const RegistrationSocket older = Made();
  ASSERT_TRUE(RemoveStaleSocket(path_).ok());
  const RegistrationSocket newer = Made();
  EXPECT_EQ(older.Remove().value(), Removal::kNotOurs);
  EXPECT_TRUE(SocketExists(path_).value());
  EXPECT_EQ(newer.Remove().value(), Removal::kRemoved);
}

}  // namespace
}  // namespace csinative::registrar
