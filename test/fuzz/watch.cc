// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a watch, a list and an envelope, in both encodings: it does not matter how the bytes
// were cut on their way.
#include <algorithm>
#include <string>

#include "apis/envelope.h"
#include "lib/kube/list_decoder.h"
#include "lib/kube/watch_decoder.h"
#include "test/fuzz/fuzz.h"

namespace {

namespace kube = csinative::kube;
using csinative::fuzz::Require;

// Everything that comes out, as text. `step`: bytes fed at a time.
template <typename Decoder, typename Describe>
std::string Drain(Decoder decoder, std::string_view bytes, size_t step, Describe describe) {
  std::string out;
  for (size_t at = 0;; at += step) {
    for (;;) {
      const auto next = decoder.Next();
      if (!next.ok()) return out + "!";
      if (!*next) break;
      out += describe(**next);
    }
    if (at >= bytes.size()) break;
    decoder.Feed(bytes.substr(at, std::min(step, bytes.size() - at)));
  }
  return out + (decoder.Finish().ok() ? "." : "?");
}

std::string DescribeObject(const kube::EncodedObject& object) {
  return std::string(object.kind) + "/" + std::string(object.bytes) + "\n";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes = csinative::fuzz::Text(data, size);
  (void)csinative::apis::Unwrap(bytes);
  for (const kube::Encoding encoding : {kube::Encoding::kProtobuf, kube::Encoding::kJson}) {
    const auto event = [](const kube::WatchEvent& e) {
      return std::to_string(static_cast<int>(e.type)) + DescribeObject(e.object);
    };
    const std::string whole = Drain(kube::WatchDecoder(encoding), bytes, bytes.size() + 1, event);
    Require(Drain(kube::WatchDecoder(encoding), bytes, 1, event) == whole,
            "a watch is the same in single bytes");
    const std::string list =
        Drain(kube::ListDecoder(encoding), bytes, bytes.size() + 1, DescribeObject);
    Require(Drain(kube::ListDecoder(encoding), bytes, 1, DescribeObject) == list,
            "a list is the same in single bytes");
  }
  return 0;
}
