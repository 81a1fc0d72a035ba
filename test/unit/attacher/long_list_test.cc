// SPDX-License-Identifier: Apache-2.0
//
// A driver with 50,000 volumes, or with many attachments: the comparison with its list needs little
// memory and holds up nobody.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#if __has_feature(address_sanitizer)
#include <sanitizer/allocator_interface.h>
#else
#include <malloc.h>
#endif

#include <algorithm>
#include <charconv>

#include "lib/base/strings.h"
#include "test/support/attacher/traces.h"
#include "test/support/attacher/world.h"

namespace csinative::attacher {
namespace {

using ::csi::v1::ListVolumesRequest;
using ::csi::v1::ListVolumesResponse;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;

constexpr int kVolumes = 50000;
constexpr int kPage = 500;
constexpr milliseconds kPageTime{50};

int64_t HeapInUse() {
#if __has_feature(address_sanitizer)
  return static_cast<int64_t>(__sanitizer_get_current_allocated_bytes());
#else
  return static_cast<int64_t>(::mallinfo2().uordblks);
#endif
}

class LongListTest : public ::testing::Test {
 protected:
  LongListTest() {
    world_.features.lists_published_nodes = true;
    world_.config.max_entries = kPage;
    world_.config.call_timeout = seconds(15);
    world_.AddVolume();
    world_.AddNode();
    world_.driver().Handle<ListVolumesRequest, ListVolumesResponse>(
        kListVolumes, [this](ListVolumesRequest request, ListVolumesResponse* response) {
          return List(std::move(request), response);
        });
  }
  // Volume i is published to a node of its own; the last one is the test's, if it is there.
  async::Task<Status> List(ListVolumesRequest request, ListVolumesResponse* response) {
    int begin = 0;
    const std::string& token = request.starting_token();
    std::from_chars(token.data(), token.data() + token.size(), begin);
    const int64_t heap = HeapInUse();
    if (begin == 0) heap_at_begin_ = heap;
    most_heap_ = std::max(most_heap_, heap - heap_at_begin_);
    const int end = std::min(begin + request.max_entries(), kVolumes);
    for (int i = begin; i < end; ++i) {
      auto* entry = response->add_entries();
      const bool last = i == kVolumes - 1;
      entry->mutable_volume()->set_volume_id(last ? last_ : StrCat("some-other-volume-", i));
      entry->mutable_status()->add_published_node_ids(last ? "nodeID1" : StrCat("some-node-", i));
    }
    if (end < kVolumes) response->set_next_token(StrCat(end));
    ++pages_;
    co_return co_await async::Sleep(kPageTime);
  }

  World world_;
  std::string last_ = "handle1";
  int pages_ = 0;
  int64_t heap_at_begin_ = 0, most_heap_ = 0;
};

TEST_F(LongListTest, LastOfManyPagesCounts) {
  world_.AddAttachment(AttachedBefore());
  world_.Start();
  world_.Advance(seconds(10));
  EXPECT_EQ(pages_, kVolumes / kPage);
  EXPECT_EQ(world_.Calls().size(), static_cast<size_t>(pages_));  // nothing was published
}

TEST_F(LongListTest, VolumeThatIsOnNoPageIsPublishedAfterTheLast) {
  last_ = "another";
  world_.AddAttachment(AttachedBefore());
  world_.Start();
  world_.Advance(seconds(10));
  EXPECT_EQ(world_.Calls().size(), static_cast<size_t>(pages_) + 1);
  EXPECT_EQ(world_.Calls().back(), "ControllerPublishVolume");
}

// One page, as the driver and its connection hold it, is about 100 kB; all of them are ten million.
TEST_F(LongListTest, MemoryIsThatOfAPage) {
  world_.AddAttachment(AttachedBefore());
  world_.Start();
  world_.Advance(seconds(10));
  EXPECT_EQ(pages_, kVolumes / kPage);
  EXPECT_LT(most_heap_, 1 << 20);
}

TEST_F(LongListTest, AttachDoesNotWaitForTheList) {
  world_.Start();
  world_.Advance(seconds(1));
  ASSERT_LT(pages_, kVolumes / kPage);
  world_.AddAttachment();
  world_.Advance(milliseconds(10));
  EXPECT_TRUE(world_.Find<storage::VolumeAttachment>("va1")->status().attached());
  ASSERT_LT(pages_, kVolumes / kPage);
  world_.Advance(seconds(10));
  EXPECT_EQ(pages_, kVolumes / kPage);
  EXPECT_THAT(world_.Requests<::csi::v1::ControllerPublishVolumeRequest>(kPublish),
              ::testing::SizeIs(1));
}

// --- memory for each attachment, whose names are as long as those of the control plane

constexpr int kAttachments = 2500;

class ManyAttachmentsTest : public ::testing::Test {
 protected:
  ManyAttachmentsTest() {
    world_.features.lists_published_nodes = true;
    world_.config.call_timeout = seconds(15);
    world_.AddVolume();
    world_.AddNode();
    const std::string prefix = StrCat("csi-", std::string(59, 'a'));
    for (int i = 10000; i < 10000 + kAttachments; ++i) {
      world_.Add(StrCat(R"({"apiVersion":"storage.k8s.io/v1","kind":"VolumeAttachment",)",
                        R"("metadata":{"name":")", prefix, i, R"("},"spec":{"attacher":)",
                        R"("test.csi.example","nodeName":"node1","source":{)",
                        R"("persistentVolumeName":"pv1"}}})"));
    }
    world_.driver().Handle<ListVolumesRequest, ListVolumesResponse>(
        kListVolumes,
        [this](ListVolumesRequest, ListVolumesResponse* response) { return List(response); });
  }
  async::Task<Status> List(ListVolumesResponse* response) {
    auto* entry = response->add_entries();
    entry->mutable_volume()->set_volume_id("handle1");
    entry->mutable_status()->add_published_node_ids("nodeID1");
    heap_ = HeapInUse();
    ++lists_;
    co_return co_await async::Sleep(seconds(1));
  }
  World world_;
  int lists_ = 0;
  int64_t heap_ = 0;  // while the driver makes its list
};

TEST_F(ManyAttachmentsTest, FortyBytesForEachAreKeptDuringAList) {
  world_.Start();
  world_.Advance(seconds(30));
  ASSERT_EQ(lists_, 1);
  const int64_t before = HeapInUse();
  world_.Advance(seconds(60));
  ASSERT_EQ(lists_, 2);
  EXPECT_LT(heap_ - before, 40 * kAttachments + (1 << 14));
  EXPECT_GT(heap_ - before, 40 * kAttachments - (1 << 14));
}

}  // namespace
}  // namespace csinative::attacher
