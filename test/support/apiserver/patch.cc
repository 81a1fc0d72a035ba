// SPDX-License-Identifier: Apache-2.0
#include "test/support/apiserver/patch.h"

#include <charconv>
#include <vector>

#include "lib/base/strings.h"

namespace csinative::apiserver {
namespace {

Failure DoesNotApply(std::string_view why) {
  (void)why;  // the server keeps it to itself
  return Failure{.code = 422,
                 .reason = "Invalid",
                 .message = "the server rejected our request due to an error in our request",
                 .empty_details = true};
}

struct Pointer {
  std::vector<std::string> tokens;
  static Outcome<Pointer> Parse(std::string_view text) {
    Pointer pointer;
    if (text.empty()) return pointer;
    if (text[0] != '/') return DoesNotApply("pointer without a slash");
    for (std::string_view token : Split(text.substr(1), '/')) {
      pointer.tokens.push_back(ReplaceAll(ReplaceAll(token, "~1", "/"), "~0", "~"));
    }
    return pointer;
  }
};

// The index a token means in an array; `size` itself (or "-") is the place behind the last.
std::optional<size_t> Index(std::string_view token, size_t size) {
  if (token == "-") return size;
  int64_t index = 0;
  auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), index);
  if (error != std::errc() || end != token.data() + token.size()) return std::nullopt;
  if (index < 0) index += static_cast<int64_t>(size);
  if (index < 0 || index > static_cast<int64_t>(size)) return std::nullopt;
  return static_cast<size_t>(index);
}

Json* Child(Json* parent, std::string_view token) {
  if (parent->IsObject()) return FindMutable(parent, token);
  if (!parent->IsArray()) return nullptr;
  std::optional<size_t> index = Index(token, parent->Size());
  if (!index || *index >= parent->Size()) return nullptr;
  return &(*parent)[static_cast<rapidjson::SizeType>(*index)];
}

Json* Resolve(Json& document, const Pointer& pointer, size_t depth) {
  Json* at = &document;
  for (size_t i = 0; i < depth && at != nullptr; ++i) at = Child(at, pointer.tokens[i]);
  return at;
}

class JsonPatcher {
 public:
  explicit JsonPatcher(JsonDocument& document)
      : document_(document), allocator_(document.GetAllocator()) {}

  bool Apply(const Json& operation) {
    std::string_view op = TextAt(operation, "op");
    Outcome<Pointer> path = Pointer::Parse(TextAt(operation, "path"));
    if (!path.ok()) return false;
    const Json* value = Find(operation, "value");
    Json null_value;
    if (value == nullptr) value = &null_value;
    if (op == "add") return Add(*path, Copy(*value, allocator_));
    if (op == "remove") return Remove(*path);
    if (op == "replace") {
      Json* target = Resolve(document_, *path, path->tokens.size());
      if (target == nullptr) return false;
      *target = Copy(*value, allocator_);
      return true;
    }
    if (op == "test") {
      Json* target = Resolve(document_, *path, path->tokens.size());
      if (target == nullptr) return value->IsNull();
      return *target == *value;
    }
    if (op != "move" && op != "copy") return false;
    Outcome<Pointer> from = Pointer::Parse(TextAt(operation, "from"));
    if (!from.ok()) return false;
    Json* source = Resolve(document_, *from, from->tokens.size());
    if (source == nullptr) return false;
    Json moved = Copy(*source, allocator_);
    if (op == "move" && !Remove(*from)) return false;
    return Add(*path, std::move(moved));
  }

