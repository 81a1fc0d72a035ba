// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/watch_stream.h"

#include <utility>

#include "lib/async/timeout.h"
#include "lib/base/strings.h"
#include "lib/kube/api_status.h"

namespace csinative::kube {
namespace {

Status UndecodableEvent(const Status& cause) {
  const std::string text =
      StrCat("unable to decode an event from the watch stream: ", cause.message());
  return Status(Code::kInternal, text,
                ApiError{.http_code = 500,
                         .reason = "InternalError",
                         .causes = {{"UnexpectedServerResponse", text, ""},
                                    {"ClientWatchDecoding", text, ""}}});
}

}  // namespace

Status ErrorOfObject(const EncodedObject& object) {
  meta::Status status;
  if (object.kind != "Status" || !DecodeObject(object, UnknownFields::kDrop, &status).ok()) {
    return UnknownError(StrCat("unexpected object: ", object.kind));
  }
  return FromApiStatus(status);
}

Result<std::unique_ptr<WatchStream>> WatchStream::Create(async::EventLoop& loop, log::Logger log,
                                                         std::unique_ptr<ApiStream> stream) {
  const std::string& content_type = stream->head().content_type;
  const Result<Encoding> encoding = EncodingOf(content_type, Encoding::kProtobuf);
  if (!encoding.ok()) {
    return UnimplementedError(StrCat("no stream serializers registered for ", content_type));
  }
  return std::unique_ptr<WatchStream>(
      new WatchStream(loop, std::move(log), std::move(stream), *encoding));
}

Result<std::optional<WatchEvent>> WatchStream::Next() {
  Result<std::optional<WatchEvent>> event = decoder_.Next();
  if (!event.ok()) return UndecodableEvent(event.status());
  if (*event) {
    ++events_;
    if ((*event)->type == WatchEventType::kError) return ErrorOfObject((*event)->object);
  }
  return event;
}

async::Task<Result<bool>> WatchStream::Fill() {
  Result<std::string> bytes = co_await async::WithTimeout(kSilenceLimit, stream_->Read());
  if (bytes.ok() && !bytes->empty()) {
    last_activity_ = loop_.Now();
    decoder_.Feed(*bytes);
    co_return true;
  }
  const Status cancelled = co_await async::CancellationStatus();
  if (!cancelled.ok()) co_return cancelled;
  if (bytes.ok()) {
    const Status end = decoder_.Finish();
    if (!end.ok()) {
      log_.V(1).Info("Unexpected EOF during watch stream event decoding", "err", end);
    }
  } else if (loop_.Now() - last_activity_ >= kSilenceLimit) {
    log_.V(2).Info("Watch was silent for too long and is replaced", "silence", kSilenceLimit);
  } else {
    log_.V(5).Info("Unable to read an event from the watch stream", "err", bytes.status());
  }
  co_return false;
}

bool WatchStream::VeryShort() const {
  return events_ == 0 && loop_.Now() - opened_at_ < std::chrono::seconds(1);
}

}  // namespace csinative::kube
