// SPDX-License-Identifier: Apache-2.0
#include "lib/http/socks.h"

#include <utility>

#include "lib/base/strings.h"
#include "lib/http/net_error.h"

namespace csinative::http {
namespace {

constexpr char kVersion = 5;
constexpr char kNoAuthentication = 0;
constexpr char kUserName = 2;
constexpr char kConnect = 1;
constexpr char kIpv4 = 1;
constexpr char kHostName = 3;
constexpr char kIpv6 = 4;

Status ProxyFailure(std::string_view why) {
  return TransportStatus(TransportError::Kind::kOther, StrCat("socks connect tcp: ", why));
}

// The words of RFC 1928, section 6.
std::string_view ReplyText(unsigned char code) {
  constexpr std::string_view kTexts[] = {"succeeded",
                                         "general SOCKS server failure",
                                         "connection not allowed by ruleset",
                                         "network unreachable",
                                         "host unreachable",
                                         "connection refused",
                                         "TTL expired",
                                         "command not supported",
                                         "address type not supported"};
  return code < std::size(kTexts) ? kTexts[code] : "unknown error";
}

// One byte of length, then the text. REQUIRES: at most 255 bytes.
std::string Counted(const std::string& text) {
  return std::string(1, static_cast<char>(text.size())) + text;
}

// Reads until *bytes holds `size`. A proxy sends nothing beyond its answers: the client speaks
// first after them.
async::Task<Status> ReadUpTo(Stream* stream, std::string* bytes, size_t size) {
  while (bytes->size() < size) {
    CSI_CO_ASSIGN_OR_RETURN(const std::string piece, co_await stream->Read());
    if (piece.empty()) co_return TransportStatus(TransportError::Kind::kReset, "EOF");
    *bytes += piece;
  }
  co_return Status();
}

async::Task<Status> Authenticate(Stream* stream, const SocksTarget* target) {
  std::string request(1, '\x01');
  request += Counted(target->user) + Counted(target->password);
  CSI_CO_RETURN_IF_ERROR(co_await stream->Write(std::move(request)));
  std::string answer;
  CSI_CO_RETURN_IF_ERROR(co_await ReadUpTo(stream, &answer, 2));
  if (answer[1] != 0) co_return ProxyFailure("username/password authentication failed");
  co_return Status();
}

}  // namespace

async::Task<Status> SocksConnect(std::shared_ptr<Stream> stream, SocksTarget target) {
  if (target.host.size() > 255 || target.user.size() > 255 || target.password.size() > 255) {
    co_return ProxyFailure("a name is too long");
  }
  std::string greeting = {kVersion, 1, kNoAuthentication};
  if (!target.user.empty()) greeting = {kVersion, 2, kNoAuthentication, kUserName};
  CSI_CO_RETURN_IF_ERROR(co_await stream->Write(std::move(greeting)));
  std::string answer;
  CSI_CO_RETURN_IF_ERROR(co_await ReadUpTo(stream.get(), &answer, 2));
  if (answer[0] != kVersion) co_return ProxyFailure("unexpected protocol version");
  if (answer[1] == kUserName && !target.user.empty()) {
    CSI_CO_RETURN_IF_ERROR(co_await Authenticate(stream.get(), &target));
  } else if (answer[1] != kNoAuthentication) {
    co_return ProxyFailure("no acceptable authentication methods");
  }

  std::string request = {kVersion, kConnect, 0, kHostName};
  request += Counted(target.host);
  request += static_cast<char>(target.port >> 8);
  request += static_cast<char>(target.port & 0xff);
  CSI_CO_RETURN_IF_ERROR(co_await stream->Write(std::move(request)));
  // Version, reply, reserved, and the address that the proxy uses, which nobody asks for.
  std::string reply;
  CSI_CO_RETURN_IF_ERROR(co_await ReadUpTo(stream.get(), &reply, 5));
  if (reply[0] != kVersion) co_return ProxyFailure("unexpected protocol version");
  if (reply[1] != 0) co_return ProxyFailure(ReplyText(static_cast<unsigned char>(reply[1])));
  size_t address = 0;
  if (reply[3] == kIpv4) {
    address = 4;
  } else if (reply[3] == kIpv6) {
    address = 16;
  } else if (reply[3] == kHostName) {
    address = 1 + static_cast<unsigned char>(reply[4]);
  } else {
    co_return ProxyFailure("unknown address type");
  }
  const size_t size = 4 + address + 2;
  CSI_CO_RETURN_IF_ERROR(co_await ReadUpTo(stream.get(), &reply, size));
  if (reply.size() > size) co_return ProxyFailure("unexpected data after the proxy's answer");
  co_return Status();
}

}  // namespace csinative::http
