// SPDX-License-Identifier: Apache-2.0
//
// Takes the items out of a list answer one by one while its bytes arrive, in both encodings, so
// that no list is ever held decoded, or even whole. Value; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "apis/meta/v1/meta.pb.h"
#include "apis/namespaces.h"
#include "lib/base/result.h"
#include "lib/kube/codec.h"
#include "lib/kube/json_scanner.h"

namespace csinative::kube {

class ListDecoder {
 public:
  explicit ListDecoder(Encoding encoding) : encoding_(encoding) {}

  void Feed(std::string_view bytes);
  // The next item; empty when more bytes are needed, or at the end of the list. Its views are
  // valid until the next call. Items do not say their kind. A failure is final.
  Result<std::optional<EncodedObject>> Next();
  // The answer ended: kOutOfRange "unexpected EOF" if the list had not.
  Status Finish() const;

  // Known when the first item is, since servers send it first; complete after Finish().
  const meta::ListMeta& metadata() const { return metadata_; }
  // "PersistentVolumeList"; empty if the sender left it out.
  const std::string& kind() const { return kind_; }

 private:
  enum class State {
    kMagic,     // protobuf: before the envelope
    kEnvelope,  // between fields of the envelope
    kList,      // between fields of the list inside it
    kStart,     // JSON: before the list's brace
    kMember,    // before a member of the list
    kItems,     // before an item
    kEnd,
  };
  struct Field {
    uint32_t number;
    uint32_t wire_type;
    uint64_t value;  // length, for length-delimited fields
    size_t header;   // bytes before the value
  };

  std::string_view Rest() const { return std::string_view(buffer_).substr(begin_); }
  void Consume(size_t bytes);
  // Empty: more bytes are needed.
  Result<std::optional<Field>> PeekField() const;
  // True if it moved on; false: more bytes are needed. May set *item.
  Result<bool> StepProtobuf(std::optional<EncodedObject>* item);
  Result<bool> StepJson(std::optional<EncodedObject>* item);
  Status TakeMember(std::string_view key, std::string_view value);

  const Encoding encoding_;
  State state_ = State::kMagic;
  bool started_ = false;
  std::string buffer_;
  size_t begin_ = 0;        // start of the unread part of buffer_
  uint64_t list_left_ = 0;  // protobuf: bytes of the list not yet consumed
  bool had_list_ = false;   // protobuf
  JsonScanner scanner_;
  std::string key_;  // JSON: of the member whose value comes next, empty before it
  meta::ListMeta metadata_;
  std::string kind_;
};

}  // namespace csinative::kube
