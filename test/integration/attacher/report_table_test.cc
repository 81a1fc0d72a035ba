// SPDX-License-Identifier: Apache-2.0
//
// A report about access modes (docs/compatibility.md): external-attacher#153. Every combination.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lib/base/strings.h"
#include "test/support/attacher/world.h"

namespace csinative::attacher {
namespace {

using ::csi::v1::ControllerPublishVolumeRequest;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using Mode = ::csi::v1::VolumeCapability::AccessMode;

struct Combination {
  bool rwo, rox, rwx, rwop, multi_writer;
};

std::string NameOf(const Combination& c) {
  return StrCat(c.rwo ? "rwo_" : "", c.rox ? "rox_" : "", c.rwx ? "rwx_" : "",
                c.rwop ? "rwop_" : "", c.multi_writer ? "multi_writer" : "plain");
}

class AccessModesTest : public ::testing::TestWithParam<Combination> {};

TEST_P(AccessModesTest, AreOneModeOrAnErrorThatNamesThem) {
  const Combination& c = GetParam();
  std::vector<std::string> modes;
  if (c.rwo) modes.push_back("\"ReadWriteOnce\"");
  if (c.rox) modes.push_back("\"ReadOnlyMany\"");
  if (c.rwx) modes.push_back("\"ReadWriteMany\"");
  if (c.rwop) modes.push_back("\"ReadWriteOncePod\"");
  World world;
  world.features.single_node_multi_writer = c.multi_writer;
  world.AddNode();
  world.AddAttachment(
      {.source = StrCat(R"({"inlineVolumeSpec":{"accessModes":[)", Join(modes, ","),
                        R"(],"csi":{"driver":"com.test.foo","volumeHandle":"handle1"}}})")});
  world.Start();
  const auto requests = world.Requests<ControllerPublishVolumeRequest>(kPublish);
  const auto attachment = world.Find<storage::VolumeAttachment>("va1");
  const std::string error = attachment->status().attacherror().message();

  if (c.rwop && modes.size() > 1) {
    EXPECT_THAT(requests, SizeIs(0));
    EXPECT_THAT(error, HasSubstr("ReadWriteOncePod with other access modes"));
    return;
  }
  if (!c.rwx && c.rwo && c.rox) {
    EXPECT_THAT(requests, SizeIs(0));
    EXPECT_THAT(error, HasSubstr("ReadOnlyMany and ReadWriteOnce"));
    return;
  }
  ASSERT_THAT(requests, SizeIs(1)) << error;
  EXPECT_TRUE(attachment->status().attached());
  const Mode::Mode mode = requests[0].volume_capability().access_mode().mode();
  if (c.rwx) {
    EXPECT_EQ(mode, Mode::MULTI_NODE_MULTI_WRITER);
  } else if (c.rox) {
    EXPECT_EQ(mode, Mode::MULTI_NODE_READER_ONLY);
  } else if (c.rwo) {
    EXPECT_EQ(mode, c.multi_writer ? Mode::SINGLE_NODE_MULTI_WRITER : Mode::SINGLE_NODE_WRITER);
  } else {
    EXPECT_EQ(mode, c.multi_writer ? Mode::SINGLE_NODE_SINGLE_WRITER : Mode::SINGLE_NODE_WRITER);
  }
}

std::vector<Combination> All() {
  std::vector<Combination> out;
  // None at all is refused by the API server.
  for (int i = 1; i < 16; ++i) {
    for (const bool multi_writer : {false, true}) {
      out.push_back({(i & 1) != 0, (i & 2) != 0, (i & 4) != 0, (i & 8) != 0, multi_writer});
    }
  }
  return out;
}
INSTANTIATE_TEST_SUITE_P(All, AccessModesTest, ::testing::ValuesIn(All()),
                         [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace csinative::attacher
