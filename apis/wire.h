// SPDX-License-Identifier: Apache-2.0
//
// Just enough of the protobuf wire format to look into messages without copying from them. Any
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace csinative::apis {

class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}

  bool AtEnd() const { return rest_.empty(); }
  std::string_view rest() const { return rest_; }

  // Reads one field. A length-delimited one gives its bytes, the others give none.
  // False: the bytes are not a message.
  bool Field(uint32_t* number, std::string_view* bytes) {
    *bytes = {};
    uint64_t tag = 0;
    if (!Varint(&tag) || tag >> 3 == 0 || tag >> 3 > 0x1fffffff) return false;
    *number = static_cast<uint32_t>(tag >> 3);
    uint64_t length = 0;
    switch (tag & 7) {
      case 0:
        return Varint(&length);
      case 1:
        return Take(8, nullptr);
      case 2:
        return Varint(&length) && Take(length, bytes);
      case 5:
        return Take(4, nullptr);
      default:
        return false;  // groups do not occur in the Kubernetes API
    }
  }

 private:
  bool Varint(uint64_t* value) {
    *value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) return false;
      auto byte = static_cast<uint8_t>(rest_[0]);
      rest_.remove_prefix(1);
      *value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }

  bool Take(uint64_t length, std::string_view* bytes) {
    if (length > rest_.size()) return false;
    if (bytes) *bytes = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return true;
  }

  std::string_view rest_;
};

inline void AppendVarint(uint64_t value, std::string* out) {
  for (; value >= 0x80; value >>= 7) out->push_back(static_cast<char>(value | 0x80));
  out->push_back(static_cast<char>(value));
}

}  // namespace csinative::apis
