// SPDX-License-Identifier: Apache-2.0
//
// Bearer tokens: fixed ones for tests, and those of service accounts, which look like JSON web
// tokens but are only known to this server. Loop only.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/random.h"

namespace csinative::apiserver {

struct User {
  std::string name;
  std::vector<std::string> groups;
  std::string uid;
};

struct TokenSpec {
  std::string namespace_name;
  std::string service_account;
  std::string uid;
  std::vector<std::string> audiences;
  int64_t expiration_seconds = 3600;
};

class Tokens {
 public:
  // Borrowed; both outlive this.
  Tokens(const Clock& clock, Random& random) : clock_(clock), random_(random) {}

  void Add(std::string token, User user);
  void Revoke(std::string_view token);
  struct Issued {
    std::string token;
    WallTime expires;
  };
  Issued Issue(const TokenSpec& spec);
  // nullopt for an unknown or expired token.
  std::optional<User> Authenticate(std::string_view token) const;

 private:
  struct Entry {
    User user;
    std::optional<WallTime> expires;
  };
  const Clock& clock_;
  Random& random_;
  std::map<std::string, Entry, std::less<>> tokens_;
};

}  // namespace csinative::apiserver
