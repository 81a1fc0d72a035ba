// SPDX-License-Identifier: Apache-2.0
//
// Patches as the difference of two documents (kube-client 18.3, 18.4). Pure; any thread.
#pragma once

#include <rapidjson/document.h>

#include <string>
#include <string_view>

#include "lib/base/result.h"

namespace csinative::kube {

// What makes `before` into `after` (RFC 7386): lists are replaced as a whole, what is gone is null;
// "{}" if nothing differs. Members are sorted.
std::string MergePatch(const rapidjson::Value& before, const rapidjson::Value& after);

// The same as a strategic merge patch for an object of that kind: lists that the server merges are
// described by what is added, changed and removed, so that somebody else's elements survive.
// kInvalidArgument for an element without its merge key.
Result<std::string> StrategicPatch(std::string_view kind, const rapidjson::Value& before,
                                   const rapidjson::Value& after);

}  // namespace csinative::kube