 private:
  bool Add(const Pointer& path, Json value) {
    if (path.tokens.empty()) {
      static_cast<Json&>(document_) = std::move(value);
      return true;
    }
    Json* parent = Resolve(document_, path, path.tokens.size() - 1);
    if (parent == nullptr) return false;
    const std::string& token = path.tokens.back();
    if (parent->IsObject()) {
      Set(*parent, token, std::move(value), allocator_);
      return true;
    }
    if (!parent->IsArray()) return false;
    std::optional<size_t> index = Index(token, parent->Size());
    if (!index) return false;
    parent->PushBack(std::move(value), allocator_);
    for (size_t i = parent->Size() - 1; i > *index; --i) {
      (*parent)[static_cast<rapidjson::SizeType>(i)].Swap(
          (*parent)[static_cast<rapidjson::SizeType>(i - 1)]);
    }
    return true;
  }

  bool Remove(const Pointer& path) {
    if (path.tokens.empty()) return false;
    Json* parent = Resolve(document_, path, path.tokens.size() - 1);
    if (parent == nullptr) return false;
    const std::string& token = path.tokens.back();
    if (parent->IsObject()) return apiserver::Remove(*parent, token);
    if (!parent->IsArray()) return false;
    std::optional<size_t> index = Index(token, parent->Size());
    if (!index || *index >= parent->Size()) return false;
    parent->Erase(parent->Begin() + *index);
    return true;
  }

  JsonDocument& document_;
  JsonAllocator& allocator_;
};

}  // namespace

std::string JsonSyntaxError(std::string_view text) {
  JsonDocument document;
  document.Parse(text.data() == nullptr ? "" : text.data(), text.size());
  const size_t at = document.GetErrorOffset();
  if (at >= TrimSpace(text).size()) return "unexpected end of JSON input";
  return StrCat("invalid character '", text[at], "' looking for beginning of ",
                at == 0 ? "value" : "object key string");
}

std::string_view JsonTypeName(const Json& value) {
  if (value.IsObject()) return "object";
  if (value.IsArray()) return "array";
  if (value.IsString()) return "string";
  if (value.IsNumber()) return "number";
  return value.IsBool() ? "bool" : "null";
}

Outcome<JsonDocument> ApplyJsonPatch(const JsonDocument& current, std::string_view patch) {
  Result<JsonDocument> operations = ParseJson(patch);
  if (!operations.ok()) {
    return BadRequest(StrCat("error decoding patch: ", JsonSyntaxError(patch)));
  }
  if (!operations->IsArray()) {
    return BadRequest(StrCat("error decoding patch: json: cannot unmarshal ",
                             JsonTypeName(*operations),
                             " into Go value of type []handlers.jsonPatchOp"));
  }
  JsonDocument result;
  result.CopyFrom(current, result.GetAllocator());
  JsonPatcher patcher(result);
  for (const Json& operation : operations->GetArray()) {
    if (!operation.IsObject() || !patcher.Apply(operation)) return DoesNotApply("operation");
  }
  return result;
}

void MergeInto(Json& target, const Json& patch, JsonAllocator& allocator) {
  if (!patch.IsObject()) {
    target = Copy(patch, allocator);
    return;
  }
  if (!target.IsObject()) target.SetObject();
  for (const auto& member : patch.GetObject()) {
    std::string_view key = Text(&member.name);
    if (member.value.IsNull()) {
      Remove(target, key);
      continue;
    }
    Json* present = FindMutable(&target, key);
    if (present == nullptr) {
      Set(target, key, Json(), allocator);
      present = FindMutable(&target, key);
    }
    MergeInto(*present, member.value, allocator);
  }
}

Outcome<JsonDocument> ApplyMergePatch(const JsonDocument& current, std::string_view patch) {
  Result<JsonDocument> changes = ParseJson(patch);
  if (!changes.ok()) {
    return BadRequest(StrCat("error decoding patch: ", JsonSyntaxError(patch)));
  }
  if (!changes->IsObject()) {
    return BadRequest(StrCat("error decoding patch: json: cannot unmarshal ",
                             JsonTypeName(*changes),
                             " into Go value of type map[string]interface {}"));
  }
  JsonDocument result;
  result.CopyFrom(current, result.GetAllocator());
  MergeInto(result, *changes, result.GetAllocator());
  return result;
}

}  // namespace csinative::apiserver
