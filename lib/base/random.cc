// SPDX-License-Identifier: Apache-2.0
#include "lib/base/random.h"

#include <array>
#include <cassert>
#include <random>

namespace csinative {
namespace {

// SplitMix64: small state, and a sequence that no library version changes.
class SplitMix final : public Random {
 public:
  explicit SplitMix(uint64_t seed) : state_(seed) {}

  uint64_t NextU64() override {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }

 private:
  uint64_t state_;
};

class KernelRandom final : public Random {
 public:
  uint64_t NextU64() override {
    return (static_cast<uint64_t>(device_()) << 32) | static_cast<uint32_t>(device_());
  }

 private:
  std::random_device device_;
};

}  // namespace

uint64_t Random::Below(uint64_t bound) {
  assert(bound > 0);
  // Rejection keeps the distribution exact; at most one retry is expected.
  const uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
  uint64_t value = NextU64();
  while (value >= limit) value = NextU64();
  return value % bound;
}

double Random::Unit() { return static_cast<double>(NextU64() >> 11) * 0x1.0p-53; }

std::string Random::Uuid() {
  std::array<uint8_t, 16> bytes{};
  for (int half = 0; half < 2; ++half) {
    uint64_t value = NextU64();
    for (int i = 0; i < 8; ++i) {
      bytes[half * 8 + i] = static_cast<uint8_t>(value);
      value >>= 8;
    }
  }
  bytes[6] = static_cast<uint8_t>((bytes[6] & 0x0f) | 0x40);
  bytes[8] = static_cast<uint8_t>((bytes[8] & 0x3f) | 0x80);
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  out.reserve(36);
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) out.push_back('-');
    out.push_back(kHex[bytes[i] >> 4]);
    out.push_back(kHex[bytes[i] & 15]);
  }
  return out;
}

std::unique_ptr<Random> NewSystemRandom() { return std::make_unique<KernelRandom>(); }
std::unique_ptr<Random> NewSeededRandom(uint64_t seed) { return std::make_unique<SplitMix>(seed); }

}  // namespace csinative
