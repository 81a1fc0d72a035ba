// SPDX-License-Identifier: Apache-2.0
//
// Misbehaviour on request: what a method does before, instead of, or after its work. Loop only.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "lib/async/task.h"
#include "lib/base/result.h"

namespace csinative::driver {

class Faults {
 public:
  // METHOD is the last part of the full name, e.g. CreateVolume; "*" is every method.
  // --delay METHOD=DURATION: waits before the work.
  Status AddDelay(std::string_view text);
  // --fail METHOD=CODE[:MESSAGE][:COUNT]: answers with the code instead of working, the first COUNT
  // times or always. CODE is Go's name or a number; a last part of digits is the count.
  Status AddFailure(std::string_view text);
  // --hang METHOD[:COUNT]: never answers; the caller's deadline ends the call.
  Status AddHang(std::string_view text);
  // --lose-answer METHOD[:COUNT]: works, then answers Unavailable.
  Status AddLostAnswer(std::string_view text);

  // --finish METHOD: goes on with a call whose caller has gone, as most storage systems do. Without
  // it the wait of --delay ends then, and nothing is done.
  Status AddFinish(std::string_view text);

  // Runs the work of a method with the faults around it.
  async::Task<Status> Around(std::string method, std::function<async::Task<Status>()> work);

 private:
  struct Rule {
    int code = 0;
    std::string message;
    std::optional<int> left;  // nullopt: always
  };
  using Rules = std::map<std::string, Rule, std::less<>>;

  async::Task<Status> Misbehave(std::string method, std::function<async::Task<Status>()> work);
  // The rule that applies now; counts it.
  static std::optional<Rule> Take(Rules& rules, const std::string& method);

  std::map<std::string, Duration, std::less<>> delays_;
  Rules failures_;
  Rules hangs_;
  Rules lost_answers_;
  std::set<std::string, std::less<>> finished_;
};

}  // namespace csinative::driver
