// SPDX-License-Identifier: Apache-2.0
//
// How processes behave, whatever the outcome: only the leader acts, nobody asks too often, no
// secret gets out. Looks at each request when it is sent, not when it arrives: what was on its way
// when a leader lost its Lease is nobody's fault. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "lib/base/clock.h"
#include "lib/kube/transport.h"
#include "test/sim/checker.h"
#include "test/support/apiserver/api_handler.h"

namespace csinative::sim {

struct Incarnation;

// The value of every secret: appears nowhere but in Secret objects and in requests to the driver.
inline constexpr char kSecretMarker[] = "pl4nted-s3cret";
inline constexpr char kSecretKey[] = "password";

class Conduct {
 public:
  // Requests of one process, and calls of one method for one volume by one process, in one minute.
  // Measured maxima under the default faults are 96 and 14; a loop without back-off makes
  // thousands.
  static constexpr int kMaxRequestsAMinute = 200;
  static constexpr int kMaxCallsAMinute = 30;

  Conduct(Checker& checker, const Clock& clock, apiserver::ApiHandler& api)
      : checker_(checker), clock_(clock), api_(api) {}

  void OnRequest(const Incarnation& process, const kube::ApiRequest& request);
  void OnCall(const Incarnation& process, const std::string& method, const std::string& subject);
  // A second call for an attachment, while the first is not answered. Drivers may refuse it, and
  // some do not.
  void OnOverlap(const Incarnation& process, const std::string& attachment);
  void OnLog(const std::string& process, std::string_view record);

  int max_requests() const { return max_requests_; }
  int max_calls() const { return max_calls_; }

 private:
  void CheckLeads(const Incarnation& process, const std::string& what);
  void NextMinute();

  Checker& checker_;
  const Clock& clock_;
  apiserver::ApiHandler& api_;
  int64_t minute_ = 0;
  std::map<std::string, int> requests_;                                     // by process
  std::map<std::tuple<std::string, std::string, std::string>, int> calls_;  // process, method, id
  int max_requests_ = 0;
  int max_calls_ = 0;
};

}  // namespace csinative::sim
