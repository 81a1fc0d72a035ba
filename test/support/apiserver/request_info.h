// SPDX-License-Identifier: Apache-2.0
//
// What a request line asks for: the API's URL scheme (kube-client 7, 22). Pure functions; any
// thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace csinative::apiserver {

struct RequestInfo {
  std::string method;
  std::string path;  // decoded, without the query
  std::string verb;  // get list watch create update patch delete deletecollection; else lower-case
                     // method
  bool is_resource = false;
  // For /apis/group/version and deeper, also when they are no resource requests.
  bool is_api = false;  // below /api or /apis
  std::string group;
  std::string version;
  std::string resource;
  std::string subresource;
  std::string namespace_name;
  std::string name;
  std::vector<std::string> rest;             // path segments behind the subresource
  std::map<std::string, std::string> query;  // the first value of each key

  std::string user;
  std::vector<std::string> groups;
  std::string user_agent;

  std::string Query(std::string_view key) const;
  bool QueryBool(std::string_view key) const;
};

// nullopt for a target whose percent-encoding is broken.
std::optional<RequestInfo> ParseRequest(std::string_view method, std::string_view target);

}  // namespace csinative::apiserver
