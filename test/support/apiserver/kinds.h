// SPDX-License-Identifier: Apache-2.0
//
// Where kinds differ: defaults, which fields a write may touch, and validation, as Kubernetes 1.36
// has them. Only the rules that storage components meet. Pure functions on documents in normal
// form (codec.h); any thread.
#pragma once

#include <string_view>
#include <vector>

#include "test/support/apiserver/failure.h"
#include "test/support/apiserver/json.h"
#include "test/support/apiserver/resources.h"

namespace csinative::apiserver {

// Fills in what the API's defaulting fills in, on every write.
void ApplyDefaults(const ResourceInfo& info, JsonDocument& document);
// Fields that only exist once the server has seen the object: initial status, protection
// finalizers, generation. `now` in RFC 3339.
void PrepareForCreate(const ResourceInfo& info, JsonDocument& document, std::string_view now);
// Takes back from `next` what this endpoint may not change. `subresource` is "" or "status".
void PrepareForUpdate(const ResourceInfo& info, JsonDocument& next, const JsonDocument& old,
                      std::string_view subresource, std::string_view now);

std::vector<Cause> ValidateCreate(const ResourceInfo& info, const JsonDocument& document);
std::vector<Cause> ValidateUpdate(const ResourceInfo& info, const JsonDocument& next,
                                  const JsonDocument& old, std::string_view subresource);

// True while a deletion of the object must wait.
bool HasFinalizers(const ResourceInfo& info, const Json& document);

// Null when `name` may name an object of this kind, else the server's explanation.
std::optional<std::string> NameError(NameRule rule, std::string_view name);

// Spec rules of single kinds; part of ValidateCreate and ValidateUpdate.
void ValidateSpec(const ResourceInfo& info, const JsonDocument& document, std::vector<Cause>* out);
void ValidateSpecUpdate(const ResourceInfo& info, const JsonDocument& next, const JsonDocument& old,
                        std::vector<Cause>* out);

}  // namespace csinative::apiserver
