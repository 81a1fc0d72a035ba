// SPDX-License-Identifier: Apache-2.0
#include "test/support/driver/faults.h"

#include <charconv>
#include <utility>

#include "lib/async/sleep.h"
#include "lib/async/timeout.h"
#include "lib/base/go_duration.h"

namespace csinative::driver {
namespace {

std::optional<int> ParseCount(std::string_view text) {
  int value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || value < 0) {
    return std::nullopt;
  }
  return value;
}

std::optional<int> ParseCode(std::string_view text) {
  for (int code = 1; code <= 16; ++code) {
    if (CodeName(code) == text) return code;
  }
  std::optional<int> number = ParseCount(text);
  return number && *number > 0 ? number : std::nullopt;
}

// METHOD[:COUNT]
Result<std::pair<std::string, std::optional<int>>> MethodAndCount(std::string_view text) {
  const size_t colon = text.find(':');
  std::string method(text.substr(0, colon));
  if (method.empty()) return InvalidArgumentError("no method in \"" + std::string(text) + "\"");
  if (colon == std::string_view::npos) return std::pair(std::move(method), std::optional<int>());
  std::optional<int> count = ParseCount(text.substr(colon + 1));
  if (!count) return InvalidArgumentError("not a count: \"" + std::string(text) + "\"");
  return std::pair(std::move(method), count);
}

}  // namespace

Status Faults::AddDelay(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return InvalidArgumentError("want METHOD=DURATION");
  }
  CSI_ASSIGN_OR_RETURN(Duration delay, ParseGoDuration(text.substr(equals + 1)));
  delays_[std::string(text.substr(0, equals))] = delay;
  return Status();
}

Status Faults::AddFailure(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return InvalidArgumentError("want METHOD=CODE[:MESSAGE][:COUNT]");
  }
  const std::string method(text.substr(0, equals));
  std::string_view rest = text.substr(equals + 1);
  const size_t colon = rest.find(':');
  std::optional<int> code = ParseCode(rest.substr(0, colon));
  if (!code) return InvalidArgumentError("not a code: \"" + std::string(rest) + "\"");
  Rule rule{*code, "injected failure", std::nullopt};
  if (colon != std::string_view::npos) {
    rest = rest.substr(colon + 1);
    const size_t last = rest.rfind(':');
    const std::string_view tail = last == std::string_view::npos ? rest : rest.substr(last + 1);
    if (std::optional<int> count = ParseCount(tail)) {
      rule.left = count;
      rest = last == std::string_view::npos ? std::string_view() : rest.substr(0, last);
    }
    if (!rest.empty()) rule.message = std::string(rest);
  }
  failures_[method] = std::move(rule);
  return Status();
}

Status Faults::AddHang(std::string_view text) {
  CSI_ASSIGN_OR_RETURN(auto parsed, MethodAndCount(text));
  hangs_[parsed.first] = Rule{0, "", parsed.second};
  return Status();
}

Status Faults::AddLostAnswer(std::string_view text) {
  CSI_ASSIGN_OR_RETURN(auto parsed, MethodAndCount(text));
  lost_answers_[parsed.first] = Rule{14, "the answer was lost", parsed.second};
  return Status();
}

Status Faults::AddFinish(std::string_view text) {
  if (text.empty()) return InvalidArgumentError("no method");
  finished_.emplace(text);
  return Status();
}

std::optional<Faults::Rule> Faults::Take(Rules& rules, const std::string& method) {
  auto it = rules.find(method);
  if (it == rules.end()) it = rules.find("*");
  if (it == rules.end()) return std::nullopt;
  Rule& rule = it->second;
  if (rule.left && *rule.left <= 0) return std::nullopt;
  if (rule.left) --*rule.left;
  return rule;
}

async::Task<Status> Faults::Around(std::string method, std::function<async::Task<Status>()> work) {
  const bool finish = finished_.contains(method) || finished_.contains("*");
  auto task = Misbehave(std::move(method), std::move(work));
  if (!finish) co_return co_await std::move(task);
  co_return co_await async::Shielded(std::move(task));
}

async::Task<Status> Faults::Misbehave(std::string method,
                                      std::function<async::Task<Status>()> work) {
  auto delay = delays_.find(method);
  if (delay == delays_.end()) delay = delays_.find("*");
  if (delay != delays_.end()) {
    const Duration wait = delay->second;
    CSI_CO_RETURN_IF_ERROR(co_await async::Sleep(wait));
  }
  if (Take(hangs_, method)) {
    while (true) CSI_CO_RETURN_IF_ERROR(co_await async::Sleep(std::chrono::hours(1)));
  }
  if (std::optional<Rule> rule = Take(failures_, method)) {
    co_return RpcStatus(rule->code, rule->message);
  }
  const std::optional<Rule> lost = Take(lost_answers_, method);
  Status status = co_await work();
  if (lost) co_return RpcStatus(lost->code, lost->message);
  co_return status;
}

}  // namespace csinative::driver
