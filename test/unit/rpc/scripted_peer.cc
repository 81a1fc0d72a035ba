// SPDX-License-Identifier: Apache-2.0
#include "test/unit/rpc/scripted_peer.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace csinative::rpc {
namespace {

std::string BigEndian(uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16),
          static_cast<char>(value >> 8), static_cast<char>(value)};
}

}  // namespace

void PeerConnection::WriteBytes(const std::string& bytes) {
  size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t n = send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) return;
    sent += static_cast<size_t>(n);
  }
}

void PeerConnection::Write(FrameType type, uint8_t flags, uint32_t stream,
                           const std::string& payload) {
  std::string frame = BigEndian(static_cast<uint32_t>(payload.size())).substr(1);
  frame += static_cast<char>(type);
  frame += static_cast<char>(flags);
  frame += BigEndian(stream);
  WriteBytes(frame + payload);
}

void PeerConnection::GoAway(uint32_t last_stream, uint32_t code) {
  Write(kGoAway, 0, 0, BigEndian(last_stream) + BigEndian(code));
}

void PeerConnection::Reset(uint32_t stream, uint32_t code) {
  Write(kReset, 0, stream, BigEndian(code));
}

void PeerConnection::Close() { shutdown(fd_, SHUT_RDWR); }

bool PeerConnection::ReadExactly(char* into, size_t size) {
  size_t got = 0;
  while (got < size) {
    const ssize_t n = read(fd_, into + got, size - got);
    if (n <= 0) return false;
    got += static_cast<size_t>(n);
  }
  return true;
}

void PeerConnection::Swallow() {
  char byte;
  while (ReadExactly(&byte, 1)) {
  }
}

uint32_t PeerConnection::NextRequest() {
  if (!preface_seen_) {
    char preface[24];
    if (!ReadExactly(preface, sizeof(preface))) return 0;
    preface_seen_ = true;
    Write(kSettings, 0, 0, "");
  }
  while (true) {
    unsigned char header[9];
    if (!ReadExactly(reinterpret_cast<char*>(header), sizeof(header))) return 0;
    const size_t size =
        (static_cast<size_t>(header[0]) << 16) | (static_cast<size_t>(header[1]) << 8) | header[2];
    std::string payload(size, '\0');
    if (!ReadExactly(payload.data(), size)) return 0;
    const uint8_t type = header[3];
    const uint8_t flags = header[4];
    const uint32_t stream = (static_cast<uint32_t>(header[5] & 0x7f) << 24) |
                            (static_cast<uint32_t>(header[6]) << 16) |
                            (static_cast<uint32_t>(header[7]) << 8) | header[8];
    if (type == kSettings && (flags & kAck) == 0) Write(kSettings, kAck, 0, "");
    if (type == kPing && (flags & kAck) == 0) Write(kPing, kAck, 0, payload);
    if ((type == kData || type == kHeaders) && (flags & kEndStream) != 0) return stream;
  }
}

ScriptedPeer::ScriptedPeer(const std::string& path, Script script)
    : listener_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_un where{};
  where.sun_family = AF_UNIX;
  std::strncpy(where.sun_path, path.c_str(), sizeof(where.sun_path) - 1);
  if (bind(listener_.get(), reinterpret_cast<const sockaddr*>(&where), sizeof(where)) != 0 ||
      listen(listener_.get(), 16) != 0) {
    std::perror("scripted peer");
    std::abort();
  }
  thread_ = std::thread([this, script = std::move(script)] {
    while (true) {
      UniqueFd fd(accept(listener_.get(), nullptr, nullptr));
      if (!fd.valid() || stopping_) return;
      ++connections_;
      current_ = fd.get();
      if (stopping_) return;
      PeerConnection connection(fd.get());
      script(connection);
      current_ = -1;
    }
  });
}

ScriptedPeer::~ScriptedPeer() {
  stopping_ = true;
  shutdown(listener_.get(), SHUT_RDWR);
  const int fd = current_;
  if (fd >= 0) shutdown(fd, SHUT_RDWR);
  thread_.join();
}

}  // namespace csinative::rpc
