// SPDX-License-Identifier: Apache-2.0
#include "test/support/scripted_driver/script.h"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <fstream>
#include <sstream>

namespace csinative::scripted_driver {
namespace {

using rapidjson::Document;
using rapidjson::Value;
using Allocator = Document::AllocatorType;

constexpr int kUnimplemented = 12;
constexpr int kInternal = 13;

std::string Text(const Value& value) {
  if (value.IsString()) return std::string(value.GetString(), value.GetStringLength());
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  value.Accept(writer);
  return std::string(buffer.GetString(), buffer.GetSize());
}

// The member with a path like "capacity_range.required_bytes", or null.
const Value* Find(const Value& root, std::string_view path) {
  const Value* value = &root;
  while (!path.empty()) {
    const std::string name(path.substr(0, path.find('.')));
    path.remove_prefix(std::min(path.size(), name.size() + 1));
    if (!value->IsObject()) return nullptr;
    auto member = value->FindMember(name.c_str());
    if (member == value->MemberEnd()) return nullptr;
    value = &member->value;
  }
  return value;
}

std::string Interpolate(std::string_view text, const Value& request) {
  std::string out;
  while (true) {
    const size_t begin = text.find("${");
    const size_t end = text.find('}', begin == std::string_view::npos ? 0 : begin);
    if (begin == std::string_view::npos || end == std::string_view::npos) break;
    out += text.substr(0, begin);
    if (const Value* value = Find(request, text.substr(begin + 2, end - begin - 2))) {
      out += Text(*value);
    }
    text.remove_prefix(end + 1);
  }
  return out + std::string(text);
}

// The answer with the request's values; false when nothing is left of it.
bool Fill(const Value& in, const Value& request, Value* out, Allocator& allocator) {
  if (in.IsString()) {
    const std::string text = Text(in);
    const bool alone = text.starts_with("${") && text.find('}') == text.size() - 1;
    if (alone) {
      const Value* value = Find(request, std::string_view(text).substr(2, text.size() - 3));
      if (value == nullptr) return false;
      out->CopyFrom(*value, allocator);
      return true;
    }
    out->SetString(Interpolate(text, request).c_str(), allocator);
    return true;
  }
  if (in.IsObject()) {
    out->SetObject();
    for (const auto& member : in.GetObject()) {
      Value value;
      if (!Fill(member.value, request, &value, allocator)) continue;
      out->AddMember(Value(member.name, allocator), value, allocator);
    }
    return true;
  }
  if (in.IsArray()) {
    out->SetArray();
    for (const Value& item : in.GetArray()) {
      Value value;
      if (Fill(item, request, &value, allocator)) out->PushBack(value, allocator);
    }
    return true;
  }
  out->CopyFrom(in, allocator);
  return true;
}

bool HasMembers(const Value& request, const Value& wanted) {
  for (const auto& member : wanted.GetObject()) {
    const Value* value = Find(request, member.name.GetString());
    if (value == nullptr || *value != member.value) return false;
  }
  return true;
}

bool Contains(const Value& numbers, int number) {
  for (const Value& item : numbers.GetArray()) {
    if (item.IsInt() && item.GetInt() == number) return true;
  }
  return false;
}

}  // namespace

std::optional<std::string> Script::Load() {
  std::ifstream in(file_);
  if (!in) return "cannot read " + file_;
  std::stringstream content;
  content << in.rdbuf();
  if (content.str() == text_ && !text_.empty()) return std::nullopt;
  Document fresh;
  fresh.Parse(content.str().c_str());
  if (fresh.HasParseError() || !fresh.IsObject() || !fresh.HasMember("answers") ||
      !fresh.HasMember("rules")) {
    return "no script in " + file_;
  }
  text_ = content.str();
  document_.Swap(fresh);
  calls_.clear();
  matches_.assign(document_["rules"].Size(), 0);
  return std::nullopt;
}

Reaction Script::React(const std::string& method, const std::string& request_json) {
  std::lock_guard lock(mutex_);
  Reaction reaction;
  if (auto wrong = Load()) {
    reaction.code = kInternal;
    reaction.message = *wrong;
    return reaction;
  }
  reaction.call = ++calls_[method];
  Document request;
  request.Parse(request_json.c_str());

  const Value* rule = nullptr;
  const Value& rules = document_["rules"];
  for (rapidjson::SizeType i = 0; i < rules.Size(); ++i) {
    const Value& candidate = rules[i];
    if (Text(candidate["method"]) != method) continue;
    if (candidate.HasMember("where") && !HasMembers(request, candidate["where"])) continue;
    const int number = ++matches_[i];
    if (candidate.HasMember("calls") && !Contains(candidate["calls"], number)) continue;
    if (rule == nullptr) rule = &candidate;
  }

  const Value* answer = nullptr;
  auto known = document_["answers"].FindMember(method.c_str());
  if (known != document_["answers"].MemberEnd()) answer = &known->value;
  if (rule != nullptr) {
    if (rule->HasMember("delay_ms")) reaction.delay_ms = (*rule)["delay_ms"].GetInt();
    reaction.hang = rule->HasMember("hang") && (*rule)["hang"].GetBool();
    if (rule->HasMember("code")) {
      reaction.code = (*rule)["code"].GetInt();
      reaction.message = Text((*rule)["message"]);
      return reaction;
    }
    if (rule->HasMember("answer")) answer = &(*rule)["answer"];
  }
  if (answer == nullptr) {
    const size_t slash = method.rfind('/');
    reaction.code = kUnimplemented;
    reaction.message = "unknown method " + method.substr(slash + 1) + " for service " +
                       method.substr(1, slash - 1);
    return reaction;
  }
  Document filled;
  Fill(*answer, request, &filled, filled.GetAllocator());
  reaction.answer = Text(filled);
  return reaction;
}

}  // namespace csinative::scripted_driver
