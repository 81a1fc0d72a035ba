// SPDX-License-Identifier: Apache-2.0
//
// Cuts the bytes of a watch into events, in both encodings (kube-client 8.3). Value; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "apis/envelope.h"
#include "lib/base/result.h"
#include "lib/kube/codec.h"
#include "lib/kube/json_scanner.h"

namespace csinative::kube {

enum class WatchEventType { kAdded, kModified, kDeleted, kBookmark, kError };

struct WatchEvent {
  WatchEventType type = WatchEventType::kAdded;
  EncodedObject object;  // views into the decoder, valid until its next call
};

class WatchDecoder {
 public:
  explicit WatchDecoder(Encoding encoding) : encoding_(encoding) {}

  void Feed(std::string_view bytes);
  // The next event; empty when more bytes are needed. A failure is final: the stream is not what
  // it should be.
  Result<std::optional<WatchEvent>> Next();
  // The stream ended: kOutOfRange "unexpected EOF" in the middle of an event.
  Status Finish() const;

 private:
  Result<std::optional<WatchEvent>> NextProtobuf();
  Result<std::optional<WatchEvent>> NextJson();

  Encoding encoding_;
  apis::WatchFrameReader frames_;  // protobuf
  apis::WatchFrame frame_;         // the event handed out last
  std::string buffer_;             // JSON
  size_t begin_ = 0;               // start of the unread part of buffer_
  JsonScanner scanner_;
  std::string object_;     // JSON: the object handed out last
  std::string type_meta_;  // JSON: its kind and version
};

}  // namespace csinative::kube
