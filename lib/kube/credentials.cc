// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/credentials.h"

#include <utility>

#include "lib/base/base64.h"
#include "lib/base/go_quote.h"
#include "lib/base/strings.h"
#include "lib/kube/kubeconfig.h"

namespace csinative::kube {
namespace {

// client-go transport.NewCachedFileTokenSource: a minute, less ten seconds of leeway. Kubelet
// replaces a projected token at 80 % of its life, of at least ten minutes.
constexpr Duration kTokenLifetime = std::chrono::seconds(50);

bool IsHeaderNameCharacter(char c) {
  constexpr std::string_view kPunctuation = "!#$&'*+-.^_`|~";  // a token's, without '%'
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         kPunctuation.find(c) != std::string_view::npos;
}

// Go's canonical form: upper case at the start and after each hyphen, lower case elsewhere.
std::string Canonical(std::string name) {
  bool upper = true;
  for (char& c : name) {
    if (upper && c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    if (!upper && c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    upper = c == '-';
  }
  return name;
}

}  // namespace

std::string ImpersonateExtraHeader(std::string_view key) {
  std::string name = "Impersonate-Extra-";
  for (char c : key) {
    if (IsHeaderNameCharacter(c)) {
      name += c;
    } else {
      name += StrCat("%", HexEncode(std::string_view(&c, 1)));
    }
  }
  return Canonical(std::move(name));
}

Result<Credentials> Credentials::Create(const Clock& clock, const RestConfig& config,
                                        log::Logger log) {
  const bool basic = !config.username.empty() || !config.password.empty();
  const bool bearer = !config.bearer_token.empty() || !config.bearer_token_file.empty();
  if (basic && bearer) {
    return InvalidArgumentError("username/password or bearer token may be set, but not both");
  }
  Credentials credentials(clock, std::move(log));
  // Differs: client-go sends a token with its line feed until the file is read the second time.
  credentials.token_ = TrimSpace(config.bearer_token);
  credentials.token_file_ = config.bearer_token_file;
  if (basic) {
    credentials.basic_ = "Basic " + Base64Encode(StrCat(config.username, ":", config.password));
  }
  if (!config.impersonate_user.empty()) {
    http::Headers& headers = credentials.impersonation_;
    headers.Add("Impersonate-User", config.impersonate_user);
    if (!config.impersonate_uid.empty()) headers.Add("Impersonate-Uid", config.impersonate_uid);
    for (const std::string& group : config.impersonate_groups) {
      headers.Add("Impersonate-Group", group);
    }
    for (const auto& [key, values] : config.impersonate_extra) {
      for (const std::string& value : values) headers.Add(ImpersonateExtraHeader(key), value);
    }
  }
  return credentials;
}

void Credentials::AddTo(http::Headers* headers) {
  RefreshToken();
  if (!basic_.empty()) {
    headers->Add("Authorization", basic_);
  } else if (!token_.empty()) {
    headers->Add("Authorization", "Bearer " + token_);
  }
  for (const auto& [name, value] : impersonation_.fields()) headers->Add(name, value);
}

void Credentials::OnUnauthorized() { token_read_.reset(); }

void Credentials::RefreshToken() {
  if (token_file_.empty()) return;
  const MonotonicTime now = clock_->Now();
  if (token_read_ && now - *token_read_ < kTokenLifetime) return;
  const Result<std::string> content = ReadFile(token_file_);
  const std::string_view token = content.ok() ? TrimSpace(*content) : "";
  if (!token.empty()) {
    token_ = token;
    token_read_ = now;
    return;
  }
  // The last token stays in use, and the next request looks again.
  const Status failure =
      content.ok()
          ? InvalidArgumentError(StrCat("read empty token from file ", GoQuote(token_file_)))
          : content.status();
  log_.Error(failure, "Unable to rotate token");
}

}  // namespace csinative::kube
