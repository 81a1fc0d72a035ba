// SPDX-License-Identifier: Apache-2.0
//
// What the attacher wants to know of its driver (attacher 3). Value.
#pragma once

#include <string>

namespace csinative::attacher {

struct DriverFeatures {
  std::string name;
  // Controller service with PUBLISH_UNPUBLISH_VOLUME. Without it attachments are only marked.
  bool publish_unpublish_volume = false;
  bool publish_readonly = false;
  bool single_node_multi_writer = false;
  // LIST_VOLUMES with LIST_VOLUMES_PUBLISHED_NODES: attachments are compared with the list.
  bool lists_published_nodes = false;
};

}  // namespace csinative::attacher
