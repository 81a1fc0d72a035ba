// SPDX-License-Identifier: Apache-2.0
#include "lib/http/dial.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cerrno>
#include <memory>

#include "lib/async/completion.h"
#include "lib/async/timeout.h"
#include "lib/base/strings.h"
#include "lib/http/net_error.h"
#include "lib/http/socket_options.h"

namespace csinative::http {
namespace {

using boost::asio::ip::tcp;

// Go: net.partialDeadline, the least an address gets.
constexpr Duration kMinimumShare = std::chrono::seconds(2);

Status ResolveFailure(const std::string& host, const boost::system::error_code& error) {
  std::string why = "no such host";
  if (error == boost::asio::error::host_not_found_try_again) {
    why = "temporary failure in name resolution";
  } else if (error != boost::asio::error::host_not_found && error != boost::asio::error::no_data) {
    why = error.message();
  }
  return TransportStatus(TransportError::Kind::kResolve,
                         StrCat("dial tcp: lookup ", host, ": ", why));
}

async::Task<Result<Endpoints>> Resolve(boost::asio::io_context& io, std::string host,
                                       uint16_t port) {
  boost::system::error_code no_literal;
  const auto address = boost::asio::ip::make_address(host, no_literal);
  if (!no_literal) co_return Endpoints{tcp::endpoint(address, port)};
  auto resolver = std::make_shared<tcp::resolver>(io);
  co_return co_await async::FromCallback<Result<Endpoints>>(
      [resolver, host, port](async::Completer<Result<Endpoints>> done) {
        resolver->async_resolve(host, std::to_string(port), tcp::resolver::numeric_service,
                                [resolver, host, done](const boost::system::error_code& error,
                                                       tcp::resolver::results_type results) {
                                  if (error) return done(ResolveFailure(host, error));
                                  Endpoints endpoints;
                                  for (const auto& entry : results)
                                    endpoints.push_back(entry.endpoint());
                                  if (endpoints.empty()) return done(ResolveFailure(host, {}));
                                  done(std::move(endpoints));
                                });
        return async::AbortHook([resolver] { resolver->cancel(); });
      });
}

Status DialFailure(const tcp::endpoint& endpoint, int error_number) {
  return TransportStatus(KindOf(error_number), StrCat("dial tcp ", FormatAddress(endpoint.data()),
                                                      ": connect: ", ErrnoText(error_number)));
}

async::Task<Result<UniqueFd>> Connect(boost::asio::io_context& io, tcp::endpoint endpoint) {
  UniqueFd fd = NewClientSocket(endpoint.protocol().family());
  if (!fd.valid()) co_return DialFailure(endpoint, errno);
  SetClientSocketOptions(fd.get());
  if (::connect(fd.get(), endpoint.data(), static_cast<socklen_t>(endpoint.size())) == 0) {
    co_return std::move(fd);
  }
  if (errno != EINPROGRESS) co_return DialFailure(endpoint, errno);

  auto descriptor = std::make_shared<boost::asio::posix::stream_descriptor>(io);
  boost::system::error_code error;
  descriptor->assign(fd.release(), error);
  Status ready = co_await async::FromCallback<Status>([descriptor](async::Completer<Status> done) {
    descriptor->async_wait(
        boost::asio::posix::descriptor_base::wait_write,
        [descriptor, done](const boost::system::error_code&) { done(Status()); });
    return async::AbortHook([descriptor] {
      boost::system::error_code ignored;
      descriptor->close(ignored);
    });
  });
  if (!ready.ok()) co_return ready;
  fd.reset(descriptor->release());
  int error_number = 0;
  socklen_t size = sizeof(error_number);
  ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error_number, &size);
  if (error_number != 0) co_return DialFailure(endpoint, error_number);
  co_return std::move(fd);
}

// The failure of an attempt that ran out of its share of time, if its caller still has some.
async::Task<Status> Explain(Status failure, std::string what) {
  const Status cancelled = co_await async::CancellationStatus();
  if (!cancelled.ok()) co_return cancelled;
  if (failure.code() == Code::kDeadlineExceeded && failure.transport_error() == nullptr) {
    co_return TransportStatus(TransportError::Kind::kTimeout, StrCat(what, ": i/o timeout"));
  }
  co_return failure;
}

}  // namespace

async::Task<Result<Endpoints>> ResolveHost(boost::asio::io_context& io, std::string host,
                                           uint16_t port, Duration timeout) {
  Result<Endpoints> endpoints = co_await async::WithTimeout(timeout, Resolve(io, host, port));
  if (endpoints.ok()) co_return endpoints;
  co_return co_await Explain(endpoints.status(), StrCat("dial tcp: lookup ", host));
}

async::Task<Result<UniqueFd>> Dial(boost::asio::io_context& io, Endpoints endpoints,
                                   Duration timeout) {
  const async::TaskContext context = co_await async::CurrentContext();
  const MonotonicTime deadline = context.loop->Now() + timeout;
  Status first;
  for (size_t i = 0; i < endpoints.size(); ++i) {
    const tcp::endpoint endpoint = endpoints[i];
    const Duration left = deadline - context.loop->Now();
    const Duration share =
        std::min(left, std::max(kMinimumShare, left / static_cast<int>(endpoints.size() - i)));
    Result<UniqueFd> fd = co_await async::WithTimeout(share, Connect(io, endpoint));
    if (fd.ok()) co_return fd;
    Status failure =
        co_await Explain(fd.status(), StrCat("dial tcp ", FormatAddress(endpoint.data())));
    if (first.ok()) first = failure;
    const Status cancelled = co_await async::CancellationStatus();
    if (!cancelled.ok()) co_return cancelled;
  }
  co_return first;
}

}  // namespace csinative::http
