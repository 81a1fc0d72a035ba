// SPDX-License-Identifier: Apache-2.0
#include "test/support/apiserver/negotiation.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <vector>

#include "apis/envelope.h"
#include "lib/base/strings.h"

namespace csinative::apiserver {
namespace {

constexpr std::string_view kJsonType = "application/json";

struct Clause {
  std::string type;
  std::map<std::string, std::string> parameters;
  double quality = 1;
};

Clause ParseClause(std::string_view text) {
  Clause clause;
  bool first = true;
  for (std::string_view part : Split(text, ';')) {
    part = TrimSpace(part);
    if (first) {
      clause.type = ToLower(part);
      first = false;
      continue;
    }
    std::string_view key = part.substr(0, part.find('='));
    std::string value(key.size() < part.size() ? part.substr(key.size() + 1) : "");
    if (key == "q") {
      clause.quality = std::strtod(value.c_str(), nullptr);
    } else {
      clause.parameters[std::string(key)] = value;
    }
  }
  return clause;
}

}  // namespace

std::string BareMediaType(std::string_view content_type) {
  return ToLower(TrimSpace(content_type.substr(0, content_type.find(';'))));
}

std::string_view MediaType(Encoding encoding) {
  return encoding == Encoding::kJson ? kJsonType : apis::kProtobufContentType;
}

std::optional<Negotiated> NegotiateResponse(std::optional<std::string_view> accept,
                                            bool has_protobuf) {
  if (!accept || TrimSpace(*accept).empty()) return Negotiated{};
  std::vector<Clause> clauses;
  for (std::string_view text : Split(*accept, ',')) clauses.push_back(ParseClause(text));
  std::stable_sort(clauses.begin(), clauses.end(),
                   [](const Clause& a, const Clause& b) { return a.quality > b.quality; });
  for (const Clause& clause : clauses) {
    Negotiated result;
    auto as = clause.parameters.find("as");
    if (as != clause.parameters.end()) {
      if (!as->second.starts_with("PartialObjectMetadata")) continue;
      result.metadata_only = true;
    }
    if (clause.type == kJsonType || clause.type == "*/*" || clause.type == "application/*") {
      return result;
    }
    if (clause.type == apis::kProtobufContentType && has_protobuf) {
      result.encoding = Encoding::kProtobuf;
      return result;
    }
  }
  return std::nullopt;
}

std::optional<Encoding> EncodingOfBody(std::optional<std::string_view> content_type,
                                       bool has_protobuf) {
  if (!content_type || content_type->empty()) return Encoding::kJson;
  std::string type = BareMediaType(*content_type);
  if (type == kJsonType) return Encoding::kJson;
  if (type == apis::kProtobufContentType && has_protobuf) return Encoding::kProtobuf;
  return std::nullopt;
}

}  // namespace csinative::apiserver
