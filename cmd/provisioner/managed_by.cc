// SPDX-License-Identifier: Apache-2.0
#include "cmd/provisioner/managed_by.h"

#include <cstdint>
#include <cstdio>

#include "lib/base/strings.h"

namespace csinative::provisioner {
namespace {

constexpr size_t kLimit = 63;
constexpr size_t kHashLength = 8;

// 32 bit FNV-1a, in hexadecimal.
std::string Hash(std::string_view text) {
  uint32_t hash = 2166136261u;
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 16777619u;
  char digits[kHashLength + 1];
  std::snprintf(digits, sizeof digits, "%08x", hash);
  return digits;
}

}  // namespace

std::string ManagedBy(std::string_view base, std::string_view node) {
  const std::string joined = base.empty() ? std::string(node) : StrCat(base, "-", node);
  if (joined.size() <= kLimit) return joined;
  if (base.empty()) return Hash(joined);
  const size_t taken = node.size() + kHashLength + 2;  // with two dashes
  if (taken < kLimit) return StrCat(base.substr(0, kLimit - taken), "-", Hash(base), "-", node);
  return StrCat(base.substr(0, kLimit - kHashLength - 1), "-", Hash(joined));
}

}  // namespace csinative::provisioner
