// SPDX-License-Identifier: Apache-2.0
#include "test/support/apiserver/list_options.h"

#include <charconv>

#include "lib/base/base64.h"
#include "lib/base/json_string.h"
#include "lib/base/strings.h"

namespace csinative::apiserver {
namespace {

constexpr char kExpiredContinue[] =
    "The provided continue parameter is too old to display a consistent list result. You can start "
    "a new list without the continue parameter, or use the continue token in this response to "
    "retrieve the remainder of the results. Continuing with the provided token results in an "
    "inconsistent list - objects that were created, modified, or deleted between the time the "
    "first chunk was returned and now may show up in the list.";

std::optional<int64_t> ParseNumber(std::string_view text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Failure BadNumber(std::string_view function, std::string_view text) {
  return BadRequest(
      StrCat("strconv.", function, ": parsing ", JsonString(text), ": invalid syntax"));
}

Failure InvalidOption(Cause cause) {
  return Invalid("meta.k8s.io", "ListOptions", "", {std::move(cause)});
}

std::optional<Failure> CheckVersionOptions(const ListOptions& options) {
  const std::string& match = options.resource_version_match;
  auto forbidden = [](std::string field, std::string_view text) {
    return InvalidOption(ForbiddenValue(std::move(field), text));
  };
  if (options.watch) {
    if (!options.send_initial_events && !match.empty()) {
      return forbidden("resourceVersionMatch",
                       "resourceVersionMatch is forbidden for watch unless sendInitialEvents is "
                       "provided");
    }
    if (options.send_initial_events && match != "NotOlderThan") {
      return forbidden("resourceVersionMatch",
                       "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
    }
    return std::nullopt;
  }
  if (options.send_initial_events) {
    return forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list");
  }
  if (match.empty()) return std::nullopt;
  if (options.resource_version.empty()) {
    return forbidden("resourceVersionMatch",
                     "resourceVersionMatch is forbidden unless resourceVersion is provided");
  }
  if (!options.continue_token.empty()) {
    return forbidden("resourceVersionMatch",
                     "resourceVersionMatch is forbidden when continue is "
                     "provided");
  }
  if (match != "Exact" && match != "NotOlderThan") {
    return InvalidOption(
        UnsupportedValue("resourceVersionMatch", JsonString(match), {"Exact", "NotOlderThan", ""}));
  }
  if (match == "Exact" && options.resource_version == "0") {
    return forbidden("resourceVersionMatch",
                     "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
  }
  return std::nullopt;
}

std::optional<Failure> CheckFields(const ResourceInfo& info, const apis::FieldSelector& selector) {
  for (const apis::FieldRequirement& requirement : selector.requirements()) {
    bool known =
        requirement.field == "metadata.name" || (requirement.field == "metadata.namespace");
    for (const auto& [name, path] : info.fields) known = known || name == requirement.field;
    if (known) continue;
    if (info.fields.empty() && !info.custom) {
      return BadRequest(StrCat(JsonString(requirement.field),
                               " is not a known field selector: only \"metadata.name\", "
                               "\"metadata.namespace\""));
    }
    return BadRequest(StrCat("field label not supported: ", requirement.field));
  }
  return std::nullopt;
}

struct ContinueToken {
  int64_t version = 0;
  Collection::Key after;
};

std::string EncodeToken(int64_t version, const Collection::Key& after) {
  return Base64UrlEncode(StrCat("{\"v\":\"meta.k8s.io/v1\",\"rv\":", version, ",\"start\":",
                                JsonString(StrCat(after.first, "/", after.second)), "}"));
}

Outcome<ContinueToken> DecodeToken(std::string_view text) {
  constexpr std::string_view kPrefix = "invalid continue token: continue key is not valid: ";
  Result<std::string> decoded = Base64UrlDecode(text);
  if (!decoded.ok()) return BadRequest(StrCat(kPrefix, decoded.status().message()));
  Result<JsonDocument> document = ParseJson(*decoded);
  if (!document.ok()) {
    return BadRequest(StrCat(kPrefix, "invalid character ", "'",
                             decoded->empty() ? ' ' : (*decoded)[0],
                             "' looking for beginning of value"));
  }
  ContinueToken token;
  token.version = Integer(Find(*document, "rv")).value_or(0);
  std::string_view start = TextAt(*document, "start");
  size_t slash = start.find('/');
  if (slash == std::string_view::npos) return BadRequest(StrCat(kPrefix, "no start"));
  token.after = {std::string(start.substr(0, slash)), std::string(start.substr(slash + 1))};
  return token;
}

Failure TooLarge(int64_t wanted, int64_t current) {
  return Failure{
      .code = 504,
      .reason = "Timeout",
      .message = StrCat("Timeout: Too large resource version: ", wanted, ", current: ", current),
      .causes = {{"ResourceVersionTooLarge", "Too large resource version", ""}},
      .retry_after_seconds = 1};
}

}  // namespace

bool ListOptions::Matches(const Object& object) const {
  if (!namespace_name.empty() && object.namespace_name != namespace_name) return false;
  if (!name.empty() && object.name != name) return false;
  for (const apis::LabelRequirement& requirement : labels.requirements()) {
    const std::string* value = nullptr;
    for (const auto& [key, text] : object.labels) {
      if (key == requirement.key) value = &text;
    }
    if (!requirement.Matches(value)) return false;
  }
  if (fields.MatchesEverything()) return true;
  return fields.Matches([&](std::string_view field) -> std::string {
    for (const auto& [key, text] : object.fields) {
      if (key == field) return text;
    }
    return "";
  });
}

Outcome<ListOptions> ParseListOptions(const ResourceInfo& info, const RequestInfo& request) {
  ListOptions options;
  options.namespace_name = request.namespace_name;
  options.watch = request.verb == "watch";
  if (options.watch) options.name = request.name;
  Result<apis::LabelSelector> labels = apis::LabelSelector::Parse(request.Query("labelSelector"));
  if (!labels.ok()) {
    std::string_view why = labels.status().message();
    constexpr std::string_view kClientWords = "unable to parse requirement: ";
    if (why.starts_with(kClientWords)) why.remove_prefix(kClientWords.size());
    return BadRequest(why);
  }
  options.labels = *labels;
  Result<apis::FieldSelector> fields = apis::FieldSelector::Parse(request.Query("fieldSelector"));
  if (!fields.ok()) return BadRequest(fields.status().message());
  options.fields = *fields;
  for (std::string_view key : {"limit", "timeoutSeconds"}) {
    std::string text = request.Query(key);
    if (text.empty()) continue;
    std::optional<int64_t> value = ParseNumber(text);
    if (!value) return BadNumber("ParseInt", text);
    if (key == "limit") options.limit = *value;
    if (key == "timeoutSeconds") options.timeout_seconds = *value;
  }
  options.continue_token = request.Query("continue");
  options.resource_version = request.Query("resourceVersion");
  options.resource_version_match = request.Query("resourceVersionMatch");
  options.bookmarks = request.QueryBool("allowWatchBookmarks");
  if (request.query.contains("sendInitialEvents")) {
    options.send_initial_events = request.QueryBool("sendInitialEvents");
  }
  if (auto failure = CheckVersionOptions(options)) return *failure;
  if (auto failure = CheckFields(info, options.fields)) return *failure;
  if (!options.resource_version.empty() && !ParseNumber(options.resource_version)) {
    std::string text = StrCat(
        "resourceVersion: Invalid value: ", JsonString(options.resource_version),
        ": strconv.ParseUint: parsing ", JsonString(options.resource_version), ": invalid syntax");
    if (options.watch) return Failure{.code = 500, .reason = "", .message = text};
    return BadRequest("invalid resource version: " + text);
  }
  return options;
}

Outcome<ListResult> List(const ObjectStore& store, const Collection& collection,
                         const ListOptions& options) {
  int64_t version = store.resource_version();
  Collection::Key after;
  bool resume = false;
  const int64_t wanted = ParseNumber(options.resource_version).value_or(0);
  std::optional<std::map<Collection::Key, ObjectPtr>> past;
  if (!options.continue_token.empty()) {
    if (!options.resource_version.empty() && options.resource_version != "0") {
      return BadRequest("specifying resource version is not allowed when using continue");
    }
    Outcome<ContinueToken> token = DecodeToken(options.continue_token);
    if (!token.ok()) return token.failure();
    after = token->after;
    resume = true;
    // A token with version -1 goes on with whatever there is now.
    if (token->version > 0) {
      past = collection.At(token->version);
      if (!past) {
        // The answer names a way on: Status metadata with a token for an inconsistent rest.
        return Expired(kExpiredContinue);
      }
      version = token->version;
    }
  } else if (options.resource_version_match == "Exact") {
    if (wanted > version) return TooLarge(wanted, version);
    past = collection.At(wanted);
    if (!past) return Expired("The resourceVersion for the provided list is too old.");
    version = wanted;
  } else if (wanted > version) {
    return TooLarge(wanted, version);
  }
  const auto& objects = past ? *past : collection.objects();
  auto it = resume ? objects.upper_bound(after) : objects.lower_bound({options.namespace_name, ""});

  ListResult result;
  std::string next;
  int64_t remaining = 0;
  for (; it != objects.end(); ++it) {
    if (!options.namespace_name.empty() && it->first.first != options.namespace_name) break;
    if (!options.Matches(*it->second)) continue;
    if (options.limit > 0 && static_cast<int64_t>(result.items.size()) >= options.limit) {
      ++remaining;
      continue;
    }
    result.items.push_back(it->second);
  }
  if (remaining > 0) {
    const Object& last = *result.items.back();
    next = EncodeToken(version, {last.namespace_name, last.name});
  }
  result.metadata = StrCat("{\"resourceVersion\":\"", version, "\"");
  if (!next.empty()) {
    result.metadata += StrCat(",\"continue\":\"", next, "\"");
    if (!options.HasSelector()) result.metadata += StrCat(",\"remainingItemCount\":", remaining);
  } else if (collection.info().custom) {
    // Lists of custom resources always say so.
    result.metadata += ",\"continue\":\"\"";
  }
  result.metadata += "}";
  return result;
}

}  // namespace csinative::apiserver
