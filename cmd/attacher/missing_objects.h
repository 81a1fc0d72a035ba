// SPDX-License-Identifier: Apache-2.0
//
// Which attachments wait for an object that is not there: tried as soon as it comes, not when their
// back-off ends. Never more entries than attachments. Loop only.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace csinative::attacher {

class MissingObjects {
 public:
  // kCsiNode also stands for the driver's entry in it.
  enum class Kind { kVolume, kCsiNode };

  // Replaces what the attachment waited for before: an attempt ends at the first thing it misses.
  void Note(const std::string& attachment, Kind kind, const std::string& object);
  // The object is there: names of those that waited for it, which they no longer do.
  std::vector<std::string> Take(Kind kind, const std::string& object);
  // The attachment waits for nothing.
  void Forget(const std::string& attachment);
  size_t size() const { return objects_.size(); }

 private:
  using Object = std::pair<Kind, std::string>;
  std::map<std::string, Object> objects_;            // by attachment
  std::map<Object, std::set<std::string>> waiting_;  // the same, the other way round
};

}  // namespace csinative::attacher
