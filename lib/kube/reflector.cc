// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/reflector.h"

#include <utility>

#include "lib/async/sleep.h"
#include "lib/async/timeout.h"
#include "lib/base/go_duration.h"
#include "lib/base/strings.h"
#include "lib/kube/errors.h"
#include "lib/kube/list_decoder.h"
#include "lib/kube/request.h"

namespace csinative::kube {
namespace {

// Between two warnings that the API server does not answer.
constexpr Duration kComplaintInterval = std::chrono::minutes(1);

constexpr std::string_view kName = "informer";  // the `reflector` of log lines

// client-go tools/pager, defaultPageSize.
constexpr int64_t kDefaultPageSize = 500;

// The server has to send a piece of a list within this time.
constexpr Duration kListSilenceLimit = std::chrono::seconds(60);

constexpr Duration kBookmarkReminder = std::chrono::seconds(10);

// Differs: client-go asks again on every relist. A server that rejects the parameters keeps doing
// so until it is replaced.
constexpr Duration kWatchListRefusal = std::chrono::minutes(10);

constexpr int kItemsPerStep = 100;

// Warns every ten seconds while the end of the initial events does not come.
class BookmarkReminder {
 public:
  BookmarkReminder(async::EventLoop& loop, const log::Logger& log) : loop_(loop), log_(log) {
    Arm();
  }
  BookmarkReminder(const BookmarkReminder&) = delete;
  BookmarkReminder& operator=(const BookmarkReminder&) = delete;
  void OnEvent() { last_event_ = loop_.Now(); }

 private:
  void Arm() {
    timer_ = async::ScopedTimer(loop_, loop_.Now() + kBookmarkReminder, [this] {
      Warn();
      Arm();
    });
  }
  void Warn() {
    if (last_event_) {
      log_.Warningf(
          "{}: hasn't received required bookmark event marking the end of initial events stream, "
          "received last event {} ago",
          kName, FormatGoDuration(loop_.Now() - *last_event_));
    } else {
      log_.Warningf(
          "{}: awaiting required bookmark event for initial events stream, no events received "
          "for {}",
          kName, FormatGoDuration(loop_.Now() - start_));
    }
  }

