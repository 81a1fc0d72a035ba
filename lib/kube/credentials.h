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
#include "lib/kube/token_cache.h"
#include "lib/log/logger.h"

namespace csinative::kube {

class Credentials {
 public:
  // kInvalidArgument for a token beside a user name. Borrowed: the clock.
  static Result<Credentials> Create(const Clock& clock, const RestConfig& config, log::Logger log);

  // Adds what the header does not have yet. exec_token: from a plugin, used if there is no other
  // credential.
  void AddTo(http::Headers* headers, const std::string& exec_token = "");
  // The server did not accept them: the next request reads the token file again.
  void OnUnauthorized();

 private:
  explicit Credentials(log::Logger log) : log_(std::move(log)) {}
  std::string Token();

  log::Logger log_;
  std::string token_;  // configured: while the file gives none
  std::optional<TokenCache> token_file_;
  std::string basic_;  // whole header value
  http::Headers impersonation_;
};

// Adds a field to a header that has none of that name.
void AddIfAbsent(const std::string& name, const std::string& value, http::Headers* headers);

// The key with everything that cannot be in a header name, and '%', as %XX.
std::string EscapeHeaderKey(std::string_view key);
// "Impersonate-Extra-" and the key, escaped and in the form in which HTTP libraries send it.
std::string ImpersonateExtraHeader(std::string_view key);

}  // namespace csinative::kube
