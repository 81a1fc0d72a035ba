// SPDX-License-Identifier: Apache-2.0
//
// The request script of the parity test: one JSON object a line, `#` starts a comment line.
//
//   name     unique
//   method   default GET
//   path     path and query
//   body     JSON value to send, or
//   raw      text to send as it is
//   type     Content-Type of the body: json (default), merge, strategic, jsonpatch, protobuf (the
//            body is encoded as the resource's message), or a media type as it is
//   accept   Accept header: protobuf, or as it is
//   auth     none (anonymous) or wrong (an unknown token) instead of the administrator's
//   until    repeat, once every 100 ms for 15 s, until the answer has this status
//   subset   compare only the members, and the elements by name, that our answer has
//   ignore   JSON pointers of values that are not compared
//
// ${step:/pointer} in path, body or raw is replaced by a value of the answer to an earlier step.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.h"
#include "lib/http/message.h"
#include "test/support/apiserver/json.h"

namespace csinative::parity {

struct Step {
  std::string name;
  std::string method = "GET";
  std::string path;
  std::string body;  // JSON text or raw text; may hold ${...}
  bool has_body = false;
  std::string type = "json";
  std::string accept;
  std::string auth;
  std::optional<int> until;
  bool subset = false;
  std::vector<std::string> ignore;
};

Result<std::vector<Step>> ParseScript(std::string_view text);

// What a server said, as it is compared.
struct Answer {
  int status = 0;
  std::string content_type;
  std::string retry_after;
  std::vector<std::string> warnings;
  std::string body;  // JSON text, keys sorted; of a stream: an array of events

  bool operator==(const Answer&) const = default;
  std::string ToString() const;  // JSON text, one line
};
Result<Answer> ParseAnswer(std::string_view json);

// One server under the script. Blocking.
class Server {
 public:
  virtual ~Server() = default;
  // `auth` as in Step. Status 0 with the reason as body when there was no answer.
  virtual http::Response Do(http::Request request, const std::string& auth) = 0;
  // Lets time pass between repetitions of a step.
  virtual void Pause() = 0;
};

// Runs the steps in order and calls `done` with each answer. Values captured by ${...} come from
// this server's own answers.
using StepDone = std::function<void(const Step& step, const Answer& answer)>;
Status RunScript(const std::vector<Step>& steps, Server& server, const StepDone& done);

}  // namespace csinative::parity
