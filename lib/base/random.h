// SPDX-License-Identifier: Apache-2.0
//
// Randomness comes in through this interface: jitter, names, identities. A seeded source makes a
// run repeatable. One owner; not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace csinative {

class Random {
 public:
  virtual ~Random() = default;
  virtual uint64_t NextU64() = 0;

  // Uniform in [0, bound). REQUIRES: bound > 0.
  uint64_t Below(uint64_t bound);
  // Uniform in [0, 1).
  double Unit();
  // Version 4 UUID in the canonical lower-case form.
  std::string Uuid();
};

// Seeded by the kernel.
std::unique_ptr<Random> NewSystemRandom();
// The same sequence for the same seed, on every machine.
std::unique_ptr<Random> NewSeededRandom(uint64_t seed);

}  // namespace csinative
