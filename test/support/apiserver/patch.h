// SPDX-License-Identifier: Apache-2.0
//
// The patch types of the Kubernetes API, applied to documents (kube-client 18). Pure functions; a
// Failure is what the server answers.
#pragma once

#include "test/support/apiserver/failure.h"
#include "test/support/apiserver/json.h"
#include "test/support/apiserver/resources.h"

namespace csinative::apiserver {

// The server's text for JSON that is none.
std::string JsonSyntaxError(std::string_view text);
// "array", "number", ...: the kind of value in the server's texts.
std::string_view JsonTypeName(const Json& value);

// RFC 6902, with negative array indices as the server's library allows them. 400 for a patch that
// is none, 422 when an operation does not apply.
Outcome<JsonDocument> ApplyJsonPatch(const JsonDocument& current, std::string_view patch);

// RFC 7386.
Outcome<JsonDocument> ApplyMergePatch(const JsonDocument& current, std::string_view patch);
void MergeInto(Json& target, const Json& patch, JsonAllocator& allocator);

// Merges lists by the keys that the kind declares, with the directives $patch, $retainKeys,
// $setElementOrder/<list> and $deleteFromPrimitiveList/<list>.
Outcome<JsonDocument> ApplyStrategicPatch(const ResourceInfo& info, const JsonDocument& current,
                                          std::string_view patch);

}  // namespace csinative::apiserver
