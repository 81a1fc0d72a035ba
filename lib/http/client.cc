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

Result<std::unique_ptr<Client>> NewClient(async::RealLoop& loop, ClientConfig config) {
  ClientSetup setup;
  Result<Origin> origin = ParseOrigin(config.base_url);
  if (!origin.ok()) return origin.status().WithContext("server URL");
  setup.origin = std::move(origin).value();
  if (!config.proxy_url.empty()) {
    Result<Origin> proxy = ParseOrigin(config.proxy_url);
    if (!proxy.ok()) return proxy.status().WithContext("proxy URL");
    if (proxy->tls) return InvalidArgumentError("proxy URL: only http proxies are supported");
    setup.proxy = std::move(proxy).value();
  }
  if (setup.origin.tls) {
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
