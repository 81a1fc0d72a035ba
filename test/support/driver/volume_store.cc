// SPDX-License-Identifier: Apache-2.0
#include "test/support/driver/volume_store.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <rapidjson/document.h>
#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

#include "lib/base/unique_fd.h"
#include "test/support/driver/loop_device.h"
#include "test/support/driver/mounter.h"
#include "test/support/driver/tool.h"

namespace csinative::driver {
namespace {

namespace fs = std::filesystem;
using Writer = rapidjson::PrettyWriter<rapidjson::StringBuffer>;
using StringMap = std::map<std::string, std::string>;

constexpr char kStagedPrefix[] = "staged.";

Status FromErrorCode(const std::error_code& error, const std::string& what) {
  return error ? OsStatus(error.value(), what) : Status();
}

void Put(Writer& w, const char* key, const std::string& value) {
  w.Key(key);
  w.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
}

void Put(Writer& w, const char* key, const StringMap& map) {
  w.Key(key);
  w.StartObject();
  for (const auto& [k, v] : map) Put(w, k.c_str(), v);
  w.EndObject();
}

std::string Text(const rapidjson::Value& object, const char* key) {
  auto it = object.FindMember(key);
  if (it == object.MemberEnd() || !it->value.IsString()) return "";
  return {it->value.GetString(), it->value.GetStringLength()};
}

int64_t Number(const rapidjson::Value& object, const char* key) {
  auto it = object.FindMember(key);
  return it != object.MemberEnd() && it->value.IsInt64() ? it->value.GetInt64() : 0;
}

bool Flag(const rapidjson::Value& object, const char* key) {
  auto it = object.FindMember(key);
  return it != object.MemberEnd() && it->value.IsTrue();
}

StringMap Map(const rapidjson::Value& object, const char* key) {
  StringMap out;
  auto it = object.FindMember(key);
  if (it == object.MemberEnd() || !it->value.IsObject()) return out;
  for (const auto& member : it->value.GetObject()) {
    if (member.value.IsString()) out[member.name.GetString()] = member.value.GetString();
  }
  return out;
}

std::string Describe(const Volume& volume) {
  rapidjson::StringBuffer buffer;
  Writer w(buffer);
  w.StartObject();
  Put(w, "id", volume.id);
  Put(w, "name", volume.name);
  w.Key("capacityBytes");
  w.Int64(volume.capacity_bytes);
  w.Key("block");
  w.Bool(volume.block);
  w.Key("image");
  w.Bool(volume.image);
  Put(w, "fsType", volume.fs_type);
  Put(w, "context", volume.context);
  Put(w, "mutableParameters", volume.mutable_parameters);
  Put(w, "topology", volume.topology);
  Put(w, "sourceSnapshot", volume.source_snapshot);
  Put(w, "sourceVolume", volume.source_volume);
  w.Key("ephemeral");
  w.Bool(volume.ephemeral);
  w.Key("published");
  w.StartObject();
  for (const auto& [node, read_only] : volume.published) {
    w.Key(node.c_str());
    w.Bool(read_only);
  }
  w.EndObject();
  w.EndObject();
  return buffer.GetString();
}

Volume ParseVolume(const rapidjson::Value& json) {
  Volume volume;
  volume.id = Text(json, "id");
  volume.name = Text(json, "name");
  volume.capacity_bytes = Number(json, "capacityBytes");
  volume.block = Flag(json, "block");
  volume.image = Flag(json, "image");
  volume.fs_type = Text(json, "fsType");
  volume.context = Map(json, "context");
  volume.mutable_parameters = Map(json, "mutableParameters");
  volume.topology = Map(json, "topology");
  volume.source_snapshot = Text(json, "sourceSnapshot");
  volume.source_volume = Text(json, "sourceVolume");
  volume.ephemeral = Flag(json, "ephemeral");
  auto published = json.FindMember("published");
  if (published != json.MemberEnd() && published->value.IsObject()) {
    for (const auto& member : published->value.GetObject()) {
      volume.published[member.name.GetString()] = member.value.IsTrue();
    }
  }
  return volume;
}

std::string Describe(const Snapshot& snapshot) {
  rapidjson::StringBuffer buffer;
  Writer w(buffer);
  w.StartObject();
  Put(w, "id", snapshot.id);
  Put(w, "name", snapshot.name);
  Put(w, "sourceVolume", snapshot.source_volume);
  w.Key("sizeBytes");
  w.Int64(snapshot.size_bytes);
  w.Key("creationSeconds");
  w.Int64(snapshot.creation_seconds);
  w.Key("block");
  w.Bool(snapshot.block);
  w.Key("image");
  w.Bool(snapshot.image);
  w.EndObject();
  return buffer.GetString();
}

Snapshot ParseSnapshot(const rapidjson::Value& json) {
  Snapshot snapshot;
  snapshot.id = Text(json, "id");
  snapshot.name = Text(json, "name");
  snapshot.source_volume = Text(json, "sourceVolume");
  snapshot.size_bytes = Number(json, "sizeBytes");
  snapshot.creation_seconds = Number(json, "creationSeconds");
  snapshot.block = Flag(json, "block");
  snapshot.image = Flag(json, "image");
  return snapshot;
}

// Whole or not at all, as seen by a later start of the driver.
Status WriteDescription(const std::string& folder, const std::string& text) {
  const std::string path = folder + "/description.json";
  const std::string temporary = path + ".new";
  {
    std::ofstream out(temporary, std::ios::trunc | std::ios::binary);
    out << text << '\n';
    if (!out.flush()) return OsStatus(errno, "write " + temporary);
  }
  std::error_code error;
  fs::rename(temporary, path, error);
  return FromErrorCode(error, "rename " + temporary);
}

Result<rapidjson::Document> ReadDescription(const fs::path& folder) {
  const fs::path path = folder / "description.json";
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  if (!in) return OsStatus(errno != 0 ? errno : ENOENT, "read " + path.string());
  rapidjson::Document json;
  json.Parse(text.str().c_str());
  if (json.HasParseError() || !json.IsObject()) {
    return InvalidArgumentError("not a description: " + path.string());
  }
  return json;
}

// Writes out what the kernel holds back of an image that is in use, and keeps a mounted filesystem
// still until it is destroyed.
class Quiesced {
 public:
  explicit Quiesced(const std::string& image) {
    Result<std::optional<std::string>> device = FindLoopDevice(image);
    if (!device.ok() || !*device) return;
    struct stat info{};
    if (stat((*device)->c_str(), &info) != 0) return;
    const std::string number =
        std::to_string(major(info.st_rdev)) + ":" + std::to_string(minor(info.st_rdev));
    Result<std::vector<MountEntry>> table = ReadMountTable();
    for (const MountEntry& entry : table.ok() ? *table : std::vector<MountEntry>()) {
      if (entry.device != number) continue;
      mounted_.reset(open(entry.target.c_str(), O_RDONLY | O_CLOEXEC));
      frozen_ = mounted_.valid() && ioctl(mounted_.get(), FIFREEZE, 0) == 0;
      break;
    }
    UniqueFd raw(open((*device)->c_str(), O_RDONLY | O_CLOEXEC));
    if (raw.valid()) fsync(raw.get());
  }
  ~Quiesced() {
    if (frozen_) ioctl(mounted_.get(), FITHAW, 0);
  }
  Quiesced(const Quiesced&) = delete;
  Quiesced& operator=(const Quiesced&) = delete;

