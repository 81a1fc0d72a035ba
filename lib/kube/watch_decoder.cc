// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/watch_decoder.h"

#include <rapidjson/document.h>

#include <utility>

#include "apis/json/from_json.h"
#include "apis/json/parse.h"
#include "lib/base/go_quote.h"
#include "lib/base/strings.h"

namespace csinative::kube {
namespace {

Result<WatchEventType> ParseEventType(std::string_view text) {
  if (text == "ADDED") return WatchEventType::kAdded;
  if (text == "MODIFIED") return WatchEventType::kModified;
  if (text == "DELETED") return WatchEventType::kDeleted;
  if (text == "BOOKMARK") return WatchEventType::kBookmark;
  if (text == "ERROR") return WatchEventType::kError;
  return InvalidArgumentError(StrCat("got invalid watch event type: ", text));
}

}  // namespace

void WatchDecoder::Feed(std::string_view bytes) {
  if (encoding_ == Encoding::kProtobuf) {
    frames_.Feed(bytes);
    return;
  }
  if (begin_ > 0) {
    buffer_.erase(0, begin_);
    begin_ = 0;
  }
  buffer_ += bytes;
}

Result<std::optional<WatchEvent>> WatchDecoder::Next() {
  return encoding_ == Encoding::kProtobuf ? NextProtobuf() : NextJson();
}

Result<std::optional<WatchEvent>> WatchDecoder::NextProtobuf() {
  CSI_ASSIGN_OR_RETURN(std::optional<apis::WatchFrame> frame, frames_.Next());
  if (!frame) return std::optional<WatchEvent>();
  frame_ = *std::move(frame);
  WatchEvent event;
  CSI_ASSIGN_OR_RETURN(event.type, ParseEventType(frame_.type));
  std::string unused;
  CSI_ASSIGN_OR_RETURN(event.object, OpenObject(Encoding::kProtobuf, frame_.object, &unused));
  return std::optional<WatchEvent>(event);
}

Result<std::optional<WatchEvent>> WatchDecoder::NextJson() {
  while (begin_ < buffer_.size() && IsJsonSpace(buffer_[begin_])) ++begin_;
  const std::string_view rest = std::string_view(buffer_).substr(begin_);
  const size_t length = scanner_.Find(rest);
  if (length == JsonScanner::npos) {
    if (rest.size() <= apis::kMaxWatchFrame) return std::optional<WatchEvent>();
    return InvalidArgumentError("object to decode was longer than maximum allowed size");
  }
  scanner_.Reset();
  begin_ += length;
  rapidjson::Document document;
  CSI_RETURN_IF_ERROR(apis::ParseJson(rest.substr(0, length), &document));
  if (!document.IsObject()) return InvalidArgumentError("a watch event is not an object");
  const auto type = document.FindMember("type");
  const auto object = document.FindMember("object");
  if (type == document.MemberEnd() || !type->value.IsString() || object == document.MemberEnd() ||
      !object->value.IsObject()) {
    return InvalidArgumentError("a watch event lacks its type or its object");
  }
  WatchEvent event;
  CSI_ASSIGN_OR_RETURN(event.type, ParseEventType(apis::JsonString(type->value)));
  object_ = apis::JsonText(object->value);
  const apis::JsonTypeMeta meta = apis::TypeMetaOf(object->value);
  type_meta_ = meta.api_version + meta.kind;
  const std::string_view both = type_meta_;
  event.object = {Encoding::kJson, both.substr(0, meta.api_version.size()),
                  both.substr(meta.api_version.size()), object_};
  return std::optional<WatchEvent>(event);
}

Status WatchDecoder::Finish() const {
  if (encoding_ == Encoding::kProtobuf) return frames_.Finish();
  for (size_t i = begin_; i < buffer_.size(); ++i) {
    if (!IsJsonSpace(buffer_[i])) return Status(Code::kOutOfRange, "unexpected EOF");
  }
  return Status();
}

}  // namespace csinative::kube
