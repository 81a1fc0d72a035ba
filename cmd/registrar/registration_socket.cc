// SPDX-License-Identifier: Apache-2.0
#include "cmd/registrar/registration_socket.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "lib/base/strings.h"

namespace csinative::registrar {
namespace {

// Go's text of an errno.
std::string ErrnoText(int error_number) {
  std::string text = std::generic_category().message(error_number);
  if (!text.empty() && text[0] >= 'A' && text[0] <= 'Z') text[0] += 'a' - 'A';
  return text;
}

// Go: os.Remove, which tries both kinds of removal and tells the error that fits what is there.
Status RemovePath(const std::string& path) {
  if (::unlink(path.c_str()) == 0) return Status();
  const int unlink_error = errno;
  if (::rmdir(path.c_str()) == 0) return Status();
  const int error_number = errno == ENOTDIR ? unlink_error : errno;
  std::string text = StrCat("remove ", path, ": ", ErrnoText(error_number));
  return error_number == ENOENT ? NotFoundError(std::move(text)) : UnknownError(std::move(text));
}

// What is known of a file, in upstream's place for it.
std::string Describe(const struct stat& info) {
  char text[96];
  std::snprintf(text, sizeof text, "&{mode:%#o size:%lld dev:%#llx ino:%llu}", info.st_mode,
                static_cast<long long>(info.st_size), static_cast<unsigned long long>(info.st_dev),
                static_cast<unsigned long long>(info.st_ino));
  return text;
}

class UmaskLimit {
 public:
  explicit UmaskLimit(mode_t mask) : before_(::umask(mask)) {}
  ~UmaskLimit() { ::umask(before_); }
  UmaskLimit(const UmaskLimit&) = delete;
  UmaskLimit& operator=(const UmaskLimit&) = delete;

 private:
  const mode_t before_;
};

}  // namespace

std::string SocketPath(std::string_view directory, std::string_view driver) {
  return StrCat(directory, "/", driver, "-reg.sock");
}

Result<bool> SocketExists(const std::string& path) {
  struct stat info = {};
  // A driver's name may hold a NUL, at which the system would cut the path; Go refuses it.
  const bool whole = path.find('\0') == std::string::npos;
  if (!whole || ::stat(path.c_str(), &info) != 0) {
    const int error_number = whole ? errno : EINVAL;
    if (error_number == ENOENT) return false;
    const std::string why = ErrnoText(error_number);
    return UnknownError(
        StrCat("failed to stat the socket ", path, " with error: stat ", path, ": ", why));
  }
  if (!S_ISSOCK(info.st_mode)) {
    return FailedPreconditionError(
        StrCat("file exists in socketPath ", path, " but it's not a socket.: ", Describe(info)));
  }
  return true;
}

Status RemoveStaleSocket(const std::string& path) {
  CSI_ASSIGN_OR_RETURN(const bool exists, SocketExists(path));
  if (!exists) return Status();
  const Status removed = RemovePath(path);
  if (removed.ok()) return Status();
  return removed.WithMessage(
      StrCat("failed to remove stale socket ", path, " with error: ", removed.message()));
}

Status RegistrationSocket::Create(const std::function<Status()>& listen) {
  {
    const UmaskLimit only_owner(0077);
    CSI_RETURN_IF_ERROR(listen());
  }
  struct stat info = {};
  if (::lstat(path_.c_str(), &info) == 0) created_ = Identity{info.st_dev, info.st_ino};
  return Status();
}

bool RegistrationSocket::Missing() const {
  struct stat info = {};
  return ::lstat(path_.c_str(), &info) != 0 && errno == ENOENT;
}

Result<RegistrationSocket::Removal> RegistrationSocket::Remove() const {
  struct stat info = {};
  if (created_ && ::lstat(path_.c_str(), &info) == 0 && S_ISSOCK(info.st_mode) &&
      (info.st_dev != created_->device || info.st_ino != created_->inode)) {
    return Removal::kNotOurs;
  }
  const Status removed = RemovePath(path_);
  if (removed.code() == Code::kNotFound) return Removal::kMissing;
  if (!removed.ok()) return removed;
  return Removal::kRemoved;
}

}  // namespace csinative::registrar
