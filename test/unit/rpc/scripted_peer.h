// SPDX-License-Identifier: Apache-2.0
//
// A peer that speaks HTTP/2 frame by frame, for what no well-behaved gRPC server does. It answers
// SETTINGS and PING itself (unless told not to) and hands each complete request to a script.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>

#include "lib/base/unique_fd.h"

namespace csinative::rpc {

// Peer thread only.
class PeerConnection {
 public:
  enum FrameType : uint8_t {
    kData = 0,
    kHeaders = 1,
    kReset = 3,
    kSettings = 4,
    kPing = 6,
    kGoAway = 7
  };
  static constexpr uint8_t kEndStream = 1;
  static constexpr uint8_t kAck = 1;
  static constexpr uint8_t kEndHeaders = 4;

  explicit PeerConnection(int fd) : fd_(fd) {}
  void Write(FrameType type, uint8_t flags, uint32_t stream, const std::string& payload);
  void WriteBytes(const std::string& bytes);
  void GoAway(uint32_t last_stream, uint32_t code);
  void Reset(uint32_t stream, uint32_t code);
  // Closes with a RST of the socket where the kind of socket has one.
  void Close();
  // Reads and ignores bytes until the end of the connection.
  void Swallow();
  // Serves frames until a request is complete; its stream, or 0 at the end of the connection.
  uint32_t NextRequest();

 private:
  bool ReadExactly(char* into, size_t size);
  int fd_;
  bool preface_seen_ = false;
};

class ScriptedPeer {
 public:
  using Script = std::function<void(PeerConnection&)>;
  // Listens on the path of a unix socket and runs the script for each connection, one by one. The
  // connection is closed when the script returns.
  ScriptedPeer(const std::string& path, Script script);
  ~ScriptedPeer();
  int connections() const { return connections_; }

 private:
  UniqueFd listener_;
  std::atomic<int> connections_{0};
  std::atomic<int> current_{-1};
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace csinative::rpc
