// SPDX-License-Identifier: Apache-2.0
//
// vol_data.json: what a volume manager must know of a mounted volume when it has lost its memory
// (volumemanager-csi 2.3). Pure apart from FileSystem; blocking pool.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "lib/base/result.h"
#include "lib/mount/file_system.h"

namespace csinative::mount {

using VolumeData = std::map<std::string, std::string>;

inline constexpr char kVolumeDataFile[] = "vol_data.json";

namespace volume_data {
inline constexpr char kSpecName[] = "specVolID";
inline constexpr char kHandle[] = "volumeHandle";
inline constexpr char kDriver[] = "driverName";
inline constexpr char kNode[] = "nodeName";
inline constexpr char kAttachment[] = "attachmentID";
inline constexpr char kLifecycle[] = "volumeLifecycleMode";
inline constexpr char kSelinuxContext[] = "seLinuxMountContext";
}  // namespace volume_data

// To the byte what upstream writes: sorted keys, Go's escapes, one newline at the end.
std::string FormatVolumeData(const VolumeData& data);
// The first JSON value of the text must be an object of strings.
Result<VolumeData> ParseVolumeData(std::string_view text);

// Writes <directory>/vol_data.json unless it says the same already.
Status SaveVolumeData(FileSystem& fs, const std::string& directory, const VolumeData& data);
// A missing file keeps its IsMissing().
Result<VolumeData> LoadVolumeData(FileSystem& fs, const std::string& directory);

}  // namespace csinative::mount
