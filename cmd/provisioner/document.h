// SPDX-License-Identifier: Apache-2.0
//
// Reading and editing stored documents: objects that are written by PUT as a whole, and kinds that
// have no message here. Pure functions; any thread.
#pragma once

#include <rapidjson/document.h>

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace csinative::provisioner {

using JsonValue = rapidjson::Value;

// The value at a path of member names; null when a step is missing or no object.
const JsonValue* ValueAt(const JsonValue& from, std::initializer_list<std::string_view> path);
// The text there; nothing when there is none.
std::optional<std::string> TextAt(const JsonValue& from,
                                  std::initializer_list<std::string_view> path);

bool HasFinalizer(const JsonValue& object, std::string_view finalizer);

// What to do to a document. False: there is nothing to change, so nothing is written.
using DocumentEdit = std::function<bool(rapidjson::Document*)>;

DocumentEdit RemoveAnnotation(std::string_view key);
DocumentEdit AppendFinalizer(std::string_view finalizer);
DocumentEdit RemoveFinalizer(std::string_view finalizer);

}  // namespace csinative::provisioner
