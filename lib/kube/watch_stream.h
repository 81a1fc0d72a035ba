// SPDX-License-Identifier: Apache-2.0
//
// One open watch: bytes in, events out, and the many ways it can end reduced to three (kube-client
// 12). Loop only.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "lib/async/event_loop.h"
#include "lib/async/task.h"
#include "lib/base/result.h"
#include "lib/kube/transport.h"
#include "lib/kube/watch_decoder.h"
#include "lib/log/logger.h"

namespace csinative::kube {

// The failure that the object of an ERROR event stands for: a Status, or something unexpected.
Status ErrorOfObject(const EncodedObject& object);

class WatchStream {
 public:
  // A watch that sends nothing for this long is given up: a peer that acknowledges but forwards
  // nothing cannot be told from a quiet one otherwise. API servers send a bookmark about once a
  // minute.
  static constexpr Duration kSilenceLimit = std::chrono::seconds(90);

  // Borrowed: the loop. kUnimplemented for a content type that is no watch.
  static Result<std::unique_ptr<WatchStream>> Create(async::EventLoop& loop, log::Logger log,
                                                     std::unique_ptr<ApiStream> stream);

  // The next event that has arrived; empty if more bytes are needed. Fails with the API error that
  // an ERROR event carries, or with one that stands for bytes that are no event. Final then.
  // The event's views are valid until the next call.
  Result<std::optional<WatchEvent>> Next();

  // Waits for more bytes. False: the stream has ended, in whatever way; the watch can be opened
  // again where it stopped. Fails only with the caller's cancellation.
  async::Task<Result<bool>> Fill();

  MonotonicTime opened_at() const { return opened_at_; }
  MonotonicTime last_activity() const { return last_activity_; }
  // It ended within a second and brought nothing: something is wrong at the other end.
  bool VeryShort() const;

 private:
  WatchStream(async::EventLoop& loop, log::Logger log, std::unique_ptr<ApiStream> stream,
              Encoding encoding)
      : loop_(loop),
        log_(std::move(log)),
        stream_(std::move(stream)),
        decoder_(encoding),
        opened_at_(loop.Now()),
        last_activity_(opened_at_) {}

  async::EventLoop& loop_;
  log::Logger log_;
  std::unique_ptr<ApiStream> stream_;
  WatchDecoder decoder_;
  const MonotonicTime opened_at_;
  MonotonicTime last_activity_;
  uint64_t events_ = 0;
};

}  // namespace csinative::kube
