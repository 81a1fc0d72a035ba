// SPDX-License-Identifier: Apache-2.0
#include "apis/json/parse.h"

#include <rapidjson/error/en.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include "lib/base/utf8.h"

namespace csinative::apis {
namespace {

bool NestsTooDeeply(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (in_string) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        in_string = false;
      }
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kMaxJsonDepth) return true;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

}  // namespace

Status ParseJson(std::string_view text, rapidjson::Document* out) {
  out->SetNull();
  if (NestsTooDeeply(text)) return InvalidArgumentError("invalid JSON: nested too deeply");
  // RapidJSON would take a zero byte for the end of the text.
  if (text.find('\0') != std::string_view::npos) {
    return InvalidArgumentError("invalid JSON: zero byte");
  }
  rapidjson::Document parsed;
  parsed.Parse<rapidjson::kParseFullPrecisionFlag>(text.data(), text.size());
  if (parsed.HasParseError()) {
    return InvalidArgumentError(std::string("invalid JSON: ") +
                                rapidjson::GetParseError_En(parsed.GetParseError()) + " at byte " +
                                std::to_string(parsed.GetErrorOffset()));
  }
  out->Swap(parsed);
  return Status::Ok();
}

std::string JsonText(const rapidjson::Value& value) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  value.Accept(writer);
  return {buffer.GetString(), buffer.GetSize()};
}

std::string CleanUtf8(std::string_view text) {
  if (IsValidUtf8(text)) return std::string(text);
  std::string out;
  while (!text.empty()) {
    Rune rune = DecodeRune(text);
    AppendRune(out, rune.value);  // U+FFFD when it is not valid
    text.remove_prefix(rune.width);
  }
  return out;
}

}  // namespace csinative::apis
