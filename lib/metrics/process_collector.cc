// SPDX-License-Identifier: Apache-2.0
#include "lib/metrics/process_collector.h"

#include <dirent.h>
#include <unistd.h>

#include <charconv>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/strings.h"

namespace csinative::metrics {
namespace {

// The kernel's unit for times in /proc, the same on every Linux architecture (USER_HZ).
constexpr double kTicksPerSecond = 100;

std::optional<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::optional<uint64_t> ParseNumber(std::string_view text) {
  uint64_t value = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || end.ec != std::errc() || end.ptr != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

// Fields between runs of blanks.
std::vector<std::string_view> Fields(std::string_view text) {
  std::vector<std::string_view> fields;
  for (const std::string_view part : Split(text, ' ')) {
    const std::string_view field = TrimSpace(part);
    if (!field.empty()) fields.push_back(field);
  }
  return fields;
}

// /proc/self/stat, fields as numbered in proc(5).
struct Stat {
  uint64_t user_ticks = 0;      // 14
  uint64_t system_ticks = 0;    // 15
  uint64_t start_ticks = 0;     // 22
  uint64_t virtual_bytes = 0;   // 23
  uint64_t resident_pages = 0;  // 24
};

std::optional<Stat> ReadStat(const std::string& root) {
  const auto text = ReadFile(root + "/proc/self/stat");
  if (!text) return std::nullopt;
  // The command, field 2, may contain anything; it ends at the last parenthesis.
  const size_t end = text->rfind(')');
  if (end == std::string::npos) return std::nullopt;
  const auto fields = Fields(std::string_view(*text).substr(end + 1));
  const auto field = [&](size_t number) -> std::optional<uint64_t> {
    const size_t index = number - 3;
    return index < fields.size() ? ParseNumber(fields[index]) : std::nullopt;
  };
  const auto user = field(14);
  const auto system = field(15);
  const auto start = field(22);
  const auto size = field(23);
  const auto resident = field(24);
  if (!user || !system || !start || !size || !resident) return std::nullopt;
  return Stat{*user, *system, *start, *size, *resident};
}

std::optional<uint64_t> BootTime(const std::string& root) {
  const auto text = ReadFile(root + "/proc/stat");
  if (!text) return std::nullopt;
  for (const std::string_view line : Split(*text, '\n')) {
    if (line.starts_with("btime ")) return ParseNumber(TrimSpace(line.substr(6)));
  }
  return std::nullopt;
}

std::optional<uint64_t> CountDescriptors(const std::string& root) {
  const std::string path = root + "/proc/self/fd";
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(path.c_str()), &::closedir);
  if (directory == nullptr) return std::nullopt;
  uint64_t count = 0;
  while (const dirent* entry = ::readdir(directory.get())) {
    if (entry->d_name[0] != '.') ++count;
  }
  return count;
}

// The soft limit of one row of /proc/self/limits.
std::optional<double> SoftLimit(std::string_view limits, std::string_view name) {
  for (const std::string_view line : Split(limits, '\n')) {
    if (!line.starts_with(name)) continue;
    const auto fields = Fields(line.substr(name.size()));
    if (fields.empty()) return std::nullopt;
    if (fields[0] == "unlimited") return 18446744073709551615.0;
    const auto value = ParseNumber(fields[0]);
    return value ? std::optional<double>(static_cast<double>(*value)) : std::nullopt;
  }
  return std::nullopt;
}

// One value of the IpExt rows of /proc/self/net/netstat: a row of names above a row of values.
std::optional<uint64_t> IpExt(std::string_view netstat, std::string_view name) {
  constexpr std::string_view kPrefix = "IpExt:";
  std::vector<std::string_view> names;
  for (const std::string_view line : Split(netstat, '\n')) {
    if (!line.starts_with(kPrefix)) continue;
    const auto fields = Fields(line.substr(kPrefix.size()));
    if (names.empty()) {
      names = fields;
      continue;
    }
    for (size_t i = 0; i < names.size() && i < fields.size(); ++i) {
      if (names[i] == name) return ParseNumber(fields[i]);
    }
  }
  return std::nullopt;
}

class Collection {
 public:
  explicit Collection(std::vector<CollectedFamily>& out) : out_(out) {}

  void Add(std::string name, Type type, std::optional<double> value, std::string help) {
    if (!value) return;
    out_.push_back({std::move(name), std::move(help), type, {{{}, *value}}});
  }

 private:
  std::vector<CollectedFamily>& out_;
};

std::optional<double> ToDouble(std::optional<uint64_t> value) {
  return value ? std::optional<double>(static_cast<double>(*value)) : std::nullopt;
}

void CollectUsage(const std::string& root, std::vector<CollectedFamily>& out) {
  Collection collection(out);
  if (const auto stat = ReadStat(root)) {
    collection.Add("process_cpu_seconds_total", Type::kCounter,
                   static_cast<double>(stat->user_ticks + stat->system_ticks) / kTicksPerSecond,
                   "Total user and system CPU time spent in seconds.");
    collection.Add("process_virtual_memory_bytes", Type::kGauge,
                   static_cast<double>(stat->virtual_bytes), "Virtual memory size in bytes.");
    collection.Add(
        "process_resident_memory_bytes", Type::kGauge,
        static_cast<double>(stat->resident_pages) * static_cast<double>(::sysconf(_SC_PAGESIZE)),
        "Resident memory size in bytes.");
  }
  collection.Add("process_open_fds", Type::kGauge, ToDouble(CountDescriptors(root)),
                 "Number of open file descriptors.");
  if (const auto limits = ReadFile(root + "/proc/self/limits")) {
    collection.Add("process_max_fds", Type::kGauge, SoftLimit(*limits, "Max open files"),
                   "Maximum number of open file descriptors.");
    collection.Add("process_virtual_memory_max_bytes", Type::kGauge,
                   SoftLimit(*limits, "Max address space"),
                   "Maximum amount of virtual memory available in bytes.");
  }
  if (const auto netstat = ReadFile(root + "/proc/self/net/netstat")) {
    collection.Add("process_network_receive_bytes_total", Type::kCounter,
                   ToDouble(IpExt(*netstat, "InOctets")),
                   "Bytes received by the network namespace of the process.");
    collection.Add("process_network_transmit_bytes_total", Type::kCounter,
                   ToDouble(IpExt(*netstat, "OutOctets")),
                   "Bytes sent by the network namespace of the process.");
  }
}

}  // namespace

double ProcessStartTime(const std::string& root, const Clock& clock) {
  const auto boot = BootTime(root);
  const auto stat = ReadStat(root);
  if (boot && stat) {
    return static_cast<double>(*boot) + static_cast<double>(stat->start_ticks) / kTicksPerSecond;
  }
  const auto now = std::chrono::floor<std::chrono::seconds>(clock.WallNow());
  return static_cast<double>(now.time_since_epoch().count());
}

void AddProcessCollector(Registry& registry, const Clock& clock, ProcessCollectorOptions options) {
  registry
      .AddGauge({.name = "process_start_time_seconds",
                 .help = options.start_time_help_prefix +
                         "Start time of the process since unix epoch in seconds."})
      .Only()
      .Set(ProcessStartTime(options.root, clock));
  if (options.start_time_only) return;
  registry.AddCollector(
      [root = options.root](std::vector<CollectedFamily>& out) { CollectUsage(root, out); });
}

}  // namespace csinative::metrics
