// SPDX-License-Identifier: Apache-2.0
//
// Who we are, as HTTP header fields: bearer token with its file, basic authentication,
// impersonation (kube-client 4.1, 4.2). Loop only; reads the token file when its copy is stale.
#pragma once

#include <optional>
#include <string>

#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/http/message.h"
#include "lib/kube/config.h"
#include "lib/log/logger.h"

namespace csinative::kube {

class Credentials {
 public:
  // kInvalidArgument for a token beside a user name. Borrowed: the clock.
  static Result<Credentials> Create(const Clock& clock, const RestConfig& config, log::Logger log);

  void AddTo(http::Headers* headers);
  // The server did not accept them: the next request reads the token file again.
  void OnUnauthorized();

 private:
  Credentials(const Clock& clock, log::Logger log) : clock_(&clock), log_(std::move(log)) {}
  void RefreshToken();

  const Clock* clock_;
  log::Logger log_;
  std::string token_;
  std::string token_file_;
  std::optional<MonotonicTime> token_read_;  // when token_ came from the file
  std::string basic_;                        // whole header value
  http::Headers impersonation_;
};

// "Impersonate-Extra-" and the key, escaped so that it can be part of a header name.
std::string ImpersonateExtraHeader(std::string_view key);

}  // namespace csinative::kube
