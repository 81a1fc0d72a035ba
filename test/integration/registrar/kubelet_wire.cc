// SPDX-License-Identifier: Apache-2.0
#include "test/integration/registrar/kubelet_wire.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "lib/base/strings.h"
#include "lib/base/unique_fd.h"

namespace csinative {
namespace {

// HTTP/2, RFC 9113: types and flags of frames.
constexpr char kData = 0, kHeaders = 1, kSettings = 4, kGoAway = 7;
constexpr char kEndStream = 1, kEndHeaders = 4, kAck = 1;

std::string Frame(char type, char flags, int stream, std::string_view payload) {
  const size_t size = payload.size();
  std::string out = {static_cast<char>(size >> 16), static_cast<char>(size >> 8),
                     static_cast<char>(size)};
  out += {type, flags, 0, 0, 0, static_cast<char>(stream)};
  return out.append(payload);
}

// HPACK: a literal that is not indexed, name and value below 127 bytes.
std::string Field(std::string_view name, std::string_view value) {
  std::string out(1, '\0');
  for (const std::string_view text : {name, value}) {
    out += static_cast<char>(text.size());
    out += text;
  }
  return out;
}

class Reader {
 public:
  explicit Reader(int fd) : fd_(fd) {}
  bool Take(size_t count, std::string& out) {
    while (buffer_.size() < count) {
      char bytes[4096];
      const ssize_t got = ::read(fd_, bytes, sizeof bytes);
      if (got <= 0) return false;
      buffer_.append(bytes, static_cast<size_t>(got));
    }
    out = buffer_.substr(0, count);
    buffer_.erase(0, count);
    return true;
  }

 private:
  const int fd_;
  std::string buffer_;
};

}  // namespace

Result<std::string> CallWithAuthority(const std::string& socket, const std::string& authority,
                                      const std::string& method) {
  const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un where{};
  where.sun_family = AF_UNIX;
  std::strncpy(where.sun_path, socket.c_str(), sizeof where.sun_path - 1);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&where), sizeof where) != 0) {
    return UnavailableError(std::strerror(errno));
  }
  const timeval limit{10, 0};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  const std::string fields = Field(":method", "POST") + Field(":scheme", "http") +
                             Field(":path", method) + Field(":authority", authority) +
                             Field("content-type", "application/grpc") +
                             Field("user-agent", "grpc-go/1.79.3") + Field("te", "trailers");
  const std::string request = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + Frame(kSettings, 0, 0, "") +
                              Frame(kHeaders, kEndHeaders, 1, fields) +
                              Frame(kData, kEndStream, 1, std::string(5, '\0'));
  if (::write(fd.get(), request.data(), request.size()) != static_cast<ssize_t>(request.size())) {
    return UnavailableError(std::strerror(errno));
  }
  Reader reader(fd.get());
  std::string head;
  std::string payload;
  while (reader.Take(9, head)) {
    const auto byte = [&head](size_t i) { return static_cast<unsigned char>(head[i]); };
    if (!reader.Take(byte(0) << 16 | byte(1) << 8 | byte(2), payload)) break;
    if (head[3] == kSettings && (head[4] & kAck) == 0) {
      const std::string ack = Frame(kSettings, kAck, 0, "");
      (void)!::write(fd.get(), ack.data(), ack.size());
    }
    if (head[3] == kGoAway) return UnavailableError("GOAWAY: " + payload);
    // The message behind its compression flag and length.
    if (head[3] == kData && payload.size() >= 5) return payload.substr(5);
    if (head[3] == kHeaders && (head[4] & kEndStream) != 0) {
      return UnknownError(StrCat("trailers only: ", payload));
    }
  }
  return UnavailableError("the connection ended");
}

}  // namespace csinative
