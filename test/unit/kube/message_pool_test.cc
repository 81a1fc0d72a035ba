// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/message_pool.h"

#include <gtest/gtest.h>

#include <string>

#include "apis/k8s.h"

namespace csinative::kube {
namespace {

class MessagePoolTest : public ::testing::Test {
 protected:
  static core::PersistentVolume& Volume(const PooledMessage& message) {
    return static_cast<core::PersistentVolume&>(*message);
  }

  MessagePool pool_{&core::PersistentVolume::default_instance()};
};

TEST_F(MessagePoolTest, AMessageThatComesAgainIsEmpty) {
  PooledMessage first = pool_.Take(100);
  const MessagePool::Message* const address = first.get();
  Volume(first).mutable_metadata()->set_name("pv");
  first.reset();
  const PooledMessage again = pool_.Take(100);
  EXPECT_EQ(again.get(), address);
  EXPECT_EQ(again->ByteSizeLong(), 0u);
}

TEST_F(MessagePoolTest, WhoeverTakesOneHasItAlone) {
  PooledMessage messages[] = {pool_.Take(1), pool_.Take(1), pool_.Take(1)};
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 3; ++i) Volume(messages[i]).mutable_metadata()->set_generation(i);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(Volume(messages[i]).metadata().generation(), i);
    for (PooledMessage& message : messages) message.reset();
    for (PooledMessage& message : messages) message = pool_.Take(1);
  }
}

TEST_F(MessagePoolTest, WhatHeldALargeObjectIsNotKept) {
  // Kept by the pool, so that its address cannot come from the allocator.
  PooledMessage small = pool_.Take(1);
  const MessagePool::Message* const kept = small.get();
  PooledMessage large = pool_.Take(MessagePool::kLargestObject + 1);
  EXPECT_EQ(large.get_deleter().pool, nullptr);
  small.reset();
  large.reset();
  EXPECT_EQ(pool_.Take(1).get(), kept);
}

// Each object uses another annotation's string: a message would keep them all.
TEST_F(MessagePoolTest, ObjectsOfManyShapesDoNotAddUp) {
  for (int i = 0; i < 1000; ++i) {
    const PooledMessage message = pool_.Take(12'000);
    for (int j = 0; j <= i % 500; ++j) Volume(message).mutable_metadata()->add_annotations();
    Volume(message).mutable_metadata()->mutable_annotations(i % 500)->set_value(
        std::string(12'000, 'x'));
  }
  for (int i = 0; i < MessagePool::kMeasured; ++i) pool_.Take(1);
  EXPECT_LT(pool_.Take(1)->SpaceUsedLong(), 2 * MessagePool::kLargestMessage);
}

}  // namespace
}  // namespace csinative::kube
