// SPDX-License-Identifier: Apache-2.0
#include "cmd/volumemanager/driver_registry.h"

#include <charconv>
#include <optional>

#include "lib/base/strings.h"

namespace csinative::volumemanager {
namespace {

using Numbers = std::vector<uint32_t>;

// "v1.2.3-rc1" is 1, 2, 3: at least two numbers, and any text behind them.
std::optional<Numbers> ParseVersion(std::string_view text) {
  if (text.starts_with('v')) text.remove_prefix(1);
  Numbers numbers;
  for (;;) {
    uint32_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc()) return std::nullopt;
    numbers.push_back(number);
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (text.size() < 2 || text[0] != '.' || text[1] < '0' || text[1] > '9') break;
    text.remove_prefix(1);
  }
  if (numbers.size() < 2) return std::nullopt;
  while (numbers.size() > 2 && numbers.back() == 0) numbers.pop_back();
  return numbers;
}

}  // namespace

bool IsLowerVersion(const std::string& a, const std::string& b) {
  return ParseVersion(a).value_or(Numbers()) < ParseVersion(b).value_or(Numbers());
}

Result<std::string> ChooseVersion(const std::vector<std::string>& versions) {
  if (versions.empty()) {
    return InvalidArgumentError("Plugin returned an empty list for supported versions");
  }
  std::string best;
  for (const std::string& version : versions) {
    const auto numbers = ParseVersion(version);
    if (!numbers || numbers->front() > 1) continue;
    if (best.empty() || IsLowerVersion(best, version)) best = version;
  }
  if (best.empty() || ParseVersion(best)->front() != 1) {
    return InvalidArgumentError(
        StrCat("None of the versions specified \"", Join(versions, ", "), "\" are supported"));
  }
  return best;
}

Status DriverRegistry::CheckNew(const std::string& name, const std::string& version) const {
  const auto found = drivers_.find(name);
  if (found == drivers_.end() || IsLowerVersion(found->second.version, version)) return Status();
  return AlreadyExistsError(
      StrCat("Another driver with the same name is already registered with a higher supported "
             "version: \"",
             found->second.version, "\""));
}

void DriverRegistry::Add(const std::string& name, Driver driver) {
  drivers_[name] = std::move(driver);
  if (on_change_) on_change_();
}

void DriverRegistry::Remove(const std::string& name) {
  if (drivers_.erase(name) != 0 && on_change_) on_change_();
}

Result<std::shared_ptr<rpc::Channel>> DriverRegistry::Find(const std::string& name) const {
  if (name.empty()) return InvalidArgumentError("driver name is empty");
  const auto found = drivers_.find(name);
  if (found == drivers_.end()) {
    return NotFoundError(
        StrCat("driver name ", name, " not found in the list of registered CSI drivers"));
  }
  return found->second.channel;
}

}  // namespace csinative::volumemanager
