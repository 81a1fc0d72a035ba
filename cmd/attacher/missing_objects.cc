// SPDX-License-Identifier: Apache-2.0
#include "cmd/attacher/missing_objects.h"

namespace csinative::attacher {

void MissingObjects::Note(const std::string& attachment, Kind kind, const std::string& object) {
  Forget(attachment);
  Object missing(kind, object);
  waiting_[missing].insert(attachment);
  objects_.emplace(attachment, std::move(missing));
}

std::vector<std::string> MissingObjects::Take(Kind kind, const std::string& object) {
  const auto waiting = waiting_.find(Object(kind, object));
  if (waiting == waiting_.end()) return {};
  std::vector<std::string> attachments(waiting->second.begin(), waiting->second.end());
  waiting_.erase(waiting);
  for (const std::string& attachment : attachments) objects_.erase(attachment);
  return attachments;
}

void MissingObjects::Forget(const std::string& attachment) {
  const auto known = objects_.find(attachment);
  if (known == objects_.end()) return;
  const auto waiting = waiting_.find(known->second);
  waiting->second.erase(attachment);
  if (waiting->second.empty()) waiting_.erase(waiting);
  objects_.erase(known);
}

}  // namespace csinative::attacher
