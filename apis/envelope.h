// SPDX-License-Identifier: Apache-2.0
//
// The protobuf encoding of Kubernetes: an object travels inside an envelope (the bytes "k8s\0" and
// a runtime.Unknown), and watch events travel in length-delimited frames (kube-client 8). Values
// and pure functions; any thread.
#pragma once

#include <google/protobuf/message.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/base/result.h"

namespace csinative::apis {

inline constexpr std::string_view kProtobufMagic{"k8s\0", 4};
inline constexpr std::string_view kProtobufContentType = "application/vnd.kubernetes.protobuf";
inline constexpr std::string_view kProtobufWatchContentType =
    "application/vnd.kubernetes.protobuf;stream=watch";

// True when `bytes` starts like an envelope.
inline bool HasProtobufMagic(std::string_view bytes) { return bytes.starts_with(kProtobufMagic); }

// The envelope of a message, or of a message's bytes.
std::string Wrap(std::string_view api_version, std::string_view kind,
                 const google::protobuf::Message& message);
std::string WrapRaw(std::string_view api_version, std::string_view kind, std::string_view raw);

// What an envelope holds. Views into the bytes it came from.
struct Envelope {
  std::string_view api_version;  // empty when the sender left it out
  std::string_view kind;
  std::string_view raw;  // the message
};

// Only looks at the envelope: `raw` may be anything. InvalidArgument with upstream's texts for no
// bytes, another beginning, and nothing after it; content type and encoding are ignored.
Result<Envelope> Unwrap(std::string_view bytes);
// Unwrap and parse; unknown fields are dropped. InvalidArgument when `raw` is not the message.
Status UnwrapInto(std::string_view bytes, google::protobuf::Message* message);

// --- watch frames -------------------------------------------------------------------------------

// A frame over this size is drained and reported as an error (kube-client 8.3).
inline constexpr uint32_t kMaxWatchFrame = 16 * 1024 * 1024;

// Appends the frame of one event. `object` is an envelope.
void AppendWatchFrame(std::string_view type, std::string_view object, std::string* out);

struct WatchFrame {
  std::string type;    // "ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR" or what was sent
  std::string object;  // an envelope; not looked at
};

// Cuts a byte stream into events. Feed bytes as they come, then call Next until it has none.
class WatchFrameReader {
 public:
  void Feed(std::string_view bytes);
  // The next event; nothing when more bytes are needed. InvalidArgument for a frame that is not an
  // event or is too large: the reader has passed it and goes on with the next one.
  Result<std::optional<WatchFrame>> Next();
  // The stream ended. OutOfRange "unexpected EOF" when that cut a frame in two.
  Status Finish() const;
  // Bytes held, for memory bounds.
  size_t buffered() const { return buffer_.size() - begin_; }

 private:
  std::string buffer_;
  size_t begin_ = 0;    // start of the unread part of buffer_
  uint64_t drain_ = 0;  // bytes of a too large frame still to be skipped
};

}  // namespace csinative::apis
