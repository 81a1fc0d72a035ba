// SPDX-License-Identifier: Apache-2.0
//
// A string that must not reach a log, an event or an error text: it has no formatter and no
// conversion, so printing one does not compile. The bytes are overwritten when it goes. Value.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace csinative {

class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string value) : value_(std::move(value)) {}
  Secret(const Secret&) = default;
  Secret& operator=(const Secret& other) {
    if (this != &other) {
      Wipe();
      value_ = other.value_;
    }
    return *this;
  }
  Secret(Secret&& other) noexcept : value_(std::move(other.value_)) { other.Wipe(); }
  Secret& operator=(Secret&& other) noexcept {
    if (this != &other) {
      Wipe();
      value_ = std::move(other.value_);
      other.Wipe();
    }
    return *this;
  }
  ~Secret() { Wipe(); }

  // For the one place that sends it. The view lives as long as this object is unchanged.
  std::string_view Reveal() const { return value_; }
  bool empty() const { return value_.empty(); }
  bool operator==(const Secret& other) const { return value_ == other.value_; }

 private:
  void Wipe() noexcept {
    // The volatile access keeps the compiler from dropping stores into a dying object.
    volatile char* bytes = value_.data();
    for (size_t i = 0; i < value_.size(); ++i) bytes[i] = 0;
    value_.clear();
  }

  std::string value_;
};

}  // namespace csinative
