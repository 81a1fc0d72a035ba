// SPDX-License-Identifier: Apache-2.0
//
// Percent-encoding as Go's net/url does it, so that requests look the same on the wire. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace csinative::kube {

using QueryParameters = std::vector<std::pair<std::string, std::string>>;

// A path or a segment of one: everything but letters, digits and -_.~$&+,/:;=@ becomes %XX.
std::string EscapePath(std::string_view path);
// Form encoding: space becomes '+', everything but letters, digits and -_.~ becomes %XX.
std::string EscapeQuery(std::string_view text);
// "a=1&b=2" in the given order.
std::string EncodeQuery(const QueryParameters& query);
// Sorts by key; values of one key keep their order, as url.Values.Encode writes them.
void SortQuery(QueryParameters& query);

}  // namespace csinative::kube