  async::EventLoop& loop_;
  const log::Logger& log_;
  const MonotonicTime start_ = loop_.Now();
  std::optional<MonotonicTime> last_event_;
  async::ScopedTimer timer_;
};

struct Bookmark {
  std::string resource_version;
  bool initial_events_end = false;
};

Result<Bookmark> ReadBookmark(const EncodedObject& object) {
  meta::PartialObjectMetadata partial;  // metadata is field 1 of every kind
  CSI_RETURN_IF_ERROR(DecodeObject(object, UnknownFields::kDrop, &partial));
  Bookmark bookmark{partial.metadata().resourceversion()};
  for (const auto& annotation : partial.metadata().annotations()) {
    if (annotation.key() == "k8s.io/initial-events-end") {
      bookmark.initial_events_end = annotation.value() == "true";
    }
  }
  return bookmark;
}

Status VeryShortWatch() {
  return UnavailableError(
      "very short watch: unexpected watch close: it lasted less than a second "
      "and no items were received");
}

// The stream ended before the initial events did; not a failure of the server's.
Status EndedEarly() { return Status(Code::kAborted, "the stream of initial events ended early"); }

bool WantsDelay(const Status& failure) {
  return IsConnectionRefused(failure) || IsTooManyRequests(failure);
}

bool IsVersionProblem(const Status& failure) {
  return IsGone(failure) || IsTooLargeResourceVersion(failure);
}

}  // namespace

Reflector::Reflector(async::EventLoop& loop, Random& random, Client& client, log::Logger log,
                     const ResourceInfo& resource, ReflectorSink& sink, ReflectorOptions options)
    : loop_(loop),
      random_(random),
      client_(client),
      log_(std::move(log)),
      resource_(resource),
      sink_(sink),
      options_(std::move(options)),
      backoff_(random, options_.backoff) {}

async::Task<void> Reflector::Run() {
  for (;;) {
    const Status cancelled = co_await async::CancellationStatus();
    if (!cancelled.ok()) state_ = State::kStopped;
    switch (state_) {
      case State::kStart: {
        const bool refused =
            watch_list_refused_at_ && loop_.Now() - *watch_list_refused_at_ < kWatchListRefusal;
        state_ = options_.watch_list && client_.supports_watch_list() && !refused
                     ? State::kWatchList
                     : State::kList;
        break;
      }
      case State::kWatchList:
        state_ = co_await StepWatchList();
        break;
      case State::kList:
        state_ = co_await StepList();
        break;
      case State::kWatch:
        state_ = co_await StepWatch();
        break;
      case State::kWait:
        state_ = co_await StepWait();
        break;
      case State::kStopped:
        sink_.AbandonReplace();
        watch_.reset();
        co_return;
    }
  }
}

async::Task<Reflector::State> Reflector::StepWait() {
  watch_.reset();
  const Status slept = co_await async::Sleep(backoff_.Next(loop_.Now()));
  co_return slept.ok() ? State::kStart : State::kStopped;
}

async::Task<Reflector::State> Reflector::StepWatchList() {
  QueryParameters query = BaseQuery();
  const std::string version = version_unavailable_ ? "" : resource_version_;
  if (!version.empty()) query.emplace_back("resourceVersion", version);
  query.emplace_back("resourceVersionMatch", "NotOlderThan");
  query.emplace_back("sendInitialEvents", "true");
  query.emplace_back("allowWatchBookmarks", "true");
  AddWatch(query, random_);
  Result<std::unique_ptr<WatchStream>> opened = co_await OpenWatch(std::move(query));
  if (!opened.ok()) co_return co_await AfterWatchListFailure(opened.status());
  std::unique_ptr<WatchStream> stream = *std::move(opened);

  sink_.BeginReplace();
  std::string bookmark_version;
  const Status collected = co_await CollectInitialEvents(stream.get(), &bookmark_version);
  if (!collected.ok()) {
    sink_.AbandonReplace();
    co_return co_await AfterWatchListFailure(collected);
  }
  watch_ = std::move(stream);
  AfterReplace(std::move(bookmark_version));
  co_await sink_.CommitReplace();
  co_return State::kWatch;
}

async::Task<Status> Reflector::CollectInitialEvents(WatchStream* stream,
                                                    std::string* bookmark_version) {
  BookmarkReminder reminder(loop_, log_);
  for (int handled = 0;;) {
    CSI_CO_ASSIGN_OR_RETURN(const std::optional<WatchEvent> event, stream->Next());
    if (!event) {
      CSI_CO_ASSIGN_OR_RETURN(const bool more, co_await stream->Fill());
      last_activity_ = stream->last_activity();
      if (more) continue;
      if (stream->VeryShort()) co_return VeryShortWatch();
      // Differs: client-go starts over without a pause, as fast as the server can end streams.
      if (loop_.Now() - stream->opened_at() < std::chrono::seconds(1)) {
        CSI_CO_RETURN_IF_ERROR(co_await async::Sleep(backoff_.Next(loop_.Now())));
      }
      co_return EndedEarly();
    }
    reminder.OnEvent();
    if (IsForeign(event->object)) continue;
    if (event->type == WatchEventType::kBookmark) {
      CSI_CO_ASSIGN_OR_RETURN(const Bookmark bookmark, ReadBookmark(event->object));
      if (!bookmark.initial_events_end) continue;
      *bookmark_version = bookmark.resource_version;
      co_return Status();
    }
    CSI_CO_RETURN_IF_ERROR(sink_.Stage(event->type, event->object).status());
    if (++handled % kItemsPerStep == 0) co_await async::Yield();
  }
}

async::Task<Reflector::State> Reflector::AfterWatchListFailure(Status failure) {
  const Status cancelled = co_await async::CancellationStatus();
  if (!cancelled.ok()) co_return State::kStopped;
  if (WantsDelay(failure)) {
    log_.V(2).Info("watch-list failed - backing off", "reflector", kName, "type",
                   resource_.TypeText(), "err", failure);
    // Better than upstream, which says nothing: an address that nobody listens on is seen at once.
    if (loop_.Now() >= next_complaint_) {
      next_complaint_ = loop_.Now() + kComplaintInterval;
      log_.Warningf("cannot watch {}, retrying: {}", resource_.TypeText(), failure.message());
    }
    const Status slept = co_await async::Sleep(backoff_.Next(loop_.Now()));
    co_return slept.ok() ? State::kWatchList : State::kStopped;
  }
  if (IsVersionProblem(failure)) {
    // Differs: client-go asks on without a pause, also when it asked for no version.
    if (std::exchange(version_unavailable_, true)) {
      const Status slept = co_await async::Sleep(backoff_.Next(loop_.Now()));
      if (!slept.ok()) co_return State::kStopped;
    }
    co_return State::kWatchList;
  }
  if (failure.code() == Code::kAborted && failure.api_error() == nullptr) {
    co_return State::kWatchList;
  }
  if (IsInvalid(failure)) watch_list_refused_at_ = loop_.Now();
  log_.V(4).Info("Data couldn't be fetched in watchlist mode, falling back to a list", "reflector",
                 kName, "type", resource_.TypeText(), "err", failure);
  co_return State::kList;
}

async::Task<Reflector::State> Reflector::StepList() {
  std::string version = RelistVersion();
  int64_t limit = options_.page_size;
  if (limit == 0 && (version.empty() || version == "0" || initial_list_was_paged_)) {
    limit = kDefaultPageSize;
  }
  std::string list_version;
  Status listed = co_await List(version, limit, &list_version);
  if (!listed.ok() && IsVersionProblem(listed)) {
    version_unavailable_ = true;
    listed = co_await List("", limit, &list_version);
  }
  if (!listed.ok()) {
    sink_.AbandonReplace();
    const Status cancelled = co_await async::CancellationStatus();
    if (!cancelled.ok()) co_return State::kStopped;
    Report(listed.WithContext(StrCat("failed to list ", resource_.TypeText())));
    co_return State::kWait;
  }
  AfterReplace(std::move(list_version));
  co_await sink_.CommitReplace();
  co_return State::kWatch;
}

async::Task<Status> Reflector::List(std::string version, int64_t limit, std::string* list_version) {
  sink_.BeginReplace();
  meta::ListMeta metadata;
  std::string continue_token;
  for (int page = 0;; ++page) {
    QueryParameters query = BaseQuery();
    if (limit > 0) query.emplace_back("limit", StrCat(limit));
    if (page > 0) {
      query.emplace_back("continue", continue_token);
    } else if (!version.empty()) {
      query.emplace_back("resourceVersion", version);
    }
    const Status listed = co_await ListPage(std::move(query), &metadata);
    if (!listed.ok()) {
      // The snapshot that pages are taken from is gone: take everything in one answer.
      if (page > 0 && limit > 0 && IsGone(listed)) {
        if (version == "0") initial_list_was_paged_ = true;
        co_return co_await List(std::move(version), 0, list_version);
      }
      co_return listed;
    }
    if (page == 0) *list_version = metadata.resourceversion();
    if (page > 0 && version == "0") initial_list_was_paged_ = true;
    continue_token = metadata.continue_();
    if (continue_token.empty()) co_return Status();
  }
}

async::Task<Status> Reflector::ListPage(QueryParameters query, meta::ListMeta* metadata) {
  CSI_CO_ASSIGN_OR_RETURN(const std::unique_ptr<ApiStream> stream,
                          co_await client_.OpenStream(&resource_, options_.ns, std::move(query)));
  CSI_CO_ASSIGN_OR_RETURN(const Encoding encoding,
                          EncodingOf(stream->head().content_type, Encoding::kProtobuf));
  ListDecoder decoder(encoding);
  for (int handled = 0;;) {
    CSI_CO_ASSIGN_OR_RETURN(const std::optional<EncodedObject> item, decoder.Next());
    if (item) {
      CSI_CO_RETURN_IF_ERROR(sink_.Stage(WatchEventType::kAdded, *item).status());
      if (++handled % kItemsPerStep == 0) co_await async::Yield();
      continue;
    }
    const Result<std::string> bytes =
        co_await async::WithTimeout(kListSilenceLimit, stream->Read());
    if (!bytes.ok()) {
      co_return bytes.status().WithContext(
          "unexpected error when reading response body. Please retry. Original error");
    }
    if (bytes->empty()) break;
    last_activity_ = loop_.Now();
    decoder.Feed(*bytes);
  }
  CSI_CO_RETURN_IF_ERROR(decoder.Finish());
  // Another object without items is no empty list: a proxy's Status of failure, with code 200, must
  // not delete everything.
  if (!decoder.kind().empty() && decoder.kind() != StrCat(resource_.kind, "List")) {
    co_return UnknownError(StrCat("unexpected object in answer to a list: ", decoder.kind()));
  }
  *metadata = decoder.metadata();
  co_return Status();
}

void Reflector::AfterReplace(std::string version) {
  version_unavailable_ = false;
  resource_version_ = std::move(version);
  log_.V(2).Info("Caches populated", "type", resource_.TypeText(), "reflector", kName);
}

async::Task<Reflector::State> Reflector::StepWatch() {
  if (watch_ == nullptr) {
    QueryParameters query = BaseQuery();
    query.emplace_back("allowWatchBookmarks", "true");
    if (!resource_version_.empty()) query.emplace_back("resourceVersion", resource_version_);
    AddWatch(query, random_);
    Result<std::unique_ptr<WatchStream>> opened = co_await OpenWatch(std::move(query));
    if (!opened.ok()) {
      const Status cancelled = co_await async::CancellationStatus();
      if (!cancelled.ok()) co_return State::kStopped;
      if (!WantsDelay(opened.status())) {
        Report(opened.status());
        co_return State::kWait;
      }
      log_.V(2).Info("watch failed - backing off", "reflector", kName, "type", resource_.TypeText(),
                     "err", opened.status());
      const Status slept = co_await async::Sleep(backoff_.Next(loop_.Now()));
      co_return slept.ok() ? State::kWatch : State::kStopped;
    }
    watch_ = *std::move(opened);
  }
  co_return co_await FollowWatch();
}

async::Task<Reflector::State> Reflector::FollowWatch() {
  // A watch from "" or "0" starts with made-up additions in no order: their versions say nothing.
  bool trust_version = !resource_version_.empty() && resource_version_ != "0";
  Status failure;
  for (int handled = 0; failure.ok();) {
    const Result<std::optional<WatchEvent>> event = watch_->Next();
    if (!event.ok()) {
      failure = event.status();
    } else if (*event) {
      failure = ApplyEvent(**event, &trust_version);
      if (++handled % kItemsPerStep == 0) co_await async::Yield();
    } else {
      const Result<bool> more = co_await watch_->Fill();
      if (!more.ok()) co_return State::kStopped;
      last_activity_ = watch_->last_activity();
      if (*more) continue;
      const bool very_short = watch_->VeryShort();
      watch_.reset();
      if (!very_short) co_return State::kWatch;
      failure = VeryShortWatch();
    }
  }
  watch_.reset();
  if (IsTooManyRequests(failure)) {
    log_.V(2).Info("watch failed - backing off", "reflector", kName, "type", resource_.TypeText(),
                   "err", failure);
    const Status slept = co_await async::Sleep(backoff_.Next(loop_.Now()));
    co_return slept.ok() ? State::kWatch : State::kStopped;
  }
  if (IsGone(failure)) {
    log_.V(4).Info("watch closed", "reflector", kName, "type", resource_.TypeText(), "err",
                   failure);
  } else {
    log_.Info("Warning: watch ended with error", "reflector", kName, "type", resource_.TypeText(),
              "err", failure);
  }
  co_return State::kWait;
}

Status Reflector::ApplyEvent(const WatchEvent& event, bool* trust_version) {
  if (IsForeign(event.object)) return Status();
  std::string version;
  if (event.type == WatchEventType::kBookmark) {
    CSI_ASSIGN_OR_RETURN(Bookmark bookmark, ReadBookmark(event.object));
    version = std::move(bookmark.resource_version);
  } else {
    CSI_ASSIGN_OR_RETURN(version, sink_.Apply(event.type, event.object));
  }
  if (event.type != WatchEventType::kAdded) *trust_version = true;
  if (*trust_version) resource_version_ = std::move(version);
  return Status();
}

bool Reflector::IsForeign(const EncodedObject& object) {
  if (object.kind == resource_.kind || object.kind.empty()) return false;
  log_.WithName("UnhandledError")
      .Error(nullptr, "Unexpected watch event object type", "reflector", kName, "expectedType",
             resource_.TypeText(), "actualType", object.kind);
  return true;
}

QueryParameters Reflector::BaseQuery() const {
  QueryParameters query;
  if (!options_.field_selector.empty()) {
    query.emplace_back("fieldSelector", options_.field_selector);
  }
  if (!options_.label_selector.empty()) {
    query.emplace_back("labelSelector", options_.label_selector);
  }
  return query;
}

std::string Reflector::RelistVersion() const {
  if (version_unavailable_) return "";
  return resource_version_.empty() ? "0" : resource_version_;
}

async::Task<Result<std::unique_ptr<WatchStream>>> Reflector::OpenWatch(QueryParameters query) {
  CSI_CO_ASSIGN_OR_RETURN(std::unique_ptr<ApiStream> stream,
                          co_await client_.OpenStream(&resource_, options_.ns, std::move(query)));
  co_return WatchStream::Create(loop_, log_, std::move(stream));
}

// client-go's DefaultWatchErrorHandler.
void Reflector::Report(const Status& failure) {
  if (IsGone(failure)) {
    log_.V(4).Info("Watch closed", "reflector", kName, "type", resource_.TypeText(), "err",
                   failure);
    return;
  }
  log_.WithName("UnhandledError")
      .Error(failure, "Failed to watch", "reflector", kName, "type", resource_.TypeText());
}

}  // namespace csinative::kube
