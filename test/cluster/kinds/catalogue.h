// SPDX-License-Identifier: Apache-2.0
//
// The kinds that are checked, each with the texts of kinds.json. Any thread.
#pragma once

#include <rapidjson/document.h>

#include <memory>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/kube/resource.h"
#include "test/cluster/kinds/verbs.h"

namespace csinative::kinds {

struct Kind {
  const kube::ResourceInfo* resource = nullptr;
  std::unique_ptr<Verbs> verbs;
  bool custom = false;      // of a CustomResourceDefinition: JSON only, no strategic patches
  bool has_status = false;  // a subresource
  // Members "object": how it is created; "status": the status it gets then, where it has one;
  // "othersStatus": what another writer adds to that; "oursStatus": and we, afterwards. Alive as
  // long as the document.
  const rapidjson::Value* texts = nullptr;

  std::string Key() const;  // "storage.k8s.io/v1 CSINode"
  // Null where there is none.
  const rapidjson::Value* Text(const char* member) const;
};

// Every kind of the resource table but those of group apps, and the events of lib/kube's second
// recorder. kInvalidArgument when a kind has no text, a text no kind, or an object has fields that
// its message does not.
Result<std::vector<Kind>> MakeCatalogue(const rapidjson::Document& texts);

}  // namespace csinative::kinds
