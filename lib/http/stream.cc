// SPDX-License-Identifier: Apache-2.0
#include "lib/http/stream.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

#include "lib/base/strings.h"
#include "lib/http/net_error.h"
#include "lib/http/tls.h"

namespace csinative::http {
namespace {

using boost::system::error_code;

std::string NameOf(int fd, int (*get)(int, sockaddr*, socklen_t*)) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  if (get(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return "";
  return FormatAddress(reinterpret_cast<const sockaddr*>(&address));
}

}  // namespace

std::string LocalAddress(int fd) { return NameOf(fd, ::getsockname); }
std::string PeerAddress(int fd) { return NameOf(fd, ::getpeername); }

Stream::Stream(boost::asio::io_context& io, UniqueFd fd, SslPtr ssl)
    : descriptor_(io), local_(LocalAddress(fd.get())), peer_(PeerAddress(fd.get())) {
  error_code ignored;
  descriptor_.assign(fd.release(), ignored);
  if (ssl) StartTls(std::move(ssl));
}

Stream::~Stream() { Close(CloseMode::kAbrupt); }

void Stream::StartTls(SslPtr ssl) {
  if (ssl_ == nullptr) {
    AttachSocket(ssl.get(), fd());
  } else {
    AttachSession(ssl.get(), std::move(ssl_));
  }
  ssl_ = std::move(ssl);
}

Status Stream::ClosedStatus() const {
  return TransportStatus(TransportError::Kind::kReset, "use of closed network connection");
}

Status Stream::OsFailure(const char* operation, int error_number) {
  return TransportStatus(KindOf(error_number), StrCat(operation, " tcp ", local_, "->", peer_, ": ",
                                                      operation, ": ", ErrnoText(error_number)));
}

Stream::Progress Stream::SslProgress(int result, const char* operation) {
  const int os_error = errno;
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_NONE:
      return Progress::kDone;
    case SSL_ERROR_WANT_READ:
      return Progress::kWantRead;
    case SSL_ERROR_WANT_WRITE:
      return Progress::kWantWrite;
    case SSL_ERROR_ZERO_RETURN:
      return Progress::kEof;
    case SSL_ERROR_SYSCALL:
      failure_ = os_error == 0 ? TransportStatus(TransportError::Kind::kReset, "unexpected EOF")
                               : OsFailure(operation, os_error);
      return Progress::kFailed;
    default:
      failure_ = TlsFailure(ssl_.get());
      return Progress::kFailed;
  }
}

Stream::Progress Stream::TryRead(std::string* out) {
  if (closed()) {
    failure_ = ClosedStatus();
    return Progress::kFailed;
  }
  char buffer[16 * 1024];
  if (ssl_) {
    ERR_clear_error();
    errno = 0;
    const int n = SSL_read(ssl_.get(), buffer, sizeof(buffer));
    if (n <= 0) return SslProgress(n, "read");
    out->assign(buffer, static_cast<size_t>(n));
    return Progress::kDone;
  }
  while (true) {
    const ssize_t n = ::recv(fd(), buffer, sizeof(buffer), 0);
    if (n > 0) {
      out->assign(buffer, static_cast<size_t>(n));
      return Progress::kDone;
    }
    if (n == 0) return Progress::kEof;
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return Progress::kWantRead;
    failure_ = OsFailure("read", errno);
    return Progress::kFailed;
  }
}

Stream::Progress Stream::TryWriteSome(std::string_view data, size_t* written) {
  *written = 0;
  if (closed()) {
    failure_ = ClosedStatus();
    return Progress::kFailed;
  }
  if (data.empty()) return Progress::kDone;
  if (ssl_) {
    ERR_clear_error();
    errno = 0;
    if (SSL_write_ex(ssl_.get(), data.data(), data.size(), written) == 1) return Progress::kDone;
    const Progress progress = SslProgress(0, "write");
    if (progress != Progress::kEof) return progress;
    failure_ = ClosedStatus();
    return Progress::kFailed;
  }
  while (true) {
    const ssize_t n = ::send(fd(), data.data(), data.size(), MSG_NOSIGNAL);
    if (n >= 0) {
      *written = static_cast<size_t>(n);
      return Progress::kDone;
    }
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return Progress::kWantWrite;
    failure_ = OsFailure("write", errno);
    return Progress::kFailed;
  }
}

async::Task<Status> Stream::WaitReadable() {
  if (closed()) co_return ClosedStatus();
  if (ssl_ && SSL_pending(ssl_.get()) > 0) co_return Status();
  if (!std::exchange(read_armed_, true)) {
    descriptor_.async_wait(boost::asio::posix::descriptor_base::wait_read,
                           [self = shared_from_this()](const error_code&) {
                             self->read_armed_ = false;
                             self->readers_.WakeAll();
                           });
  }
  co_return co_await readers_.Wait();
}

async::Task<Status> Stream::WaitWritable() {
  if (closed()) co_return ClosedStatus();
  if (!std::exchange(write_armed_, true)) {
    descriptor_.async_wait(boost::asio::posix::descriptor_base::wait_write,
                           [self = shared_from_this()](const error_code&) {
                             self->write_armed_ = false;
                             self->writers_.WakeAll();
                           });
  }
  co_return co_await writers_.Wait();
}

async::Task<Status> Stream::Wait(Progress want) {
  if (want == Progress::kWantWrite) co_return co_await WaitWritable();
  co_return co_await WaitReadable();
}

async::Task<Status> Stream::Handshake() {
  const auto self = shared_from_this();
  while (true) {
    CSI_CO_RETURN_IF_ERROR(co_await async::CancellationStatus());
    if (closed()) co_return ClosedStatus();
    ERR_clear_error();
    errno = 0;
    const int result = SSL_do_handshake(ssl_.get());
    if (result == 1) co_return Status();
    const Progress progress = SslProgress(result, "read");
    if (progress == Progress::kFailed) co_return failure_;
    if (progress == Progress::kEof) {
      co_return TransportStatus(TransportError::Kind::kReset, "EOF");
    }
    CSI_CO_RETURN_IF_ERROR(co_await Wait(progress));
  }
}

async::Task<Result<std::string>> Stream::Read() {
  const auto self = shared_from_this();
  std::string bytes;
  while (true) {
    const Progress progress = TryRead(&bytes);
    if (progress == Progress::kDone) co_return std::move(bytes);
    if (progress == Progress::kEof) co_return std::string();
    if (progress == Progress::kFailed) co_return failure_;
    CSI_CO_RETURN_IF_ERROR(co_await Wait(progress));
  }
}

async::Task<Status> Stream::DiscardInput() {
  const auto self = shared_from_this();
  ssl_.reset();
  while (true) {
    Result<std::string> piece = co_await Read();
    if (!piece.ok() || piece->empty()) co_return piece.status();
  }
}

async::Task<Status> Stream::Write(std::string data) {
  const auto self = shared_from_this();
  std::string_view rest = data;
  while (true) {
    size_t written = 0;
    const Progress progress = TryWriteSome(rest, &written);
    rest.remove_prefix(written);
    if (progress == Progress::kFailed) co_return failure_;
    if (progress != Progress::kDone) {
      CSI_CO_RETURN_IF_ERROR(co_await Wait(progress));
    } else if (rest.empty()) {
      co_return Status();
    }
  }
}

bool Stream::TryWrite(std::string_view data) {
  while (!data.empty()) {
    size_t written = 0;
    if (TryWriteSome(data, &written) != Progress::kDone) return false;
    data.remove_prefix(written);
  }
  return true;
}

bool Stream::IdleButReadable() {
  if (closed()) return true;
  pollfd poll_fd = {.fd = fd(), .events = POLLIN | POLLRDHUP, .revents = 0};
  if (::poll(&poll_fd, 1, 0) <= 0) return false;
  if (!ssl_) return true;
  // A TLS 1.3 server sends session tickets at any time: let the library consume them.
  char byte;
  ERR_clear_error();
  const int n = SSL_peek(ssl_.get(), &byte, 1);
  return n > 0 || SSL_get_error(ssl_.get(), n) != SSL_ERROR_WANT_READ;
}

void Stream::Close(CloseMode mode) {
  if (closed()) return;
  if (ssl_ && mode == CloseMode::kGraceful && SSL_is_init_finished(ssl_.get())) {
    ERR_clear_error();
    (void)SSL_shutdown(ssl_.get());
    ERR_clear_error();
  }
  error_code ignored;
  descriptor_.close(ignored);
  readers_.WakeAll();
  writers_.WakeAll();
}

}  // namespace csinative::http
