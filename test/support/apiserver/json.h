// SPDX-License-Identifier: Apache-2.0
//
// Short forms for reading and changing RapidJSON documents: what the API server does to objects all
// day. Any thread that owns the document.
#pragma once

#include <rapidjson/document.h>

#include <optional>
#include <string>
#include <string_view>

#include "lib/base/result.h"

namespace csinative::apiserver {

using Json = rapidjson::Value;
using JsonDocument = rapidjson::Document;
using JsonAllocator = JsonDocument::AllocatorType;

// The member, or null if `object` is null, no object, or has none of that name.
const Json* Find(const Json* object, std::string_view key);
inline const Json* Find(const Json& object, std::string_view key) { return Find(&object, key); }
template <typename... Keys>
const Json* Find(const Json& object, std::string_view key, Keys... rest) {
  const Json* child = Find(&object, key);
  return child == nullptr ? nullptr : Find(*child, rest...);
}
Json* FindMutable(Json* object, std::string_view key);

// Text of a string value; empty for anything else, null included.
std::string_view Text(const Json* value);
template <typename... Keys>
std::string_view TextAt(const Json& object, Keys... keys) {
  return Text(Find(object, keys...));
}
// An integer value.
std::optional<int64_t> Integer(const Json* value);
bool IsTrue(const Json* value);
// Absent, null, false, zero, "", [] or {}: what Go's omitempty leaves out of a struct field.
bool IsEmpty(const Json* value);

// A copy of text, owned by the allocator.
Json MakeString(std::string_view text, JsonAllocator& allocator);
Json Copy(const Json& value, JsonAllocator& allocator);

// Replaces or adds a member. REQUIRES: object is an object.
void Set(Json& object, std::string_view key, Json value, JsonAllocator& allocator);
void SetText(Json& object, std::string_view key, std::string_view text, JsonAllocator& allocator);
// Adds the member unless it is present and not null.
void SetDefault(Json& object, std::string_view key, Json value, JsonAllocator& allocator);
void SetDefaultText(Json& object, std::string_view key, std::string_view text,
                    JsonAllocator& allocator);
// True if there was one.
bool Remove(Json& object, std::string_view key);
// The member as an object; an absent or null one is created.
Json& Ensure(Json& object, std::string_view key, JsonAllocator& allocator);

std::string Dump(const Json& value);
// kInvalidArgument: not one JSON value, or nested too deeply.
Result<JsonDocument> ParseJson(std::string_view text);

}  // namespace csinative::apiserver
