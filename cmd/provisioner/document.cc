// SPDX-License-Identifier: Apache-2.0
#include "cmd/provisioner/document.h"

namespace csinative::provisioner {
namespace {

JsonValue Reference(std::string_view text) {
  return JsonValue(
      rapidjson::StringRef(text.data(), static_cast<rapidjson::SizeType>(text.size())));
}

JsonValue Copy(std::string_view text, rapidjson::Document* document) {
  return JsonValue(text.data(), static_cast<rapidjson::SizeType>(text.size()),
                   document->GetAllocator());
}

bool IsText(const JsonValue& value, std::string_view text) {
  return value.IsString() && std::string_view(value.GetString(), value.GetStringLength()) == text;
}

JsonValue* MutableAt(rapidjson::Document* document, std::initializer_list<std::string_view> path) {
  return const_cast<JsonValue*>(ValueAt(*document, path));
}

}  // namespace

const JsonValue* ValueAt(const JsonValue& from, std::initializer_list<std::string_view> path) {
  const JsonValue* at = &from;
  for (const std::string_view name : path) {
    if (!at->IsObject()) return nullptr;
    auto member = at->FindMember(Reference(name));
    if (member == at->MemberEnd()) return nullptr;
    at = &member->value;
  }
  return at;
}

std::optional<std::string> TextAt(const JsonValue& from,
                                  std::initializer_list<std::string_view> path) {
  const JsonValue* value = ValueAt(from, path);
  if (value == nullptr || !value->IsString()) return std::nullopt;
  return std::string(value->GetString(), value->GetStringLength());
}

bool HasFinalizer(const JsonValue& object, std::string_view finalizer) {
  const JsonValue* finalizers = ValueAt(object, {"metadata", "finalizers"});
  if (finalizers == nullptr || !finalizers->IsArray()) return false;
  for (const JsonValue& item : finalizers->GetArray()) {
    if (IsText(item, finalizer)) return true;
  }
  return false;
}

DocumentEdit RemoveAnnotation(std::string_view key) {
  return [key = std::string(key)](rapidjson::Document* document) {
    JsonValue* annotations = MutableAt(document, {"metadata", "annotations"});
    return annotations != nullptr && annotations->IsObject() &&
           annotations->EraseMember(Reference(key));
  };
}

DocumentEdit AppendFinalizer(std::string_view finalizer) {
  return [finalizer = std::string(finalizer)](rapidjson::Document* document) {
    if (HasFinalizer(*document, finalizer)) return false;
    JsonValue* metadata = MutableAt(document, {"metadata"});
    if (metadata == nullptr || !metadata->IsObject()) return false;
    auto& allocator = document->GetAllocator();
    JsonValue* finalizers = MutableAt(document, {"metadata", "finalizers"});
    if (finalizers == nullptr || !finalizers->IsArray()) {
      metadata->RemoveMember("finalizers");
      metadata->AddMember("finalizers", JsonValue(rapidjson::kArrayType), allocator);
      finalizers = MutableAt(document, {"metadata", "finalizers"});
    }
    finalizers->PushBack(Copy(finalizer, document), allocator);
    return true;
  };
}

DocumentEdit RemoveFinalizer(std::string_view finalizer) {
  return [finalizer = std::string(finalizer)](rapidjson::Document* document) {
    if (!HasFinalizer(*document, finalizer)) return false;
    JsonValue* finalizers = MutableAt(document, {"metadata", "finalizers"});
    for (auto it = finalizers->Begin(); it != finalizers->End();) {
      it = IsText(*it, finalizer) ? finalizers->Erase(it) : it + 1;
    }
    if (finalizers->Empty()) MutableAt(document, {"metadata"})->RemoveMember("finalizers");
    return true;
  };
}

}  // namespace csinative::provisioner
