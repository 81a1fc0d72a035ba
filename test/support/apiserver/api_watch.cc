// SPDX-License-Identifier: Apache-2.0
//
// Watch streams of ApiHandler.
#include "apis/envelope.h"
#include "lib/async/timeout.h"
#include "lib/base/strings.h"
#include "test/support/apiserver/api_call.h"
#include "test/support/apiserver/codec.h"

namespace csinative::apiserver {
namespace {

constexpr char kStatusMessage[] = "k8s.io.apimachinery.pkg.apis.meta.v1.Status";
// Events that are ready go out together, up to about this many bytes.
constexpr size_t kBatchBytes = 64 * 1024;

async::Task<Status> WaitFor(async::Signal* signal) { co_return co_await signal->Wait(); }

std::string ErrorEvent(Encoding encoding, const Failure& failure) {
  std::string json = failure.ToJson();
  if (encoding == Encoding::kProtobuf) {
    return EncodeWatchEvent(encoding, "ERROR",
                            JsonToEnvelope(kStatusMessage, "v1", "Status", json));
  }
  return EncodeWatchEvent(encoding, "ERROR", json);
}

// The object as it was, under a later resource version: what a watch sees when an object leaves
// its selector.
ObjectPtr WithVersion(const ResourceInfo& info, const Object& object, int64_t version) {
  JsonDocument document = ParseDocument(object);
  SetText(Ensure(document, "metadata", document.GetAllocator()), "resourceVersion",
          std::to_string(version), document.GetAllocator());
  return MakeObject(info, document, version);
}

struct Event {
  std::string_view type;
  ObjectPtr object;
};

// What a change is for somebody who only sees what matches.
std::optional<Event> EventFor(const ResourceInfo& info, const ListOptions& options,
                              const Change& change) {
  const bool before = change.previous != nullptr && options.Matches(*change.previous);
  const bool after = !change.deleted && options.Matches(*change.object);
  if (after) return Event{before ? "MODIFIED" : "ADDED", change.object};
  if (!before) return std::nullopt;
  if (change.deleted) return Event{"DELETED", change.object};
  return Event{"DELETED", WithVersion(info, *change.previous, change.object->resource_version)};
}

}  // namespace

std::string ApiHandler::Bookmark(const Call& call, int64_t version, bool initial_end) const {
  const ResourceInfo& info = *call.resource;
  // What is the same in all of them is made once: a simulated hour has thousands.
  JsonDocument& form = bookmark_forms_[StrCat(info.group, "/", info.version, "/", info.resource)];
  if (form.IsNull()) {
    form = std::move(*Normalize(info, *ParseJson(R"({"metadata":{"resourceVersion":"0"}})")));
  }
  JsonDocument document;
  document.CopyFrom(form, document.GetAllocator());
  Json& metadata = Ensure(document, "metadata", document.GetAllocator());
  SetText(metadata, "resourceVersion", std::to_string(version), document.GetAllocator());
  if (initial_end) {
    SetText(Ensure(metadata, "annotations", document.GetAllocator()), "k8s.io/initial-events-end",
            "true", document.GetAllocator());
  }
  return EncodeWatchEvent(call.negotiated.encoding, "BOOKMARK",
                          Encode(call, *MakeObject(info, document, version)));
}

async::Task<int> ApiHandler::Watch(Call* call) {
  Outcome<ListOptions> options = ParseListOptions(*call->resource, call->info);
  if (!options.ok()) co_return co_await SendFailure(call, options.failure());
  if (call->drop_answer) {
    call->writer->Abort();
    co_return 0;
  }
  const Encoding encoding = call->negotiated.encoding;
  http::Headers headers;
  headers.Set("Content-Type", encoding == Encoding::kProtobuf
                                  ? std::string(apis::kProtobufWatchContentType)
                                  : "application/json");
  headers.Set("Cache-Control", "no-cache, private");
  Status started = co_await call->writer->StartStream(200, std::move(headers));
  if (!started.ok()) co_return 0;

  // From here on the state and the place in the history are read in one step, without a wait.
  Collection& collection = store_.collection(*call->resource);
  std::string first;
  int64_t version = store_.resource_version();
  const bool initial = options->send_initial_events.value_or(options->resource_version.empty() ||
                                                             options->resource_version == "0");
  if (initial) {
    for (const auto& [key, object] : collection.objects()) {
      if (!options->Matches(*object)) continue;
      first += EncodeWatchEvent(encoding, "ADDED", Encode(*call, *object));
    }
    if (options->send_initial_events.value_or(false) && options->bookmarks) {
      first += Bookmark(*call, version, true);
    }
  } else if (!options->resource_version.empty() && options->resource_version != "0") {
    version = std::stoll(options->resource_version);
  }
  ++open_watches_;
  bool in_order = true;
  if (!first.empty()) {
    Status written = co_await call->writer->Write(std::move(first));
    in_order = written.ok();
  }
  if (in_order) in_order = co_await StreamChanges(call, std::move(*options), version);
  --open_watches_;
  if (!in_order) call->writer->Abort();
  co_return 200;
}

// False when the stream broke; true when it ended as announced.
async::Task<bool> ApiHandler::StreamChanges(Call* call, ListOptions options, int64_t version) {
  Collection& collection = store_.collection(*call->resource);
  async::Signal& signal = SignalOf(collection);
  const Encoding encoding = call->negotiated.encoding;
  const int64_t cut_epoch = cut_epoch_, end_epoch = end_epoch_;
  const Duration limit = options.timeout_seconds.value_or(0) > 0
                             ? Duration(std::chrono::seconds(*options.timeout_seconds))
                             : options_.default_watch_timeout;
  const MonotonicTime end = loop_.Now() + limit;
  MonotonicTime bookmark_at = loop_.Now() + options_.bookmark_interval;
  std::optional<uint64_t> cursor = collection.CursorAfter(version);
  while (true) {
    if (cut_epoch != cut_epoch_) co_return false;
    if (end_epoch != end_epoch_) co_return true;
    std::string batch;
    bool expired = false;
    while (batch.size() < kBatchBytes) {
      std::optional<const Change*> next = cursor ? collection.ChangeAt(*cursor) : std::nullopt;
      if (!next) {
        expired = true;
        batch += ErrorEvent(encoding, Expired(StrCat("too old resource version: ", version, " (",
                                                     collection.oldest_version(), ")")));
        break;
      }
      if (*next == nullptr) break;
      const Change& change = **next;
      ++*cursor;
      version = change.object->resource_version;
      if (std::optional<Event> event = EventFor(*call->resource, options, change)) {
        batch += EncodeWatchEvent(encoding, event->type, Encode(*call, *event->object));
      }
    }
    const MonotonicTime now = loop_.Now();
    if (batch.empty() && options.bookmarks && now >= bookmark_at) {
      // Nothing of this kind is newer, so the bookmark may stand for all that happened elsewhere.
      version = std::max(version, store_.resource_version());
      batch = Bookmark(*call, version, false);
      bookmark_at = now + options_.bookmark_interval;
    }
    if (!batch.empty()) {
      Status written = co_await call->writer->Write(std::move(batch));
      if (!written.ok()) co_return false;
      if (expired) co_return true;
      continue;
    }
    if (now >= end) co_return true;
    MonotonicTime until = options.bookmarks ? std::min(end, bookmark_at) : end;
    (void)co_await async::WithDeadline(until, WaitFor(&signal));
    if (!(co_await async::CancellationStatus()).ok()) co_return false;
  }
}

}  // namespace csinative::apiserver
