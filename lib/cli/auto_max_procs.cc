// SPDX-License-Identifier: Apache-2.0
#include "lib/cli/auto_max_procs.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <utility>
#include <vector>

#include "lib/base/strings.h"
#include "lib/cli/go_number.h"

namespace csinative::cli {
namespace {

std::optional<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

Result<int64_t> ParseWhole(std::string_view text, std::string_view file) {
  int64_t value = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || end.ec != std::errc() || end.ptr != text.data() + text.size()) {
    return InvalidArgumentError(StrCat("malformed number in ", file));
  }
  return value;
}

// The first of the files that exists, with its name.
struct Found {
  std::string path;
  std::string text;
};
std::optional<Found> ReadFirst(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    if (auto text = ReadFile(path)) return Found{path, std::string(TrimSpace(*text))};
  }
  return std::nullopt;
}

Result<std::optional<double>> Ratio(std::string_view quota, std::string_view period,
                                    std::string_view file) {
  CSI_ASSIGN_OR_RETURN(const int64_t quota_us, ParseWhole(quota, file));
  CSI_ASSIGN_OR_RETURN(const int64_t period_us, ParseWhole(period, file));
  if (quota_us <= 0 || period_us <= 0) return std::optional<double>();
  return std::optional<double>(static_cast<double>(quota_us) / static_cast<double>(period_us));
}

// Version 2: "max 100000" or "150000 100000".
Result<std::optional<double>> QuotaV2(const std::string& mount, const std::string& group) {
  const auto found = ReadFirst({StrCat(mount, group, "/cpu.max"), StrCat(mount, "/cpu.max")});
  if (!found) return std::optional<double>();
  const auto fields = Split(found->text, ' ');
  if (fields[0] == "max") return std::optional<double>();
  // The period may be left out; its default is 100 ms.
  return Ratio(fields[0], fields.size() > 1 ? fields[1] : "100000", found->path);
}

// Version 1. In a container the group's own directory is often the mount itself.
Result<std::optional<double>> QuotaV1(const std::string& mount, const std::string& group) {
  const auto read = [&](std::string_view name) {
    return ReadFirst({StrCat(mount, group, "/", name), StrCat(mount, "/", name)});
  };
  const auto quota = read("cpu.cfs_quota_us");
  const auto period = read("cpu.cfs_period_us");
  if (!quota || !period) return std::optional<double>();
  return Ratio(quota->text, period->text, quota->path);
}

std::optional<std::string> Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

}  // namespace

Result<std::optional<double>> CgroupCpuQuota(const std::string& root) {
  const auto groups = ReadFile(root + "/proc/self/cgroup");
  if (!groups) return std::optional<double>();
  std::optional<std::string> v2;
  for (const std::string_view line : Split(*groups, '\n')) {
    if (line.empty()) continue;
    // <id>:<controllers>:<path>
    const size_t first = line.find(':');
    const size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) {
      return InvalidArgumentError(StrCat("malformed line in ", root, "/proc/self/cgroup"));
    }
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    std::string group(line.substr(second + 1));
    if (group == "/") group.clear();
    if (controllers.empty()) v2 = group;
    for (const std::string_view controller : Split(controllers, ',')) {
      if (controller == "cpu") {
        return QuotaV1(StrCat(root, "/sys/fs/cgroup/", controllers), group);
      }
    }
  }
  if (!v2) return std::optional<double>();
  return QuotaV2(root + "/sys/fs/cgroup", *v2);
}

AutoMaxProcs::AutoMaxProcs(log::Logger log)
    : AutoMaxProcs(std::move(log), Options{.gomaxprocs = Environment("GOMAXPROCS")}) {}

AutoMaxProcs::AutoMaxProcs(log::Logger log, Options options)
    : log_(std::move(log)), options_(std::move(options)) {}

Status AutoMaxProcs::Set(std::string_view value) {
  const std::optional<bool> enable = value.empty() ? true : ParseGoBool(value);
  if (!enable) {
    return InvalidArgumentError(StrconvError("ParseBool", value, NumberError::kSyntax));
  }
  if (*enable == enabled_) return {};
  if (*enable) return Enable();
  enabled_ = false;
  if (limit_) log_.Infof("maxprocs: limit of {} threads removed", *limit_);
  limit_.reset();
  return {};
}

Status AutoMaxProcs::Enable() {
  if (options_.gomaxprocs) {
    log_.Infof("maxprocs: GOMAXPROCS={} is set, limit left alone", *options_.gomaxprocs);
    enabled_ = true;
    return {};
  }
  CSI_ASSIGN_OR_RETURN(const std::optional<double> quota, CgroupCpuQuota(options_.root));
  enabled_ = true;
  if (!quota) {
    log_.Infof("maxprocs: no CPU quota, limit left alone");
    return {};
  }
  limit_ = std::max(1, static_cast<int>(std::floor(std::min(*quota, 1e6))));
  log_.Infof("maxprocs: at most {} threads, from the CPU quota of {}", *limit_, *quota);
  return {};
}

}  // namespace csinative::cli
