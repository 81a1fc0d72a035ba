// SPDX-License-Identifier: Apache-2.0
#include "lib/mount/mount_table.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "lib/base/strings.h"

namespace csinative::mount {
namespace {

// Appended by the kernel to mount points whose directory is gone.
constexpr std::string_view kDeleted = "\\040(deleted)";
constexpr std::string_view kPluginsPart = "/plugins/kubernetes.io/";

bool IsOctal(char c) { return c >= '0' && c <= '7'; }

// The kernel writes blank, tab, newline and backslash as three octal digits.
std::string Unescape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && IsOctal(text[i + 1]) && IsOctal(text[i + 2]) &&
        IsOctal(text[i + 3])) {
      out += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 +
                               (text[i + 3] - '0'));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

template <typename T>
bool ToNumber(std::string_view text, T* out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && end == text.data() + text.size();
}

// At commas outside of double quotes: SELinux labels have commas of their own.
std::vector<std::string> SplitOptions(std::string_view text) {
  std::vector<std::string> out;
  bool quoted = false;
  size_t start = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '"') quoted = !quoted;
    if (i == text.size() || (text[i] == ',' && !quoted)) {
      out.push_back(Unescape(text.substr(start, i - start)));
      start = i + 1;
    }
  }
  return out;
}

Status Malformed(std::string_view line, const char* why) {
  return InvalidArgumentError(StrCat("mountinfo: ", why, ": ", line));
}

Result<MountEntry> ParseLine(std::string_view line) {
  const std::vector<std::string_view> fields = Split(line, ' ');
  if (fields.size() < 10) return Malformed(line, "fewer than 10 fields");
  MountEntry entry;
  if (!ToNumber(fields[0], &entry.id)) return Malformed(line, "no mount id");
  if (!ToNumber(fields[1], &entry.parent_id)) return Malformed(line, "no parent id");
  const std::vector<std::string_view> device = Split(fields[2], ':');
  if (device.size() != 2 || !ToNumber(device[0], &entry.major) ||
      !ToNumber(device[1], &entry.minor)) {
    return Malformed(line, "no major:minor");
  }
  entry.root = Unescape(fields[3]);
  std::string_view place = fields[4];
  if (place.ends_with(kDeleted)) place.remove_suffix(kDeleted.size());
  entry.mount_point = Unescape(place);
  entry.options = SplitOptions(fields[5]);
  size_t i = 6;
  for (; i < fields.size() && fields[i] != "-"; ++i) entry.optional_fields.emplace_back(fields[i]);
  if (i + 3 >= fields.size()) return Malformed(line, "no filesystem behind the separator");
  entry.fs_type = Unescape(fields[i + 1]);
  entry.source = Unescape(fields[i + 2]);
  entry.super_options = SplitOptions(fields[i + 3]);
  return entry;
}

}  // namespace

bool MountEntry::IsShared() const {
  return std::any_of(optional_fields.begin(), optional_fields.end(),
                     [](const std::string& field) { return field.starts_with("shared:"); });
}

Result<MountTable> ParseMountInfo(std::string_view text) {
  MountTable table;
  for (std::string_view line : Split(text, '\n')) {
    if (line.empty()) continue;
    CSI_ASSIGN_OR_RETURN(MountEntry entry, ParseLine(line));
    table.push_back(std::move(entry));
  }
  return table;
}

bool IsAtOrBelow(std::string_view path, std::string_view base) {
  if (base == "/") return path.starts_with('/');
  return path.starts_with(base) && (path.size() == base.size() || path[base.size()] == '/');
}

const MountEntry* FindMount(const MountTable& table, std::string_view path) {
  const MountEntry* best = nullptr;
  for (const MountEntry& entry : table) {
    if (!IsAtOrBelow(path, entry.mount_point)) continue;
    if (best == nullptr || entry.mount_point.size() >= best->mount_point.size()) best = &entry;
  }
  return best;
}

std::vector<std::string> MountReferences(const MountTable& table, std::string_view path) {
  std::vector<std::string> references;
  const MountEntry* own = FindMount(table, path);
  if (own == nullptr) return references;
  std::string root = own->root;
  const size_t covered = own->mount_point == "/" ? 0 : own->mount_point.size();
  const std::string_view rest = path.substr(covered);
  if (!rest.empty() && rest != "/") root = root == "/" ? std::string(rest) : StrCat(root, rest);
  for (const MountEntry& entry : table) {
    if (entry.id == own->id || !entry.SameDevice(*own) || entry.root != root) continue;
    if (entry.mount_point != path) references.push_back(entry.mount_point);
  }
  return references;
}

bool HasForeignReference(std::string_view staging_path,
                         const std::vector<std::string>& references) {
  const size_t at = staging_path.find(kPluginsPart);
  const std::string_view part =
      at == std::string_view::npos ? staging_path : staging_path.substr(at);
  return std::any_of(references.begin(), references.end(), [&](const std::string& reference) {
    return reference.find(part) == std::string::npos;
  });
}

std::vector<std::string> UnmountOrder(const MountTable& table, std::string_view path) {
  // By depth; of one depth the last mount first.
  std::map<std::pair<int64_t, int64_t>, std::string> found;
  for (size_t i = 0; i < table.size(); ++i) {
    const std::string& place = table[i].mount_point;
    if (!IsAtOrBelow(place, path)) continue;
    found[{-std::count(place.begin(), place.end(), '/'), -static_cast<int64_t>(i)}] = place;
  }
  std::vector<std::string> order;
  for (auto& [key, place] : found) order.push_back(std::move(place));
  return order;
}

}  // namespace csinative::mount
