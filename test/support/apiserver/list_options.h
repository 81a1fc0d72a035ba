// SPDX-License-Identifier: Apache-2.0
//
// The query of list, watch and deletecollection requests. Pure functions; any thread.
#pragma once

#include <optional>
#include <string>

#include "apis/meta/v1/labels.h"
#include "test/support/apiserver/failure.h"
#include "test/support/apiserver/object_store.h"
#include "test/support/apiserver/request_info.h"

namespace csinative::apiserver {

struct ListOptions {
  std::string namespace_name;  // empty: all
  std::string name;            // from metadata.name of the URL's old watch form; empty: all
  apis::LabelSelector labels;
  apis::FieldSelector fields;
  int64_t limit = 0;
  std::string continue_token;
  std::string resource_version;
  std::string resource_version_match;
  bool watch = false;
  bool bookmarks = false;
  std::optional<bool> send_initial_events;
  std::optional<int64_t> timeout_seconds;

  bool Matches(const Object& object) const;
  bool HasSelector() const { return !labels.MatchesEverything() || !fields.MatchesEverything(); }
};

Outcome<ListOptions> ParseListOptions(const ResourceInfo& info, const RequestInfo& request);

// A page: what a list answers with.
struct ListResult {
  std::vector<ObjectPtr> items;
  std::string metadata;  // ListMeta as JSON
};
Outcome<ListResult> List(const ObjectStore& store, const Collection& collection,
                         const ListOptions& options);

}  // namespace csinative::apiserver
