// SPDX-License-Identifier: Apache-2.0
#include "lib/base/status.h"

#include <cassert>
#include <cerrno>
#include <system_error>
#include <utility>

namespace csinative {
namespace {

const std::string& EmptyString() {
  static const std::string empty;
  return empty;
}

Code CodeFromErrno(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
    case ESRCH:
    case ENXIO:
      return Code::kNotFound;
    case EEXIST:
      return Code::kAlreadyExists;
    case EACCES:
    case EPERM:
    case EROFS:
      return Code::kPermissionDenied;
    case EINVAL:
    case ENAMETOOLONG:
      return Code::kInvalidArgument;
    case ENOSPC:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EDQUOT:
      return Code::kResourceExhausted;
    case EBUSY:
    case ENOTEMPTY:
      return Code::kFailedPrecondition;
    case ECONNREFUSED:
    case ECONNRESET:
    case EPIPE:
    case EAGAIN:
      return Code::kUnavailable;
    case ETIMEDOUT:
      return Code::kDeadlineExceeded;
    case ENOSYS:
    case EOPNOTSUPP:
      return Code::kUnimplemented;
    case ECANCELED:
      return Code::kCancelled;
    default:
      return Code::kUnknown;
  }
}

}  // namespace

std::string CodeName(int code) {
  static const char* const kNames[] = {
      "OK",       "Canceled",       "Unknown",          "InvalidArgument",   "DeadlineExceeded",
      "NotFound", "AlreadyExists",  "PermissionDenied", "ResourceExhausted", "FailedPrecondition",
      "Aborted",  "OutOfRange",     "Unimplemented",    "Internal",          "Unavailable",
      "DataLoss", "Unauthenticated"};
  if (code >= 0 && code <= 16) return kNames[code];
  // Go prints the code as an unsigned 32-bit number.
  return "Code(" + std::to_string(static_cast<uint32_t>(code)) + ")";
}

std::string CodeName(Code code) { return CodeName(static_cast<int>(code)); }

Status::Status(Code code, std::string message, Detail detail) {
  assert(code != Code::kOk);
  rep_ = std::make_shared<const Rep>(Rep{code, std::move(message), std::move(detail)});
}

const std::string& Status::message() const { return rep_ ? rep_->message : EmptyString(); }

Status Status::WithContext(std::string_view context) const {
  if (ok()) return *this;
  return Status(rep_->code, std::string(context) + ": " + rep_->message, rep_->detail);
}

Status Status::WithMessage(std::string message) const {
  if (ok()) return *this;
  return Status(rep_->code, std::move(message), rep_->detail);
}

std::string Status::ToString() const {
  if (ok()) return "OK";
  return CodeName(rep_->code) + ": " + rep_->message;
}

Status CancelledError(std::string message) { return {Code::kCancelled, std::move(message)}; }
Status DeadlineExceededError(std::string message) {
  return {Code::kDeadlineExceeded, std::move(message)};
}
Status InvalidArgumentError(std::string message) {
  return {Code::kInvalidArgument, std::move(message)};
}
Status NotFoundError(std::string message) { return {Code::kNotFound, std::move(message)}; }
Status AlreadyExistsError(std::string message) {
  return {Code::kAlreadyExists, std::move(message)};
}
Status FailedPreconditionError(std::string message) {
  return {Code::kFailedPrecondition, std::move(message)};
}
Status UnavailableError(std::string message) { return {Code::kUnavailable, std::move(message)}; }
Status UnimplementedError(std::string message) {
  return {Code::kUnimplemented, std::move(message)};
}
Status InternalError(std::string message) { return {Code::kInternal, std::move(message)}; }
Status UnknownError(std::string message) { return {Code::kUnknown, std::move(message)}; }

Status RpcStatus(int grpc_code, std::string description) {
  const Code code =
      grpc_code > 0 && grpc_code <= 16 ? static_cast<Code>(grpc_code) : Code::kUnknown;
  std::string text = "rpc error: code = " + CodeName(grpc_code) + " desc = " + description;
  return Status(code, std::move(text), RpcError{grpc_code, std::move(description)});
}

Status OsStatus(int error_number, std::string_view what) {
  return Status(CodeFromErrno(error_number),
                std::string(what) + ": " + std::generic_category().message(error_number),
                OsError{error_number});
}

}  // namespace csinative
