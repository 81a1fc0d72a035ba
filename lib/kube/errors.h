// SPDX-License-Identifier: Apache-2.0
//
// Questions about a failed API call (kube-client 9.2). Any thread.
#pragma once

#include <optional>
#include <string_view>

#include "lib/base/clock.h"
#include "lib/base/status.h"

namespace csinative::kube {

bool IsNotFound(const Status& status);
bool IsAlreadyExists(const Status& status);
bool IsConflict(const Status& status);
bool IsForbidden(const Status& status);
bool IsInvalid(const Status& status);
bool IsGone(const Status& status);     // reason Gone or Expired: the resource version is too old
bool IsTimeout(const Status& status);  // reason Timeout
bool IsServerTimeout(const Status& status);
bool IsTooManyRequests(const Status& status);
bool IsUnauthorized(const Status& status);
bool IsInternalError(const Status& status);
// Whether details.causes has one of this reason, e.g. "NamespaceTerminating".
bool HasStatusCause(const Status& status, std::string_view reason);
// The answer was not a Status of an API server: a proxy, or an error page.
bool IsUnexpectedServerError(const Status& status);
// The server asked for a newer resource version than it has.
bool IsTooLargeResourceVersion(const Status& status);
// Nothing listened at the address: no request was sent.
bool IsConnectionRefused(const Status& status);
// details.retryAfterSeconds where the server asks for a delay.
std::optional<Duration> SuggestedDelay(const Status& status);

// A NotFound as a lister answers for a key that is not in its cache: `<singular> "<name>" not
// found`.
Status CacheNotFound(std::string_view singular, std::string_view name);

}  // namespace csinative::kube
