// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/host_backoff.h"

#include <algorithm>
#include <charconv>

namespace csinative::kube {
namespace {

int64_t SecondsIn(const std::string& text) {
  int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  constexpr int64_t kMost = 1'000'000'000;  // fits a Duration
  return whole ? std::min(seconds, kMost) : 0;
}

}  // namespace

std::optional<HostBackoffOptions> HostBackoffFromEnvironment(const GetEnv& getenv) {
  const int64_t base = SecondsIn(getenv("KUBE_CLIENT_BACKOFF_BASE").value_or(""));
  const int64_t max = SecondsIn(getenv("KUBE_CLIENT_BACKOFF_DURATION").value_or(""));
  if (base <= 0 || max <= 0) return std::nullopt;
  return HostBackoffOptions{std::chrono::seconds(base), std::chrono::seconds(max)};
}

Duration HostBackoff::Delay(const std::string& host) const {
  const auto entry = hosts_.find(host);
  return entry == hosts_.end() ? Duration::zero() : entry->second.delay;
}

void HostBackoff::Update(const std::string& host, int code) {
  if (code != 429 && code <= 499) {
    hosts_.erase(host);
    return;
  }
  const MonotonicTime now = clock_->Now();
  const auto [entry, fresh] = hosts_.try_emplace(host, Entry{options_.base, now});
  if (!fresh) {
    const bool forgotten = now - entry->second.updated > 2 * options_.max;
    const Duration doubled = forgotten ? options_.base : 2 * entry->second.delay;
    entry->second = {std::min(doubled, options_.max), now};
  }
}

}  // namespace csinative::kube
