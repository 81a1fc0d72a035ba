// SPDX-License-Identifier: Apache-2.0
#include "test/support/apiserver/tokens.h"

#include "lib/base/base64.h"
#include "lib/base/json_string.h"
#include "lib/base/strings.h"

namespace csinative::apiserver {
namespace {

int64_t Seconds(WallTime time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

}  // namespace

void Tokens::Add(std::string token, User user) {
  tokens_[std::move(token)] = {std::move(user), {}};
}

void Tokens::Revoke(std::string_view token) {
  auto it = tokens_.find(token);
  if (it != tokens_.end()) tokens_.erase(it);
}

Tokens::Issued Tokens::Issue(const TokenSpec& spec) {
  const WallTime now = clock_.WallNow();
  const WallTime expires = now + std::chrono::seconds(spec.expiration_seconds);
  const std::string subject =
      StrCat("system:serviceaccount:", spec.namespace_name, ":", spec.service_account);
  std::vector<std::string> audiences;
  for (const std::string& audience : spec.audiences) audiences.push_back(JsonString(audience));
  std::string claims = StrCat(
      "{\"aud\":[", Join(audiences, ","), "],\"exp\":", Seconds(expires), ",\"iat\":", Seconds(now),
      ",\"iss\":\"https://kubernetes.default.svc.cluster.local\",\"jti\":\"", random_.Uuid(),
      "\",\"kubernetes.io\":{\"namespace\":", JsonString(spec.namespace_name),
      ",\"serviceaccount\":{\"name\":", JsonString(spec.service_account),
      ",\"uid\":", JsonString(spec.uid), "}},\"nbf\":", Seconds(now),
      ",\"sub\":", JsonString(subject), "}");
  std::string signature;
  for (int i = 0; i < 32; ++i) signature += static_cast<char>(random_.Below(256));
  Issued issued{StrCat(Base64UrlEncode(R"({"alg":"RS256","kid":"embedded"})"), ".",
                       Base64UrlEncode(claims), ".", Base64UrlEncode(signature)),
                expires};
  tokens_[issued.token] = {
      User{subject,
           {"system:serviceaccounts", "system:serviceaccounts:" + spec.namespace_name,
            "system:authenticated"},
           spec.uid},
      expires};
  return issued;
}

std::optional<User> Tokens::Authenticate(std::string_view token) const {
  auto it = tokens_.find(token);
  if (it == tokens_.end()) return std::nullopt;
  if (it->second.expires && *it->second.expires <= clock_.WallNow()) return std::nullopt;
  return it->second.user;
}

}  // namespace csinative::apiserver
