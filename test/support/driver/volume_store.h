// SPDX-License-Identifier: Apache-2.0
//
// The sample driver's storage backend: a folder for each volume and snapshot with its data and a
// small description, mirrored in memory. A restarted driver finds all of it again. Nothing is
// synced to disk: a power failure is not modelled. Memory: loop only; the functions that touch data
// run on the blocking pool and are marked.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "proto/csi/v1/csi.pb.h"

namespace csinative::driver {

struct Volume {
  std::string id;
  std::string name;
  int64_t capacity_bytes = 0;
  bool block = false;  // raw, else with a filesystem
  bool image = false;  // the data is the file "image", else the folder "data"
  std::string fs_type;
  std::map<std::string, std::string> context;
  std::map<std::string, std::string> mutable_parameters;
  std::map<std::string, std::string> topology;
  std::string source_snapshot;
  std::string source_volume;
  bool ephemeral = false;
  std::map<std::string, bool> published;  // node id -> read-only
};

struct Snapshot {
  std::string id;
  std::string name;
  std::string source_volume;
  int64_t size_bytes = 0;
  int64_t creation_seconds = 0;
  bool block = false;
  bool image = false;
};

class VolumeStore {
 public:
  // Reads what is below `dir`, which is created. A description that cannot be read is an error.
  static Result<VolumeStore> Open(std::string dir);

  const Volume* FindVolume(const std::string& id) const;
  const Volume* FindVolumeByName(const std::string& name) const;
  const Snapshot* FindSnapshot(const std::string& id) const;
  const Snapshot* FindSnapshotByName(const std::string& name) const;
  // In id order.
  const std::map<std::string, Volume>& volumes() const { return volumes_; }
  const std::map<std::string, Snapshot>& snapshots() const { return snapshots_; }
  int64_t used_bytes() const { return used_bytes_; }

  // Puts a volume into memory, or changes it. Its description must be on disk (Write).
  void Keep(Volume volume);
  void Keep(Snapshot snapshot);
  void ForgetVolume(const std::string& id);
  void ForgetSnapshot(const std::string& id);

  std::string VolumeDir(const std::string& id) const { return dir_ + "/volumes/" + id; }
  std::string SnapshotDir(const std::string& id) const { return dir_ + "/snapshots/" + id; }

  // Blocking pool. What the folder of a volume says now, also if another process has written it.
  // kNotFound without a description.
  static Result<Volume> Read(const std::string& folder);

  // Blocking pool. Description and, when `create` is set, the empty data of a volume; or a copy of
  // the data in `copy_from`.
  enum class Data { kKeep, kCreate };
  static Status Write(const std::string& folder, const Volume& volume, Data data,
                      const std::string& copy_from = "");
  static Status Write(const std::string& folder, const Snapshot& snapshot,
                      const std::string& copy_from);
  // Blocking pool. Grows the data to the size that the description has, and writes that.
  static Status Grow(const std::string& folder, const Volume& volume);
  // Blocking pool. A mark of a node that uses the volume; it survives a crash.
  static Status SetStaged(const std::string& folder, const std::string& node_id, bool staged);
  static bool IsStaged(const std::string& folder);
  // Blocking pool. Removes the folder; Ok when it is not there.
  static Status Remove(const std::string& folder);

 private:
  explicit VolumeStore(std::string dir) : dir_(std::move(dir)) {}
  Status Load();

  std::string dir_;
  std::map<std::string, Volume> volumes_;
  std::map<std::string, Snapshot> snapshots_;
  std::map<std::string, std::string> volume_by_name_;
  std::map<std::string, std::string> snapshot_by_name_;
  int64_t used_bytes_ = 0;
};

}  // namespace csinative::driver
