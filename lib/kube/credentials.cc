// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/credentials.h"

#include <utility>

#include "lib/base/base64.h"
#include "lib/base/go_quote.h"
#include "lib/base/strings.h"
#include "lib/kube/kubeconfig.h"

namespace csinative::kube {
namespace {

// client-go transport.NewCachedFileTokenSource. Kubelet replaces a projected token at 80 % of its
// life, of at least ten minutes.
constexpr Duration kTokenLifetime = std::chrono::minutes(1);
constexpr Duration kTokenLeeway = std::chrono::seconds(10);

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

Result<TimedToken> ReadToken(const Clock& clock, const std::string& path) {
  CSI_ASSIGN_OR_RETURN(const std::string content, ReadFile(path));
  const std::string_view token = TrimSpace(content);
  if (token.empty()) {
    return InvalidArgumentError(StrCat("read empty token from file ", GoQuote(path)));
  }
  return TimedToken{std::string(token), clock.Now() + kTokenLifetime};
}

}  // namespace

void AddIfAbsent(const std::string& name, const std::string& value, http::Headers* headers) {
  if (!headers->Get(name)) headers->Add(name, value);
}

std::string EscapeHeaderKey(std::string_view key) {
  std::string out;
  for (char c : key) {
    if (IsHeaderNameCharacter(c)) {
      out += c;
    } else {
      out += StrCat("%", HexEncode(std::string_view(&c, 1)));
    }
  }
  return out;
}

std::string ImpersonateExtraHeader(std::string_view key) {
  return Canonical("Impersonate-Extra-" + EscapeHeaderKey(key));
}

Result<Credentials> Credentials::Create(const Clock& clock, const RestConfig& config,
                                        log::Logger log) {
  const bool basic = !config.username.empty() || !config.password.empty();
  const bool bearer = !config.bearer_token.empty() || !config.bearer_token_file.empty();
  if (basic && bearer) {
    return InvalidArgumentError("username/password or bearer token may be set, but not both");
  }
  Credentials credentials(std::move(log));
  // Differs: client-go sends a token with its line feed until the file is read the second time.
  credentials.token_ = TrimSpace(config.bearer_token);
  if (!config.bearer_token_file.empty()) {
    credentials.token_file_.emplace(
        clock, [&clock, path = config.bearer_token_file] { return ReadToken(clock, path); },
        kTokenLeeway);
  }
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

void Credentials::AddTo(http::Headers* headers, const std::string& exec_token) {
  if (!headers->Get("Authorization")) {
    const std::string token = Token();
    if (!basic_.empty()) {
      headers->Add("Authorization", basic_);
    } else if (!token.empty() || !exec_token.empty()) {
      headers->Add("Authorization", "Bearer " + (token.empty() ? exec_token : token));
    }
  }
  if (headers->Get("Impersonate-User")) return;
  for (const auto& [name, value] : impersonation_.fields()) headers->Add(name, value);
}

void Credentials::OnUnauthorized() {
  if (token_file_) token_file_->Expire();
}

std::string Credentials::Token() {
  if (!token_file_) return token_;
  const Result<TokenCache::Answer> answer = token_file_->Get();
  const Status failure = answer.ok() ? answer->failure : answer.status();
  if (!failure.ok()) log_.Error(failure, "Unable to rotate token");
  return answer.ok() ? answer->token : token_;
}

}  // namespace csinative::kube
