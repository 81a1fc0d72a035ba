// SPDX-License-Identifier: Apache-2.0
#include "apis/envelope.h"

#include <algorithm>

#include "apis/declared_fields.h"
#include "apis/wire.h"

namespace csinative::apis {
namespace {

size_t VarintSize(uint64_t value) {
  size_t size = 1;
  for (; value >= 0x80; value >>= 7) ++size;
  return size;
}

// Field numbers here are below 16, so a tag is one byte.
void AppendBytesField(int number, std::string_view bytes, std::string* out) {
  AppendVarint(static_cast<uint64_t>(number) << 3 | 2, out);
  AppendVarint(bytes.size(), out);
  out->append(bytes);
}

size_t BytesFieldSize(size_t length) { return 1 + VarintSize(length) + length; }

Status NotAMessage() { return InvalidArgumentError("unable to decode the protobuf envelope"); }

Status ReadTypeMeta(std::string_view bytes, Envelope* out) {
  WireReader reader(bytes);
  while (!reader.AtEnd()) {
    uint32_t number = 0;
    std::string_view value;
    if (!reader.Field(&number, &value)) return NotAMessage();
    if (number == 1) out->api_version = value;
    if (number == 2) out->kind = value;
  }
  return Status::Ok();
}

// Everything of an envelope but the message's bytes: `raw` is its length.
std::string BeginEnvelope(std::string_view api_version, std::string_view kind, size_t raw) {
  size_t type_meta = BytesFieldSize(api_version.size()) + BytesFieldSize(kind.size());
  std::string out;
  out.reserve(kProtobufMagic.size() + BytesFieldSize(type_meta) + BytesFieldSize(raw) + 4);
  out.append(kProtobufMagic);
  AppendVarint(1 << 3 | 2, &out);
  AppendVarint(type_meta, &out);
  AppendBytesField(1, api_version, &out);
  AppendBytesField(2, kind, &out);
  AppendVarint(2 << 3 | 2, &out);
  AppendVarint(raw, &out);
  return out;
}

void EndEnvelope(std::string* out) {
  AppendBytesField(3, "", out);  // contentEncoding and contentType, empty but present
  AppendBytesField(4, "", out);
}

constexpr size_t kFrameHeader = 4;

}  // namespace

std::string Wrap(std::string_view api_version, std::string_view kind,
                 const google::protobuf::Message& message) {
  std::string out = BeginEnvelope(api_version, kind, message.ByteSizeLong());
  message.AppendPartialToString(&out);
  EndEnvelope(&out);
  return out;
}

std::string WrapRaw(std::string_view api_version, std::string_view kind, std::string_view raw) {
  std::string out = BeginEnvelope(api_version, kind, raw.size());
  out.append(raw);
  EndEnvelope(&out);
  return out;
}

Result<Envelope> Unwrap(std::string_view bytes) {
  if (bytes.empty()) return InvalidArgumentError("empty data");
  if (!HasProtobufMagic(bytes)) {
    return InvalidArgumentError(
        "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]");
  }
  bytes.remove_prefix(kProtobufMagic.size());
  if (bytes.empty()) return InvalidArgumentError("empty body");
  Envelope out;
  WireReader reader(bytes);
  while (!reader.AtEnd()) {
    uint32_t number = 0;
    std::string_view value;
    if (!reader.Field(&number, &value)) return NotAMessage();
    if (number == 1) CSI_RETURN_IF_ERROR(ReadTypeMeta(value, &out));
    if (number == 2) out.raw = value;
  }
  return out;
}

Status UnwrapInto(std::string_view bytes, google::protobuf::Message* message) {
  CSI_ASSIGN_OR_RETURN(Envelope envelope, Unwrap(bytes));
  if (!ParseDeclaredFields(envelope.raw, message)) {
    return InvalidArgumentError("unable to decode " + std::string(envelope.kind) +
                                " from protobuf");
  }
  return Status::Ok();
}

void AppendWatchFrame(std::string_view type, std::string_view object, std::string* out) {
  size_t raw = BytesFieldSize(object.size());
  auto length = static_cast<uint32_t>(BytesFieldSize(type.size()) + BytesFieldSize(raw));
  for (int shift = 24; shift >= 0; shift -= 8) out->push_back(static_cast<char>(length >> shift));
  AppendBytesField(1, type, out);
  AppendVarint(2 << 3 | 2, out);
  AppendVarint(raw, out);
  AppendBytesField(1, object, out);
}

void WatchFrameReader::Feed(std::string_view bytes) {
  if (drain_ > 0) {
    size_t skip = std::min<uint64_t>(drain_, bytes.size());
    bytes.remove_prefix(skip);
    drain_ -= skip;
  }
  if (begin_ > 0) {
    buffer_.erase(0, begin_);
    begin_ = 0;
  }
  buffer_.append(bytes);
}

Result<std::optional<WatchFrame>> WatchFrameReader::Next() {
  std::string_view rest = std::string_view(buffer_).substr(begin_);
  if (rest.size() < kFrameHeader) return std::optional<WatchFrame>();
  uint32_t length = 0;
  for (size_t i = 0; i < kFrameHeader; ++i) length = length << 8 | static_cast<uint8_t>(rest[i]);
  if (length > kMaxWatchFrame) {
    size_t here = std::min<size_t>(length, rest.size() - kFrameHeader);
    begin_ += kFrameHeader + here;
    drain_ = length - here;
    return InvalidArgumentError("object to decode was longer than maximum allowed size");
  }
  if (rest.size() - kFrameHeader < length) return std::optional<WatchFrame>();
  begin_ += kFrameHeader + length;

  WatchFrame frame;
  WireReader reader(rest.substr(kFrameHeader, length));
  while (!reader.AtEnd()) {
    uint32_t number = 0;
    std::string_view value;
    if (!reader.Field(&number, &value)) return InvalidArgumentError("unable to decode watch event");
    if (number == 1) frame.type = value;
    if (number != 2) continue;
    WireReader extension(value);
    while (!extension.AtEnd()) {
      std::string_view raw;
      if (!extension.Field(&number, &raw)) {
        return InvalidArgumentError("unable to decode watch event");
      }
      if (number == 1) frame.object = raw;
    }
  }
  return std::optional<WatchFrame>(std::move(frame));
}

Status WatchFrameReader::Finish() const {
  if (drain_ > 0 || begin_ != buffer_.size()) return Status(Code::kOutOfRange, "unexpected EOF");
  return Status::Ok();
}

}  // namespace csinative::apis
