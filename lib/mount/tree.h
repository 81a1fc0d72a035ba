// SPDX-License-Identifier: Apache-2.0
//
// Removal that never crosses a mount: user data is never deleted, because it lies behind one.
// Composed of FileSystem calls; blocking pool.
#pragma once

#include <string>

#include "lib/mount/file_system.h"

namespace csinative::mount {

// Removes one entry; one that is not there is fine.
Status RemoveIfPresent(FileSystem& fs, const std::string& path);

// What is left of a volume's directory after the driver let go of <directory>/<leaf>: the leaf,
// then the data file, then the directory (volumemanager-csi 9.3). A leaf that is still a mount
// point stays with all the rest, and that is no failure.
Status RemoveVolumeDirectory(FileSystem& fs, const std::string& directory, const std::string& leaf);

// Removes a tree of directories and files without crossing mounts: one that is met stays with all
// directories above it, and is the failure. Removes all it can and returns the first failure.
Status RemoveTree(FileSystem& fs, const std::string& path);

// Removes directories bottom up where nothing else is in them; anything else stays and is no
// failure. False if something stayed.
bool RemoveEmptyDirectories(FileSystem& fs, const std::string& path);

// Unmounts everything at and below `path`, deepest first.
Status UnmountAll(FileSystem& fs, const std::string& path);

// Undoes the subpaths of a volume, <path>/<container>/<index> (volumemanager 14.3): unmounts them,
// then removes the empty files and directories that they were mounted on, and the directories above
// them. Content was left by nobody who knows these places, so it stays, and is the failure that
// names it, once all else is removed.
Status RemoveSubpaths(FileSystem& fs, const std::string& path);

}  // namespace csinative::mount
