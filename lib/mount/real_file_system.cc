// SPDX-License-Identifier: Apache-2.0
#include "lib/mount/real_file_system.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>

#include "lib/base/strings.h"

namespace csinative::mount {
namespace {

constexpr uint32_t kRootMode = 0750;
constexpr size_t kMaxFile = 1 << 20;
constexpr char kMountInfo[] = "/proc/self/mountinfo";

// Evaluate at the call: errno is what the last system call left.
Status Failed(const char* operation, const std::string& path) {
  const int error = errno;
  return OsStatus(error, StrCat(operation, " ", path));
}

Result<UniqueFd> OpenBeneath(int directory, const char* path, int flags) {
  open_how how = {};
  how.flags = static_cast<uint64_t>(flags | O_CLOEXEC);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  for (;;) {
    const int64_t fd = ::syscall(SYS_openat2, directory, path, &how, sizeof(how));
    if (fd >= 0) return UniqueFd(static_cast<int>(fd));
    // EAGAIN: something was renamed meanwhile.
    if (errno != EINTR && errno != EAGAIN) return Failed("open", path);
  }
}

Result<UniqueFd> OpenRoot(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return Failed("open", path);
  return fd;
}

Result<std::string> RealPath(const std::string& path) {
  char* resolved = ::realpath(path.c_str(), nullptr);
  if (resolved == nullptr) return Failed("resolve", path);
  std::string out(resolved);
  std::free(resolved);
  return out;
}

Status MakeRoot(const std::string& root) {
  for (size_t end = root.find('/', 1);; end = root.find('/', end + 1)) {
    const std::string part = root.substr(0, end);
    if (::mkdir(part.c_str(), kRootMode) != 0 && errno != EEXIST) return Failed("mkdir", part);
    if (end == std::string::npos) return Status();
  }
}

FileType TypeOfMode(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFREG:
      return FileType::kFile;
    case S_IFDIR:
      return FileType::kDirectory;
    case S_IFLNK:
      return FileType::kSymlink;
    case S_IFSOCK:
      return FileType::kSocket;
    case S_IFBLK:
      return FileType::kBlockDevice;
    default:
      return FileType::kOther;
  }
}

FileType TypeOfEntry(int directory, const dirent& entry) {
  switch (entry.d_type) {
    case DT_REG:
      return FileType::kFile;
    case DT_DIR:
      return FileType::kDirectory;
    case DT_LNK:
      return FileType::kSymlink;
    case DT_SOCK:
      return FileType::kSocket;
    case DT_BLK:
      return FileType::kBlockDevice;
    case DT_UNKNOWN: {
      struct stat st = {};
      if (::fstatat(directory, entry.d_name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        return FileType::kOther;
      }
      return TypeOfMode(st.st_mode);
    }
    default:
      return FileType::kOther;
  }
}

// Until the end of the file.
Result<std::string> ReadAll(int fd, const std::string& path, size_t limit) {
  std::string out;
  char buffer[16384];
  for (;;) {
    const ssize_t got = ::read(fd, buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Failed("read", path);
    if (got == 0) return out;
    out.append(buffer, static_cast<size_t>(got));
    if (out.size() > limit) return OsStatus(EFBIG, StrCat("read ", path));
  }
}

Status WriteAll(int fd, const std::string& path, std::string_view content) {
  while (!content.empty()) {
    const ssize_t put = ::write(fd, content.data(), content.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return Failed("write", path);
    content.remove_prefix(static_cast<size_t>(put));
  }
  return Status();
}

// A path of an open descriptor, for calls that take only paths.
std::string ProcPath(const UniqueFd& fd) { return StrCat("/proc/self/fd/", fd.get()); }

}  // namespace

bool IsMissing(const Status& status) {
  return status.os_error() != nullptr && status.os_error()->error_number == ENOENT;
}

bool IsCorruptedMount(const Status& status) {
  if (status.os_error() == nullptr) return false;
  switch (status.os_error()->error_number) {
    case ENOTCONN:
    case ESTALE:
    case EIO:
    case EACCES:
    case EHOSTDOWN:
    case EWOULDBLOCK:
    case ENODEV:
      return true;
    default:
      return false;
  }
}

bool IsPathComponent(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.size() <= NAME_MAX &&
         name.find('/') == std::string_view::npos && name.find('\0') == std::string_view::npos;
}

std::string ParentOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string NameOf(const std::string& path) { return path.substr(path.rfind('/') + 1); }

Status CheckPath(const std::string& root, const std::string& path) {
  bool good = IsAtOrBelow(path, root) && path.size() < PATH_MAX;
  if (good && path.size() > root.size()) {
    const size_t skip = root == "/" ? 1 : root.size() + 1;
    for (std::string_view part : Split(std::string_view(path).substr(skip), '/')) {
      if (!IsPathComponent(part)) good = false;
    }
  }
  if (good) return Status();
  return InvalidArgumentError(StrCat("not a clean path below ", root, ": ", path));
}

Result<std::unique_ptr<RealFileSystem>> RealFileSystem::Open(std::string root) {
  CSI_RETURN_IF_ERROR(CheckPath("/", root));
  CSI_RETURN_IF_ERROR(MakeRoot(root));
  CSI_ASSIGN_OR_RETURN(UniqueFd fd, OpenRoot(root));
  CSI_ASSIGN_OR_RETURN(std::string resolved, RealPath(root));
  // Says early that the kernel is too old.
  CSI_ASSIGN_OR_RETURN(const UniqueFd probe, OpenBeneath(fd.get(), ".", O_PATH));
  return std::unique_ptr<RealFileSystem>(
      new RealFileSystem(std::move(root), std::move(resolved), std::move(fd)));
}

Result<UniqueFd> RealFileSystem::OpenAt(const std::string& path, int flags) const {
  CSI_RETURN_IF_ERROR(CheckPath(root_, path));
  const std::string rest = path.size() > root_.size() ? path.substr(root_.size() + 1) : ".";
  auto fd = OpenBeneath(root_fd_.get(), rest.c_str(), flags);
  // With the whole path in the text.
  if (!fd.ok()) return OsStatus(fd.status().os_error()->error_number, StrCat("open ", path));
  return fd;
}

Result<UniqueFd> RealFileSystem::OpenParent(const std::string& path) const {
  CSI_RETURN_IF_ERROR(CheckPath(root_, path));
  if (path == root_) return InvalidArgumentError(StrCat("not below the root: ", path));
  return OpenAt(ParentOf(path), O_PATH | O_DIRECTORY);
}

Result<FileInfo> RealFileSystem::Stat(const std::string& path) {
  struct stat st = {};
  if (path == root_) {
    if (::fstat(root_fd_.get(), &st) != 0) return Failed("lstat", path);
  } else {
    CSI_ASSIGN_OR_RETURN(const UniqueFd parent, OpenParent(path));
    if (::fstatat(parent.get(), NameOf(path).c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) {
      return Failed("lstat", path);
    }
  }
  FileInfo info;
  info.type = TypeOfMode(st.st_mode);
  info.mode = st.st_mode & 07777;
  info.uid = st.st_uid;
  info.gid = st.st_gid;
  info.inode = st.st_ino;
  info.changed_ns = st.st_ctim.tv_sec * 1000000000LL + st.st_ctim.tv_nsec;
  return info;
}

Result<std::vector<DirectoryEntry>> RealFileSystem::List(const std::string& path) {
  CSI_ASSIGN_OR_RETURN(UniqueFd fd, OpenAt(path, O_RDONLY | O_DIRECTORY));
  DIR* stream = ::fdopendir(fd.get());
  if (stream == nullptr) return Failed("readdir", path);
  (void)fd.release();
  std::vector<DirectoryEntry> entries;
  errno = 0;
  while (const dirent* entry = ::readdir(stream)) {
    if (IsPathComponent(entry->d_name)) {
      entries.push_back({entry->d_name, TypeOfEntry(::dirfd(stream), *entry)});
    }
    errno = 0;
  }
  Status failure = errno == 0 ? Status() : Failed("readdir", path);
  ::closedir(stream);
  if (!failure.ok()) return failure;
  std::sort(entries.begin(), entries.end(),
            [](const DirectoryEntry& a, const DirectoryEntry& b) { return a.name < b.name; });
  return entries;
}

Result<std::string> RealFileSystem::ReadFile(const std::string& path) {
  CSI_ASSIGN_OR_RETURN(const UniqueFd fd, OpenAt(path, O_RDONLY | O_NONBLOCK | O_NOCTTY));
  return ReadAll(fd.get(), path, kMaxFile);
}

Status RealFileSystem::WriteFile(const std::string& path, const std::string& content,
                                 uint32_t mode) {
  CSI_ASSIGN_OR_RETURN(const UniqueFd parent, OpenParent(path));
  const std::string name = NameOf(path);
  const std::string temporary = StrCat(name, kTemporarySuffix);
  if (::unlinkat(parent.get(), temporary.c_str(), 0) != 0 && errno != ENOENT) {
    return Failed("unlink", StrCat(path, kTemporarySuffix));
  }
  const UniqueFd fd(::openat(parent.get(), temporary.c_str(),
                             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
  if (!fd.valid()) return Failed("create", StrCat(path, kTemporarySuffix));
  Status written = WriteAll(fd.get(), path, content);
  if (written.ok() && ::fsync(fd.get()) != 0) written = Failed("fsync", path);
  if (written.ok() &&
      ::renameat(parent.get(), temporary.c_str(), parent.get(), name.c_str()) != 0) {
    written = Failed("rename", path);
  }
  if (!written.ok()) (void)::unlinkat(parent.get(), temporary.c_str(), 0);
  return written;
}

Status RealFileSystem::CreateFile(const std::string& path, uint32_t mode) {
  CSI_ASSIGN_OR_RETURN(const UniqueFd parent, OpenParent(path));
  const UniqueFd fd(::openat(parent.get(), NameOf(path).c_str(),
                             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
  if (fd.valid() || errno == EEXIST) return Status();
  return Failed("create", path);
}

Status RealFileSystem::MakeDirectories(const std::string& path, uint32_t mode) {
  CSI_RETURN_IF_ERROR(CheckPath(root_, path));
  CSI_ASSIGN_OR_RETURN(UniqueFd directory, OpenAt(root_, O_PATH | O_DIRECTORY));
  if (path == root_) return Status();
  for (std::string_view part : Split(std::string_view(path).substr(root_.size() + 1), '/')) {
    const std::string name(part);
    if (::mkdirat(directory.get(), name.c_str(), mode) != 0 && errno != EEXIST) {
      return Failed("mkdir", path);
    }
    auto next = OpenBeneath(directory.get(), name.c_str(), O_PATH | O_DIRECTORY);
    if (!next.ok()) return OsStatus(next.status().os_error()->error_number, "mkdir " + path);
    directory = *std::move(next);
  }
  return Status();
}

Status RealFileSystem::Remove(const std::string& path) {
  CSI_ASSIGN_OR_RETURN(const UniqueFd parent, OpenParent(path));
  const std::string name = NameOf(path);
  if (::unlinkat(parent.get(), name.c_str(), 0) == 0) return Status();
  // Linux says EISDIR, POSIX EPERM.
  if (errno != EISDIR && errno != EPERM) return Failed("remove", path);
  if (::unlinkat(parent.get(), name.c_str(), AT_REMOVEDIR) == 0) return Status();
  return Failed("remove", path);
}

Status RealFileSystem::MakeSymlink(const std::string& target, const std::string& path) {
  CSI_ASSIGN_OR_RETURN(const UniqueFd parent, OpenParent(path));
  if (::symlinkat(target.c_str(), parent.get(), NameOf(path).c_str()) == 0) return Status();
  return Failed("symlink", path);
}

Result<std::string> RealFileSystem::Resolve(const std::string& path) {
  CSI_RETURN_IF_ERROR(CheckPath(root_, path));
  CSI_ASSIGN_OR_RETURN(std::string resolved, RealPath(path));
  if (IsAtOrBelow(resolved, resolved_root_)) {
    return StrCat(root_, std::string_view(resolved).substr(resolved_root_.size()));
  }
  return resolved;
}

Status RealFileSystem::SetGroup(const std::string& path, uint32_t gid) {
  CSI_ASSIGN_OR_RETURN(const UniqueFd parent, OpenParent(path));
  if (::fchownat(parent.get(), NameOf(path).c_str(), static_cast<uid_t>(-1), gid,
                 AT_SYMLINK_NOFOLLOW) == 0) {
    return Status();
  }
  return Failed("lchown", path);
}

Status RealFileSystem::SetMode(const std::string& path, uint32_t mode) {
  CSI_ASSIGN_OR_RETURN(const UniqueFd fd, OpenAt(path, O_PATH | O_NOFOLLOW));
  if (::chmod(ProcPath(fd).c_str(), mode) == 0) return Status();
  return Failed("chmod", path);
}

Result<bool> RealFileSystem::IsMountPoint(const std::string& path) {
  CSI_RETURN_IF_ERROR(CheckPath(root_, path));
  struct statx st = {};
  constexpr int kFlags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC;
  if (path == root_) {
    if (::statx(root_fd_.get(), "", AT_EMPTY_PATH | kFlags, STATX_TYPE, &st) != 0) {
      return Failed("statx", path);
    }
  } else {
    CSI_ASSIGN_OR_RETURN(const UniqueFd parent, OpenParent(path));
    if (::statx(parent.get(), NameOf(path).c_str(), kFlags, STATX_TYPE, &st) != 0) {
      return Failed("statx", path);
    }
  }
  if ((st.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0) {
    return (st.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
  }
  // Linux before 5.8.
  CSI_ASSIGN_OR_RETURN(const MountTable table, ReadMountTable());
  return std::any_of(table.begin(), table.end(),
                     [&](const MountEntry& entry) { return entry.mount_point == path; });
}

Result<MountTable> RealFileSystem::ReadMountTable() {
  // Linux before 5.8 can leave lines out while others are added: read until two reads agree
  // (volumemanager-csi 13).
  std::string last;
  for (int i = 0; i < 10; ++i) {
    const UniqueFd fd(::open(kMountInfo, O_RDONLY | O_CLOEXEC));
    if (!fd.valid()) return Failed("open", kMountInfo);
    CSI_ASSIGN_OR_RETURN(std::string text, ReadAll(fd.get(), kMountInfo, SIZE_MAX));
    if (i > 0 && text == last) break;
    last = std::move(text);
  }
  CSI_ASSIGN_OR_RETURN(MountTable table, ParseMountInfo(last));
  if (resolved_root_ == root_) return table;
  for (MountEntry& entry : table) {
    if (!IsAtOrBelow(entry.mount_point, resolved_root_)) continue;
    entry.mount_point = StrCat(root_, entry.mount_point.substr(resolved_root_.size()));
  }
  return table;
}

Status RealFileSystem::BindMount(const std::string& source, const std::string& target) {
  CSI_ASSIGN_OR_RETURN(const UniqueFd fd, OpenAt(target, O_PATH | O_NOFOLLOW));
  if (::mount(source.c_str(), ProcPath(fd).c_str(), nullptr, MS_BIND, nullptr) == 0) {
    return Status();
  }
  return Failed("bind mount at", target);
}

Status RealFileSystem::Unmount(const std::string& path) {
  // Over the parent: a descriptor of the mount itself would keep it busy.
  CSI_ASSIGN_OR_RETURN(const UniqueFd parent, OpenParent(path));
  const std::string place = StrCat(ProcPath(parent), "/", NameOf(path));
  if (::umount2(place.c_str(), UMOUNT_NOFOLLOW) == 0) return Status();
  return Failed("unmount", path);
}

Status RealFileSystem::ShareRoot() {
  CSI_ASSIGN_OR_RETURN(const MountTable table, ReadMountTable());
  const MountEntry* entry = FindMount(table, root_);
  if (entry != nullptr && entry->IsShared()) return Status();
  const char* root = resolved_root_.c_str();
  if (::mount(root, root, nullptr, MS_BIND, nullptr) != 0) return Failed("bind mount", root_);
  if (::mount(root, root, nullptr, MS_SHARED | MS_REC, nullptr) != 0) {
    return Failed("share mount", root_);
  }
  CSI_ASSIGN_OR_RETURN(root_fd_, OpenRoot(root_));
  return Status();
}

}  // namespace csinative::mount
