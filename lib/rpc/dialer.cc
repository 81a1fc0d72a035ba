// SPDX-License-Identifier: Apache-2.0
#include "lib/rpc/dialer.h"

#include <utility>

#include "lib/base/strings.h"

namespace csinative::rpc {
namespace {

// Go's exponential back-off with base and maximum of one second: only the jitter is left of it, and
// the first wait has none (common 7.2).
constexpr double kJitter = 0.2;

Status Unavailable(std::string description) {
  return RpcStatus(static_cast<int>(Code::kUnavailable), std::move(description));
}

// The cancellation of a call that waits for a connection.
Status WaitFailure(const Status& reason) {
  const Code code = IsDeadlineExceeded(reason) ? Code::kDeadlineExceeded : Code::kCancelled;
  const char* cause =
      code == Code::kDeadlineExceeded ? "context deadline exceeded" : "context canceled";
  return RpcStatus(static_cast<int>(code),
                   StrCat(cause, " while waiting for connections to become ready"));
}

}  // namespace

Dialer::Dialer(async::EventLoop& loop, Target target, ConnectOptions options)
    : loop_(loop),
      target_(std::move(target)),
      options_(std::move(options)),
      random_(options_.random),
      queue_(std::make_unique<grpc::CompletionQueue>()) {
  if (random_ == nullptr) {
    own_random_ = NewSystemRandom();
    random_ = own_random_.get();
  }
}

Dialer::~Dialer() { calls_->CancelAll(); }

void Dialer::Start() { Dial(); }

async::Task<Status> Dialer::WaitUntilReady() {
  while (state_ != State::kReady) CSI_CO_RETURN_IF_ERROR(co_await changed_.Wait());
  co_return Status();
}

async::Task<Result<std::shared_ptr<Connection>>> Dialer::Pick() {
  while (true) {
    if (state_ == State::kReady) {
      if (connection_->alive()) co_return connection_;
      Abandon(connection_);
    }
    if (state_ == State::kIdle) {
      state_ = State::kConnecting;
      Dial();
      continue;
    }
    if (state_ == State::kFailing) {
      co_return Unavailable("connection error: desc = \"" + last_error_.message() + "\"");
    }
    Status woken = co_await changed_.Wait();
    if (!woken.ok()) co_return WaitFailure(woken);
  }
}

void Dialer::Abandon(const std::shared_ptr<Connection>& connection) {
  if (state_ != State::kReady || connection != connection_) return;
  connection_.reset();
  state_ = State::kIdle;
}

UniqueFunction<void(UniqueFunction<void(Dialer&)>)> Dialer::Poster() {
  return [&loop = loop_, weak = weak_from_this()](UniqueFunction<void(Dialer&)> step) {
    loop.Post([weak, step = std::move(step)]() mutable {
      if (std::shared_ptr<Dialer> self = weak.lock()) step(*self);
    });
  };
}

void Dialer::Dial() {
  if (std::exchange(had_socket_, false) && target_.kind == Target::Kind::kUnix) {
    if (options_.log_connection_lost) options_.log_connection_lost();
    if (options_.on_connection_lost && !options_.on_connection_lost()) disabled_ = true;
  }
  const uint64_t attempt = ++attempt_;
  attempting_ = true;
  backoff_ = NextBackoff();
  if (disabled_) {
    return OnFailure(UnavailableError("connection lost, reconnecting disabled"));
  }
  attempt_limit_ = async::ScopedTimer(loop_, loop_.Now() + backoff_,
                                      [this] { OnFailure(DeadlineExceededError()); });
  if (target_.kind != Target::Kind::kTcp) return OnSocket(attempt, DialUnix(target_));
  if (!resolver_) resolver_ = std::make_unique<async::ThreadPool>(1);
  resolver_->Submit([target = target_, limit = backoff_, attempt, post = Poster()]() mutable {
    post([attempt, fd = std::make_unique<Result<UniqueFd>>(DialTcp(target, limit))](Dialer& self) {
      self.OnSocket(attempt, std::move(*fd));
    });
  });
}

void Dialer::OnSocket(uint64_t attempt, Result<UniqueFd> fd) {
  if (attempt != attempt_ || !attempting_) return;
  if (!fd.ok()) return OnFailure(fd.status());
  had_socket_ = true;
  connection_ = std::make_shared<Connection>(std::move(fd).value(), target_, queue_.queue());
  connection_->Ping([attempt, post = Poster()](bool ok) mutable {
    post([attempt, ok](Dialer& self) { self.OnPing(attempt, ok); });
  });
}

void Dialer::OnPing(uint64_t attempt, bool ok) {
  if (attempt != attempt_ || !attempting_) return;
  if (!ok) return OnFailure(UnavailableError("error reading server preface: EOF"));
  attempting_ = false;
  attempt_limit_.Cancel();
  failures_in_a_row_ = 0;
  was_ready_ = true;
  last_error_ = Status();
  state_ = State::kReady;
  changed_.WakeAll();
}

void Dialer::OnFailure(Status why) {
  attempting_ = false;
  attempt_limit_.Cancel();
  connection_.reset();
  ++failures_in_a_row_;
  last_error_ = why.message().starts_with("dial ")
                    ? why.WithMessage("transport: Error while dialing: " + why.message())
                    : why;
  state_ = was_ready_ ? State::kFailing : State::kConnecting;
  if (options_.on_dial_error) {
    options_.on_dial_error(
        last_error_.WithMessage("connection error: desc = \"" + last_error_.message() + "\""));
  }
  changed_.WakeAll();
  retry_ = async::ScopedTimer(loop_, loop_.Now() + backoff_, [this] { Dial(); });
}

Duration Dialer::NextBackoff() {
  if (failures_in_a_row_ == 0) return options_.backoff;
  const double factor = 1 + kJitter * (2 * random_->Unit() - 1);
  return std::chrono::duration_cast<Duration>(options_.backoff * factor);
}

}  // namespace csinative::rpc