 private:
  UniqueFd mounted_;
  bool frozen_ = false;
};

// The data of a volume or snapshot, with owners and holes as they are.
Status CopyData(const std::string& from, const std::string& to) {
  Quiesced quiesced(from + "/image");
  for (const char* part : {"/data", "/image"}) {
    std::error_code error;
    if (!fs::exists(from + part, error)) continue;
    CSI_RETURN_IF_ERROR(
        RunTool({"cp", "-a", "--sparse=always", "--reflink=auto", from + part, to + part}));
  }
  return Status();
}

Status ResizeImage(const std::string& folder, int64_t bytes) {
  const std::string image = folder + "/image";
  UniqueFd fd(open(image.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd.valid()) return OsStatus(errno, "open " + image);
  struct stat info{};
  if (fstat(fd.get(), &info) != 0) return OsStatus(errno, "stat " + image);
  // Sparse: takes no space until it is written. Never shrinks.
  if (info.st_size < bytes && ftruncate(fd.get(), bytes) != 0) {
    return OsStatus(errno, "resize " + image);
  }
  return Status();
}

}  // namespace

Result<VolumeStore> VolumeStore::Open(std::string dir) {
  for (const char* part : {"/volumes", "/snapshots"}) {
    std::error_code error;
    fs::create_directories(dir + part, error);
    if (error) return FromErrorCode(error, "mkdir " + dir + part);
  }
  VolumeStore store(std::move(dir));
  CSI_RETURN_IF_ERROR(store.Load());
  return store;
}

Status VolumeStore::Load() {
  for (const auto& entry : fs::directory_iterator(dir_ + "/volumes")) {
    Result<rapidjson::Document> json = ReadDescription(entry.path());
    if (json.ok()) {
      // Inline volumes belong to the node service alone.
      Volume volume = ParseVolume(*json);
      if (!volume.ephemeral) Keep(std::move(volume));
    } else {
      // Made or removed half-way when the driver died: nobody was told of it.
      CSI_RETURN_IF_ERROR(Remove(entry.path()));
    }
  }
  for (const auto& entry : fs::directory_iterator(dir_ + "/snapshots")) {
    Result<rapidjson::Document> json = ReadDescription(entry.path());
    if (json.ok()) {
      Keep(ParseSnapshot(*json));
    } else {
      CSI_RETURN_IF_ERROR(Remove(entry.path()));
    }
  }
  return Status();
}

const Volume* VolumeStore::FindVolume(const std::string& id) const {
  auto it = volumes_.find(id);
  return it == volumes_.end() ? nullptr : &it->second;
}

const Volume* VolumeStore::FindVolumeByName(const std::string& name) const {
  auto it = volume_by_name_.find(name);
  return it == volume_by_name_.end() ? nullptr : FindVolume(it->second);
}

const Snapshot* VolumeStore::FindSnapshot(const std::string& id) const {
  auto it = snapshots_.find(id);
  return it == snapshots_.end() ? nullptr : &it->second;
}

const Snapshot* VolumeStore::FindSnapshotByName(const std::string& name) const {
  auto it = snapshot_by_name_.find(name);
  return it == snapshot_by_name_.end() ? nullptr : FindSnapshot(it->second);
}

void VolumeStore::Keep(Volume volume) {
  ForgetVolume(volume.id);
  used_bytes_ += volume.capacity_bytes;
  volume_by_name_[volume.name] = volume.id;
  std::string id = volume.id;
  volumes_.emplace(std::move(id), std::move(volume));
}

void VolumeStore::Keep(Snapshot snapshot) {
  snapshot_by_name_[snapshot.name] = snapshot.id;
  std::string id = snapshot.id;
  snapshots_.insert_or_assign(std::move(id), std::move(snapshot));
}

void VolumeStore::ForgetVolume(const std::string& id) {
  auto it = volumes_.find(id);
  if (it == volumes_.end()) return;
  used_bytes_ -= it->second.capacity_bytes;
  volume_by_name_.erase(it->second.name);
  volumes_.erase(it);
}

void VolumeStore::ForgetSnapshot(const std::string& id) {
  auto it = snapshots_.find(id);
  if (it == snapshots_.end()) return;
  snapshot_by_name_.erase(it->second.name);
  snapshots_.erase(it);
}

Result<Volume> VolumeStore::Read(const std::string& folder) {
  Result<rapidjson::Document> json = ReadDescription(folder);
  if (!json.ok()) return NotFoundError("no such volume");
  return ParseVolume(*json);
}

Status VolumeStore::Write(const std::string& folder, const Volume& volume, Data data,
                          const std::string& copy_from) {
  std::error_code error;
  if (data == Data::kCreate) {
    fs::create_directory(folder, error);
    if (error) return FromErrorCode(error, "mkdir " + folder);
    if (!copy_from.empty()) CSI_RETURN_IF_ERROR(CopyData(copy_from, folder));
    if (volume.image) {
      CSI_RETURN_IF_ERROR(ResizeImage(folder, volume.capacity_bytes));
    } else if (!fs::exists(folder + "/data", error)) {
      fs::create_directory(folder + "/data", error);
      if (error) return FromErrorCode(error, "mkdir " + folder + "/data");
    }
  }
  return WriteDescription(folder, Describe(volume));
}

Status VolumeStore::Grow(const std::string& folder, const Volume& volume) {
  if (volume.image) CSI_RETURN_IF_ERROR(ResizeImage(folder, volume.capacity_bytes));
  return WriteDescription(folder, Describe(volume));
}

Status VolumeStore::SetStaged(const std::string& folder, const std::string& node_id, bool staged) {
  const std::string mark = folder + "/" + kStagedPrefix + node_id;
  if (!staged) {
    return unlink(mark.c_str()) == 0 || errno == ENOENT ? Status()
                                                        : OsStatus(errno, "remove " + mark);
  }
  UniqueFd fd(open(mark.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  return fd.valid() ? Status() : OsStatus(errno, "create " + mark);
}

bool VolumeStore::IsStaged(const std::string& folder) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().filename().string().starts_with(kStagedPrefix)) return true;
  }
  return false;
}

Status VolumeStore::Write(const std::string& folder, const Snapshot& snapshot,
                          const std::string& copy_from) {
  std::error_code error;
  fs::create_directory(folder, error);
  if (error) return FromErrorCode(error, "mkdir " + folder);
  CSI_RETURN_IF_ERROR(CopyData(copy_from, folder));
  return WriteDescription(folder, Describe(snapshot));
}

Status VolumeStore::Remove(const std::string& folder) {
  std::error_code error;
  // The description goes first: a folder without one is swept at the next start.
  fs::remove(folder + "/description.json", error);
  fs::remove_all(folder, error);
  return FromErrorCode(error, "remove " + folder);
}

}  // namespace csinative::driver
