// SPDX-License-Identifier: Apache-2.0
#include "test/sim/conduct.h"

#include <algorithm>
#include <chrono>

#include "lib/base/strings.h"
#include "test/sim/links.h"
#include "test/sim/programs.h"

namespace csinative::sim {

void Conduct::NextMinute() {
  const int64_t minute =
      std::chrono::duration_cast<std::chrono::minutes>(clock_.Now().time_since_epoch()).count();
  if (minute == minute_) return;
  minute_ = minute;
  requests_.clear();
  calls_.clear();
}

void Conduct::CheckLeads(const Incarnation& process, const std::string& what) {
  if (process.lease.empty()) return;
  const apiserver::ObjectPtr lease =
      api_.GetObject("coordination.k8s.io", "leases", kSystemNamespace, process.lease);
  std::string holder;
  if (lease) {
    const auto document = apiserver::ParseDocument(*lease);
    holder = document["spec"]["holderIdentity"].GetString();
  }
  if (holder == process.identity) return;
  checker_.Violation(
      StrCat(process.name, " sends ", what, " while ", process.lease, " is held by ", holder));
}

void Conduct::OnRequest(const Incarnation& process, const kube::ApiRequest& request) {
  if (!process.under_test) return;
  NextMinute();
  const int requests = ++requests_[process.name];
  max_requests_ = std::max(max_requests_, requests);
  if (requests == kMaxRequestsAMinute) {
    checker_.Violation(StrCat(process.name, " makes ", requests, " requests in a minute, now ",
                              request.method, " ", request.path));
  }
  if (request.method == "GET") return;
  if (request.body.find(kSecretMarker) != std::string::npos) {
    checker_.Violation(StrCat(process.name, " writes a secret: ", request.path));
  }
  const bool is_event = request.path.find("/events") != std::string::npos;
  const bool is_lease = request.path.find("/leases") != std::string::npos;
  if (!is_event && !is_lease) CheckLeads(process, StrCat(request.method, " ", request.path));
}

void Conduct::OnCall(const Incarnation& process, const std::string& method,
                     const std::string& subject) {
  if (!process.under_test) return;
  NextMinute();
  const int calls = ++calls_[{process.name, method, subject}];
  max_calls_ = std::max(max_calls_, calls);
  if (calls == kMaxCallsAMinute) {
    checker_.Violation(
        StrCat(process.name, " calls ", method, " ", calls, " times in a minute for ", subject));
  }
  CheckLeads(process, StrCat(method, " ", subject));
}

void Conduct::OnOverlap(const Incarnation& process, const std::string& attachment) {
  if (!process.under_test) return;
  checker_.Violation(StrCat(process.name, " has two calls in flight for ", attachment));
}

void Conduct::OnLog(const std::string& process, std::string_view record) {
  if (record.find(kSecretMarker) != std::string_view::npos) {
    checker_.Violation(StrCat(process, " logs a secret: ", record));
  }
}

}  // namespace csinative::sim
