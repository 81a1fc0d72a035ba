// SPDX-License-Identifier: Apache-2.0
//
// A cache corrected by what this process has just written: until the informer has caught up, the
// answer to our own patch counts. So a second pass over an attachment does not repeat the publish
// that the first one has recorded (attacher 7.2), and patches are computed from the newest copy.
// Loop only.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "lib/kube/informer.h"

namespace csinative::attacher {

// Resource versions of one object count up. Versions that are no numbers are never older: the cache
// then counts.
bool IsOlderVersion(std::string_view version, std::string_view than);

template <typename T>
class RecentObjects {
 public:
  // `cache` outlives this.
  explicit RecentObjects(const kube::Informer<T>& cache) : cache_(cache) {}

  // A copy; nothing when the cache does not have the object.
  std::optional<T> Get(const std::string& name) const {
    std::optional<T> cached = cache_.Get(name);
    auto it = written_.find(name);
    if (cached && it != written_.end() && IsNewer(it->second, *cached)) return it->second;
    return cached;
  }
  // The answer to a patch.
  void Remember(T written) {
    const std::string name = written.metadata().name();
    const std::optional<T> cached = cache_.Get(name);
    // The object may have gone while the patch was on its way: then nobody would forget it.
    if (cached && IsNewer(written, *cached)) written_.insert_or_assign(name, std::move(written));
  }
  // The cache has this object now.
  void Seen(const T& object) {
    auto it = written_.find(object.metadata().name());
    if (it != written_.end() && !IsNewer(it->second, object)) written_.erase(it);
  }
  void Gone(const std::string& name) { written_.erase(name); }
  size_t size() const { return written_.size(); }

 private:
  static bool IsNewer(const T& written, const T& cached) {
    return written.metadata().uid() == cached.metadata().uid() &&
           IsOlderVersion(cached.metadata().resourceversion(),
                          written.metadata().resourceversion());
  }

  const kube::Informer<T>& cache_;
  std::map<std::string, T> written_;  // by name
};

}  // namespace csinative::attacher
