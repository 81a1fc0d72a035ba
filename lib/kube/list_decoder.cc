// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/list_decoder.h"

#include <rapidjson/document.h>

#include <algorithm>

#include "apis/envelope.h"
#include "apis/json/from_json.h"
#include "apis/json/parse.h"
#include "lib/base/strings.h"

namespace csinative::kube {
namespace {

// Far above any object or list that an API server stores or sends.
constexpr uint64_t kMaxFieldBytes = (uint64_t{1} << 31) - 1;

constexpr uint32_t kVarint = 0;
constexpr uint32_t kLengthDelimited = 2;

Status Malformed() { return InvalidArgumentError("unable to decode a list from the response"); }

// Reads a varint at *offset. Empty: more bytes are needed.
Result<std::optional<uint64_t>> ReadVarint(std::string_view bytes, size_t* offset) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (*offset >= bytes.size()) return std::optional<uint64_t>();
    const auto byte = static_cast<uint8_t>(bytes[(*offset)++]);
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return std::optional<uint64_t>(value);
  }
  return Malformed();
}

}  // namespace

void ListDecoder::Feed(std::string_view bytes) {
  if (begin_ > 0) {
    buffer_.erase(0, begin_);
    begin_ = 0;
  }
  buffer_ += bytes;
  if (!started_ && encoding_ == Encoding::kJson) state_ = State::kStart;
  started_ = true;
}

Result<std::optional<EncodedObject>> ListDecoder::Next() {
  std::optional<EncodedObject> item;
  while (!item) {
    CSI_ASSIGN_OR_RETURN(const bool moved,
                         encoding_ == Encoding::kProtobuf ? StepProtobuf(&item) : StepJson(&item));
    if (!moved) break;
  }
  return item;
}

Status ListDecoder::Finish() const {
  const bool complete = encoding_ == Encoding::kJson
                            ? state_ == State::kEnd
                            : state_ == State::kEnvelope && had_list_ && Rest().empty();
  return complete ? Status() : Status(Code::kOutOfRange, "unexpected EOF");
}

void ListDecoder::Consume(size_t bytes) {
  begin_ += bytes;
  if (state_ == State::kList) list_left_ -= bytes;
}

Result<std::optional<ListDecoder::Field>> ListDecoder::PeekField() const {
  const std::string_view rest = Rest();
  size_t offset = 0;
  CSI_ASSIGN_OR_RETURN(const std::optional<uint64_t> tag, ReadVarint(rest, &offset));
  if (!tag) return std::optional<Field>();
  Field field{.number = static_cast<uint32_t>(*tag >> 3),
              .wire_type = static_cast<uint32_t>(*tag & 7)};
  if (field.number == 0 || (field.wire_type != kVarint && field.wire_type != kLengthDelimited)) {
    return Malformed();
  }
  CSI_ASSIGN_OR_RETURN(const std::optional<uint64_t> value, ReadVarint(rest, &offset));
  if (!value) return std::optional<Field>();
  if (field.wire_type == kLengthDelimited && *value > kMaxFieldBytes) return Malformed();
  field.value = *value;
  field.header = offset;
  return std::optional<Field>(field);
}

Result<bool> ListDecoder::StepProtobuf(std::optional<EncodedObject>* item) {
  if (state_ == State::kMagic) {
    if (Rest().size() < apis::kProtobufMagic.size()) return false;
    if (!apis::HasProtobufMagic(Rest())) return apis::Unwrap(Rest()).status();
    Consume(apis::kProtobufMagic.size());
    state_ = State::kEnvelope;
    return true;
  }
  if (state_ == State::kList && list_left_ == 0) {
    state_ = State::kEnvelope;
    return true;
  }
  if (Rest().empty()) return false;
  CSI_ASSIGN_OR_RETURN(const std::optional<Field> field, PeekField());
  if (!field) return false;
  if (field->wire_type == kVarint) {
    Consume(field->header);
    return true;
  }
  // runtime.Unknown: 1 typeMeta, 2 raw. Every list: 1 metadata, 2 items.
  if (state_ == State::kEnvelope && field->number == 2) {
    Consume(field->header);
    state_ = State::kList;
    list_left_ = field->value;
    had_list_ = true;
    return true;
  }
  const uint64_t whole = field->header + field->value;
  if (state_ == State::kList && whole > list_left_) return Malformed();
  if (Rest().size() < whole) return false;
  const std::string_view value = Rest().substr(field->header, field->value);
  if (state_ == State::kEnvelope) {
    if (field->number == 1) {
      // An envelope of nothing but its first field.
      const std::string head = StrCat(apis::kProtobufMagic, Rest().substr(0, whole));
      CSI_ASSIGN_OR_RETURN(const apis::Envelope envelope, apis::Unwrap(head));
      kind_ = envelope.kind;
    }
  } else if (field->number == 1) {
    if (!metadata_.ParsePartialFromArray(value.data(), static_cast<int>(value.size()))) {
      return Malformed();
    }
  } else if (field->number == 2) {
    *item = EncodedObject{.encoding = Encoding::kProtobuf, .bytes = value};
  }
  Consume(whole);
  return true;
}

Result<bool> ListDecoder::StepJson(std::optional<EncodedObject>* item) {
  while (!Rest().empty() && (IsJsonSpace(Rest().front()) || Rest().front() == ',')) ++begin_;
  if (state_ == State::kEnd || Rest().empty()) return false;
  const char first = Rest().front();
  if (state_ == State::kStart) {
    if (first != '{') return Malformed();
    ++begin_;
    state_ = State::kMember;
    return true;
  }
  if (state_ == State::kItems) {
    if (first == ']') {
      ++begin_;
      key_.clear();
      state_ = State::kMember;
      return true;
    }
    const size_t length = scanner_.Find(Rest());
    if (length == JsonScanner::npos) return false;
    scanner_.Reset();
    if (length == 0) return Malformed();
    *item = EncodedObject{.encoding = Encoding::kJson, .bytes = Rest().substr(0, length)};
    begin_ += length;
    return true;
  }
  if (key_.empty()) {
    if (first == '}') {
      ++begin_;
      state_ = State::kEnd;
      return true;
    }
    if (first != '"') return Malformed();
    const size_t length = scanner_.Find(Rest());
    if (length == JsonScanner::npos) return false;
    scanner_.Reset();
    key_ = Rest().substr(0, length);  // with its quotes, so never empty
    begin_ += length;
    return true;
  }
  if (first == ':') {
    ++begin_;
    return true;
  }
  if (key_ == "\"items\"" && first == '[') {
    ++begin_;
    state_ = State::kItems;
    return true;
  }
  const size_t length = scanner_.Find(Rest());
  if (length == JsonScanner::npos) return false;
  scanner_.Reset();
  if (length == 0) return Malformed();
  CSI_RETURN_IF_ERROR(TakeMember(key_, Rest().substr(0, length)));
  key_.clear();
  begin_ += length;
  return true;
}

Status ListDecoder::TakeMember(std::string_view key, std::string_view value) {
  if (key == "\"metadata\"") return apis::FromJsonString(value, &metadata_);
  if (key != "\"kind\"") return Status();
  rapidjson::Document document;
  CSI_RETURN_IF_ERROR(apis::ParseJson(value, &document));
  if (document.IsString()) kind_ = apis::JsonString(document);
  return Status();
}

}  // namespace csinative::kube
