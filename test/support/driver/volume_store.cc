// SPDX-License-Identifier: Apache-2.0
#include "test/support/driver/volume_store.h"

#include <rapidjson/document.h>
#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

namespace csinative::driver {
namespace {

namespace fs = std::filesystem;
using Writer = rapidjson::PrettyWriter<rapidjson::StringBuffer>;
using StringMap = std::map<std::string, std::string>;

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

// The data of a volume or snapshot: the folder "data" and the file "image", whichever is there.
Status CopyData(const std::string& from, const std::string& to) {
  for (const char* part : {"/data", "/image"}) {
    std::error_code error;
    if (!fs::exists(from + part, error)) continue;
    fs::copy(from + part, to + part,
             fs::copy_options::recursive | fs::copy_options::copy_symlinks |
                 fs::copy_options::overwrite_existing,
             error);
    if (error) return FromErrorCode(error, "copy " + from + part);
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
      Keep(ParseVolume(*json));
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

Status VolumeStore::Write(const std::string& folder, const Volume& volume, Data data,
                          const std::string& copy_from) {
  std::error_code error;
  if (data == Data::kCreate) {
    fs::create_directory(folder, error);
    if (error) return FromErrorCode(error, "mkdir " + folder);
    if (!copy_from.empty()) CSI_RETURN_IF_ERROR(CopyData(copy_from, folder));
    const std::string image = folder + "/image";
    if (volume.block) {
      if (!fs::exists(image, error)) std::ofstream(image, std::ios::app | std::ios::binary);
      // Sparse: takes no space until it is written.
      fs::resize_file(image, static_cast<uintmax_t>(volume.capacity_bytes), error);
      if (error) return FromErrorCode(error, "resize " + image);
    } else if (!fs::exists(folder + "/data", error)) {
      fs::create_directory(folder + "/data", error);
      if (error) return FromErrorCode(error, "mkdir " + folder + "/data");
    }
  }
  return WriteDescription(folder, Describe(volume));
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
