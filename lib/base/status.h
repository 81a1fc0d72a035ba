// SPDX-License-Identifier: Apache-2.0
//
// Status says how an operation ended: a closed code, a message for people and at most one typed
// detail that tells where the failure came from. Values; any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace csinative {

// The canonical codes. The numbers are those of gRPC, so that an RPC status converts by value.
enum class Code : int {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

// Go's spelling of a gRPC code ("OK", "Canceled", "DeadlineExceeded"); "Code(<n>)" outside the
// closed set. It reaches events, API status fields and metric labels (common 7.5).
std::string CodeName(Code code);
std::string CodeName(int code);

// One cause inside an API server's Status answer.
struct ApiCause {
  std::string reason;
  std::string message;
  std::string field;
};

// Detail of a failure that an API server answered with (kube-client 9).
struct ApiError {
  int http_code = 0;
  std::string reason;  // "NotFound", "Conflict", ...; empty when the server gave none
  std::string kind;    // details.kind: the resource, e.g. "persistentvolumes"
  std::string name;    // details.name
  std::optional<int64_t> retry_after_seconds;
  std::vector<ApiCause> causes;
};

// Detail of a failure that a gRPC peer answered with, or that the channel produced for it.
struct RpcError {
  int grpc_code = 0;        // may lie outside Code: a peer can send any number
  std::string description;  // the peer's message, unchanged
};

// Detail of a failed system call.
struct OsError {
  int error_number = 0;
};

// Detail of a failure to reach a peer at all: no answer was received.
struct TransportError {
  enum class Kind {
    kRefused,  // nothing listens
    kReset,    // the connection broke before or while the answer was read
    kTimeout,  // the local deadline for the exchange passed
    kTls,      // certificate or handshake
    kResolve,  // name resolution
    kOther,
  };
  Kind kind = Kind::kOther;
};

// Copyable; a copy shares the immutable representation. The default value is success.
class [[nodiscard]] Status {
 public:
  using Detail = std::variant<std::monostate, ApiError, RpcError, OsError, TransportError>;

  Status() = default;
  // REQUIRES: code != kOk.
  Status(Code code, std::string message, Detail detail = {});

  static Status Ok() { return {}; }

  bool ok() const { return rep_ == nullptr; }
  Code code() const { return rep_ ? rep_->code : Code::kOk; }
  const std::string& message() const;

  const ApiError* api_error() const { return get<ApiError>(); }
  const RpcError* rpc_error() const { return get<RpcError>(); }
  const OsError* os_error() const { return get<OsError>(); }
  const TransportError* transport_error() const { return get<TransportError>(); }

  // The same code and detail with "context: " in front of the message. Ok stays ok.
  Status WithContext(std::string_view context) const;
  // The same code and detail with another message. Ok stays ok.
  Status WithMessage(std::string message) const;

  // For logs of our own: "<CodeName>: <message>", or "OK".
  std::string ToString() const;

 private:
  struct Rep {
    Code code;
    std::string message;
    Detail detail;
  };

  template <typename T>
  const T* get() const {
    return rep_ ? std::get_if<T>(&rep_->detail) : nullptr;
  }

  std::shared_ptr<const Rep> rep_;
};

// Shorthands for the codes that code of ours produces.
Status CancelledError(std::string message = "context canceled");
Status DeadlineExceededError(std::string message = "context deadline exceeded");
Status InvalidArgumentError(std::string message);
Status NotFoundError(std::string message);
Status AlreadyExistsError(std::string message);
Status FailedPreconditionError(std::string message);
Status UnavailableError(std::string message);
Status UnimplementedError(std::string message);
Status InternalError(std::string message);
Status UnknownError(std::string message);

// A failed RPC. The message is the whole text that Go programs show, "rpc error: code = <Name> desc
// = <description>" (common 7.5), so that context can be put in front of it; the peer's own words
// are in rpc_error()->description. REQUIRES: grpc_code != 0.
Status RpcStatus(int grpc_code, std::string description);

// A failed system call: code from errno, message "<what>: <strerror>". Reads nothing global.
Status OsStatus(int error_number, std::string_view what);

inline bool IsCancelled(const Status& s) { return s.code() == Code::kCancelled; }
inline bool IsDeadlineExceeded(const Status& s) { return s.code() == Code::kDeadlineExceeded; }

}  // namespace csinative
