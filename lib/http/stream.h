// SPDX-License-Identifier: Apache-2.0
//
// One connected socket, plain or TLS, as tasks. Internal to lib/http. Loop only.
//
// The event loop only reports readiness; bytes move by non-blocking calls inside the task. So no
// buffer is lent to an operation that might outlive its task, and an idle connection holds none.
#pragma once

#include <openssl/ssl.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <memory>
#include <string>

#include "lib/async/task.h"
#include "lib/async/waiter.h"
#include "lib/base/result.h"
#include "lib/base/unique_fd.h"

namespace csinative::http {

struct SslDeleter {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};
using SslPtr = std::unique_ptr<SSL, SslDeleter>;

// "1.2.3.4:56" or "[::1]:56"; empty if the socket has no such end. IPv4-mapped addresses as IPv4.
std::string LocalAddress(int fd);
std::string PeerAddress(int fd);

class Stream : public std::enable_shared_from_this<Stream> {
 public:
  // fd is a connected non-blocking socket. Without ssl the stream is plain.
  Stream(boost::asio::io_context& io, UniqueFd fd, SslPtr ssl);
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  // REQUIRES: no task waits here, or the loop is discarding.
  ~Stream();

  // TLS only: runs the handshake, as the side that `ssl` is set to. kTls on failure.
  async::Task<Status> Handshake();
  // Continues a stream as TLS, inside the TLS that it has already, if any; Handshake() follows.
  void StartTls(SslPtr ssl);

  // The next bytes, at most 16 KiB; empty at the end of the stream. A TLS stream that ends without
  // its closing message is reported as kReset "unexpected EOF". One reader at a time.
  async::Task<Result<std::string>> Read();
  // Reads the raw bytes of the socket and drops them, until its end: before a close that must not
  // become a reset.
  async::Task<Status> DiscardInput();
  // Suspends until Read() has something to say: bytes, the end or an error.
  async::Task<Status> WaitReadable();
  // Writes all. One writer at a time.
  async::Task<Status> Write(std::string data);
  // Writes what the socket takes without waiting; true if that was all.
  bool TryWrite(std::string_view data);

  // True if the peer has closed, or has sent something: either way an idle connection is unusable.
  bool IdleButReadable();

  // Closes at once; waiting tasks end with kReset. Graceful: sends the TLS closing message first,
  // if that does not wait.
  enum class CloseMode { kGraceful, kAbrupt };
  void Close(CloseMode mode);
  bool closed() const { return !descriptor_.is_open(); }

  int fd() { return descriptor_.native_handle(); }
  SSL* ssl() const { return ssl_.get(); }
  const std::string& local_address() const { return local_; }
  const std::string& peer_address() const { return peer_; }

 private:
  enum class Progress { kDone, kWantRead, kWantWrite, kEof, kFailed };

  Progress TryRead(std::string* out);
  Progress TryWriteSome(std::string_view data, size_t* written);
  Progress SslProgress(int result, const char* operation);
  async::Task<Status> WaitWritable();
  async::Task<Status> Wait(Progress want);
  Status OsFailure(const char* operation, int error_number);
  Status ClosedStatus() const;

  boost::asio::posix::stream_descriptor descriptor_;
  SslPtr ssl_;
  const std::string local_;
  const std::string peer_;
  Status failure_;  // of the last call that returned kFailed
  bool read_armed_ = false;
  bool write_armed_ = false;
  async::WaiterList readers_;
  async::WaiterList writers_;
};

}  // namespace csinative::http
