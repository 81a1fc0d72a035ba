// SPDX-License-Identifier: Apache-2.0
//
// Messages of one kind to decode objects into, used again: a cleared message keeps its strings and
// submessages, so that decoding the next object, which has the same shape, allocates nothing. What
// objects of many shapes have left in it is looked at now and then. Loop only.
#pragma once

#include <google/protobuf/message.h>

#include <array>
#include <cstddef>
#include <memory>
#include <utility>

namespace csinative::kube {

class MessagePool;

// Gives the message back to the pool it came from. That one must still be there.
struct ReturnToPool {
  MessagePool* pool = nullptr;
  void operator()(google::protobuf::Message* message) const;
};
using PooledMessage = std::unique_ptr<google::protobuf::Message, ReturnToPool>;

class MessagePool {
 public:
  using Message = google::protobuf::Message;

  // Messages of larger objects are not kept.
  static constexpr size_t kLargestObject = size_t{16} << 10;
  // Nor those that have grown beyond this, which every so many returns are measured for.
  static constexpr size_t kLargestMessage = size_t{64} << 10;
  static constexpr int kMeasured = 64;

  explicit MessagePool(const Message* prototype) : prototype_(prototype) {}
  MessagePool(const MessagePool&) = delete;
  MessagePool& operator=(const MessagePool&) = delete;

  // An empty message, for an object of so many bytes.
  PooledMessage Take(size_t object_bytes) {
    std::unique_ptr<Message> message;
    for (std::unique_ptr<Message>& spare : spare_) {
      if (spare != nullptr && object_bytes <= kLargestObject) {
        message = std::move(spare);
        break;
      }
    }
    if (message == nullptr) message.reset(prototype_->New());
    return {message.release(), ReturnToPool{object_bytes > kLargestObject ? nullptr : this}};
  }

 private:
  friend ReturnToPool;

  void Give(std::unique_ptr<Message> message) {
    if (++returns_ % kMeasured == 0 && message->SpaceUsedLong() > kLargestMessage) return;
    for (std::unique_ptr<Message>& spare : spare_) {
      if (spare == nullptr) {
        message->Clear();
        spare = std::move(message);
        return;
      }
    }
  }

  const Message* const prototype_;
  unsigned returns_ = 0;
  std::array<std::unique_ptr<Message>, 2> spare_;  // an update has an old and a new object
};

inline void ReturnToPool::operator()(google::protobuf::Message* message) const {
  std::unique_ptr<google::protobuf::Message> owned(message);
  if (pool != nullptr) pool->Give(std::move(owned));
}

}  // namespace csinative::kube
