// SPDX-License-Identifier: Apache-2.0
//
// Where a request goes: paths and queries as values, tested as text (kube-client 7). Any thread.
#pragma once

#include <string>
#include <string_view>

#include "lib/base/random.h"
#include "lib/base/result.h"
#include "lib/kube/client.h"
#include "lib/kube/resource.h"
#include "lib/kube/url.h"

namespace csinative::kube {

// "/api/v1/namespaces/ns/persistentvolumeclaims/name/status", encoded. An empty name means the
// collection, an empty namespace of a namespaced resource all namespaces. kInvalidArgument with
// client-go's text for a name that cannot be a path segment and for a missing namespace.
Result<std::string> BuildPath(std::string_view method, const ResourceInfo& resource,
                              const ObjectName& name, std::string_view subresource);

// Query of a list, sorted; zero values are left out.
QueryParameters ListQuery(const ListOptions& options);

// Adds timeoutSeconds and the equal timeout that client-go sends beside it.
void AddTimeout(QueryParameters& query, int64_t seconds);

// Makes a watch of it, one that the server is asked to end after a random time in [300, 600) s, so
// that servers shed load (kube-client 12).
void AddWatch(QueryParameters& query, Random& random);

}  // namespace csinative::kube
