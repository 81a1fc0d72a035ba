// SPDX-License-Identifier: Apache-2.0
//
// Registration sockets of a real folder.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>

#include "lib/base/strings.h"
#include "lib/base/unique_fd.h"
#include "test/integration/volumemanager/fixture.h"

namespace csinative {
namespace {

class NodeRegistrationTest : public VolumeManagerFixture {
 protected:
  // As a reboot leaves it: bound once, and nobody listens.
  void MakeDeadSocket(const std::string& name) {
    const std::string path = StrCat(paths_.Registry(), "/", name);
    sockaddr_un where{};
    where.sun_family = AF_UNIX;
    ASSERT_LT(path.size(), sizeof(where.sun_path));
    std::memcpy(where.sun_path, path.c_str(), path.size() + 1);
    const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&where), sizeof(where)), 0);
  }
};

TEST_F(NodeRegistrationTest, DeadSocketsDoNotHoldUpTheDriverThatRuns) {
  StartWorld();
  for (int i = 0; i < 12; ++i) MakeDeadSocket(StrCat("dead-", i, ".sock"));
  StartManager();
  EXPECT_TRUE(Until([this] { return !told_.empty(); }, std::chrono::seconds(8)));
  EXPECT_TRUE(Logged("connect: connection refused"));
}

}  // namespace
}  // namespace csinative
