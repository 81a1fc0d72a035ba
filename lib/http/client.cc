// SPDX-License-Identifier: Apache-2.0
#include "lib/http/client.h"

#include <utility>

#include "lib/base/strings.h"
#include "lib/http/net_error.h"
#include "lib/http/tls.h"
#include "lib/http/transport.h"
#include "lib/http/url.h"

namespace csinative::http {

Status HeaderTooLarge() {
  return TransportStatus(TransportError::Kind::kOther,
                         StrCat("net/http: server response headers exceeded ",
                                kMaxResponseHeaderBytes, " bytes; aborted"));
}

Status BodyTooLarge() {
  return Status(Code::kResourceExhausted, "http: response body is too large",
                TransportError{TransportError::Kind::kOther});
}

Status FinalStatus(Status status) {
  if (!IsDeadlineExceeded(status) || status.transport_error() != nullptr) return status;
  return TransportStatus(TransportError::Kind::kTimeout, status.message());
}

namespace {

Result<Proxy> ParseProxy(const std::string& url) {
  constexpr std::string_view kSocks = "socks5://";
  Proxy proxy;
  if (!ToLower(url).starts_with(kSocks)) {
    CSI_ASSIGN_OR_RETURN(proxy.origin, ParseOrigin(url));
    return proxy;
  }
  proxy.kind = Proxy::Kind::kSocks5;
  // The same form as an http URL, but for the default port.
  const std::string rest = url.substr(kSocks.size());
  CSI_ASSIGN_OR_RETURN(proxy.origin, ParseOrigin("http://" + rest));
  const std::string_view authority = std::string_view(rest).substr(0, rest.find_first_of("/?#"));
  const size_t colon = authority.rfind(':');
  const bool has_port = colon != std::string_view::npos &&
                        authority.find(']', colon) == std::string_view::npos &&
                        authority.find('@', colon) == std::string_view::npos;
  if (!has_port) proxy.origin.port = 1080;
  return proxy;
}

}  // namespace

Result<std::unique_ptr<Client>> NewClient(async::RealLoop& loop, ClientConfig config) {
  ClientSetup setup;
  Result<Origin> origin = ParseOrigin(config.base_url);
  if (!origin.ok()) return origin.status().WithContext("server URL");
  setup.origin = std::move(origin).value();
  if (!config.proxy_url.empty()) {
    Result<Proxy> proxy = ParseProxy(config.proxy_url);
    if (!proxy.ok()) return proxy.status().WithContext("proxy URL");
    setup.proxy = std::move(proxy).value();
  }
  if (setup.origin.tls || (setup.proxy && setup.proxy->origin.tls)) {
    CSI_ASSIGN_OR_RETURN(setup.tls, NewClientTlsContext(config.tls));
    setup.server_name = config.tls.server_name.empty() ? setup.origin.host : config.tls.server_name;
  }
  setup.config = std::move(config);
  switch (setup.config.transport) {
    case ClientConfig::Transport::kBeast:
      return NewBeastClient(loop, std::move(setup));
    case ClientConfig::Transport::kCppRest:
      if (setup.proxy) return UnimplementedError("cpprestsdk: no proxies");
      return NewCppRestClient(loop, std::move(setup), Fallback::kNone);
    case ClientConfig::Transport::kAuto:
      break;
  }
  if (setup.proxy || setup.origin.is_ipv6()) return NewBeastClient(loop, std::move(setup));
  return NewCppRestClient(loop, std::move(setup), Fallback::kBeast);
}

}  // namespace csinative::http
