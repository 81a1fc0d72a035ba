// SPDX-License-Identifier: Apache-2.0
#include "test/support/apiserver/json.h"

#include "apis/json/parse.h"

namespace csinative::apiserver {
namespace {

Json Name(std::string_view key) {
  return Json(rapidjson::StringRef(key.data() == nullptr ? "" : key.data(), key.size()));
}

}  // namespace

const Json* Find(const Json* object, std::string_view key) {
  if (object == nullptr || !object->IsObject()) return nullptr;
  auto it = object->FindMember(Name(key));
  return it == object->MemberEnd() ? nullptr : &it->value;
}

Json* FindMutable(Json* object, std::string_view key) {
  return const_cast<Json*>(Find(static_cast<const Json*>(object), key));
}

std::string_view Text(const Json* value) {
  if (value == nullptr || !value->IsString()) return {};
  return {value->GetString(), value->GetStringLength()};
}

std::optional<int64_t> Integer(const Json* value) {
  if (value == nullptr || !value->IsInt64()) return std::nullopt;
  return value->GetInt64();
}

bool IsTrue(const Json* value) { return value != nullptr && value->IsTrue(); }

bool IsEmpty(const Json* value) {
  if (value == nullptr || value->IsNull() || value->IsFalse()) return true;
  if (value->IsString()) return value->GetStringLength() == 0;
  if (value->IsArray()) return value->Empty();
  if (value->IsObject()) return value->ObjectEmpty();
  return value->IsNumber() && value->GetDouble() == 0;
}

Json MakeString(std::string_view text, JsonAllocator& allocator) {
  return Json(text.data() == nullptr ? "" : text.data(),
              static_cast<rapidjson::SizeType>(text.size()), allocator);
}

Json Copy(const Json& value, JsonAllocator& allocator) { return Json(value, allocator); }

void Set(Json& object, std::string_view key, Json value, JsonAllocator& allocator) {
  if (Json* present = FindMutable(&object, key)) {
    *present = std::move(value);
  } else {
    object.AddMember(MakeString(key, allocator), std::move(value), allocator);
  }
}

void SetText(Json& object, std::string_view key, std::string_view text, JsonAllocator& allocator) {
  Set(object, key, MakeString(text, allocator), allocator);
}

void SetDefault(Json& object, std::string_view key, Json value, JsonAllocator& allocator) {
  const Json* present = Find(&object, key);
  if (present == nullptr || present->IsNull()) Set(object, key, std::move(value), allocator);
}

void SetDefaultText(Json& object, std::string_view key, std::string_view text,
                    JsonAllocator& allocator) {
  const Json* present = Find(&object, key);
  if (present == nullptr || present->IsNull() || (present->IsString() && IsEmpty(present))) {
    SetText(object, key, text, allocator);
  }
}

bool Remove(Json& object, std::string_view key) {
  return object.IsObject() && object.EraseMember(Name(key));
}

Json& Ensure(Json& object, std::string_view key, JsonAllocator& allocator) {
  Json* present = FindMutable(&object, key);
  if (present == nullptr || !present->IsObject()) {
    Set(object, key, Json(rapidjson::kObjectType), allocator);
    present = FindMutable(&object, key);
  }
  return *present;
}

std::string Dump(const Json& value) { return apis::JsonText(value); }

Result<JsonDocument> ParseJson(std::string_view text) {
  JsonDocument document;
  CSI_RETURN_IF_ERROR(apis::ParseJson(text, &document));
  return document;
}

}  // namespace csinative::apiserver
