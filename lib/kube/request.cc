// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/request.h"

#include "lib/base/go_duration.h"
#include "lib/base/go_quote.h"
#include "lib/base/strings.h"

namespace csinative::kube {
namespace {

// What is wrong with a path segment, as apimachinery's validation/path says it; empty if nothing.
std::string SegmentProblems(std::string_view segment) {
  if (segment == "." || segment == "..") return StrCat("[may not be '", segment, "']");
  std::string problems;
  for (char c : {'/', '%'}) {
    if (segment.find(c) == std::string_view::npos) continue;
    if (!problems.empty()) problems += ' ';
    problems += StrCat("may not contain '", c, "'");
  }
  return problems.empty() ? problems : StrCat("[", problems, "]");
}

Status CheckSegment(std::string_view what, std::string_view segment) {
  const std::string problems = SegmentProblems(segment);
  if (problems.empty()) return Status();
  return InvalidArgumentError(StrCat("invalid ", what, " ", GoQuote(segment), ": ", problems));
}

}  // namespace

Result<std::string> BuildPath(std::string_view method, const ResourceInfo& resource,
                              const ObjectName& name, std::string_view subresource) {
  CSI_RETURN_IF_ERROR(CheckSegment("namespace", name.ns));
  CSI_RETURN_IF_ERROR(CheckSegment("resource", resource.plural));
  CSI_RETURN_IF_ERROR(CheckSegment("resource name", name.name));
  CSI_RETURN_IF_ERROR(CheckSegment("subresource", subresource));
  if (resource.namespaced && name.ns.empty()) {
    if (!name.name.empty()) {
      return InvalidArgumentError(
          "an empty namespace may not be set when a resource name is provided");
    }
    if (method == "POST") {
      return InvalidArgumentError("an empty namespace may not be set during creation");
    }
  }
  const bool needs_name = method == "PUT" || method == "PATCH" || !subresource.empty();
  if (needs_name && name.name.empty()) {
    return InvalidArgumentError("resource name may not be empty");
  }
  std::string path = resource.group.empty()
                         ? StrCat("/api/", resource.version)
                         : StrCat("/apis/", resource.group, "/", resource.version);
  if (resource.namespaced && !name.ns.empty()) path += StrCat("/namespaces/", name.ns);
  path += StrCat("/", resource.plural);
  if (!name.name.empty()) path += StrCat("/", name.name);
  if (!subresource.empty()) path += StrCat("/", subresource);
  return EscapePath(path);
}

QueryParameters ListQuery(const ListOptions& options) {
  QueryParameters query;
  const auto add = [&query](std::string key, const std::string& value) {
    if (!value.empty()) query.emplace_back(std::move(key), value);
  };
  add("continue", options.continue_token);
  add("fieldSelector", options.field_selector);
  add("labelSelector", options.label_selector);
  if (options.limit > 0) add("limit", StrCat(options.limit));
  add("resourceVersion", options.resource_version.value_or(""));
  add("resourceVersionMatch", options.resource_version_match);
  return query;
}

void AddTimeout(QueryParameters& query, int64_t seconds) {
  query.emplace_back("timeoutSeconds", StrCat(seconds));
  query.emplace_back("timeout", FormatGoDuration(std::chrono::seconds(seconds)));
}

void AddWatch(QueryParameters& query, Random& random) {
  constexpr int64_t kMinSeconds = 300;
  query.emplace_back("watch", "true");
  AddTimeout(query, kMinSeconds + static_cast<int64_t>(random.Below(kMinSeconds)));
}

}  // namespace csinative::kube
