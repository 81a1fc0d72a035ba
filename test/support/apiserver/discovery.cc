// SPDX-License-Identifier: Apache-2.0
#include "test/support/apiserver/discovery.h"

#include <vector>

#include "lib/base/json_string.h"
#include "lib/base/strings.h"

namespace csinative::apiserver {
namespace {

std::string List(const std::vector<std::string>& texts) {
  std::vector<std::string> quoted;
  for (const std::string& text : texts) quoted.push_back(JsonString(text));
  return StrCat("[", Join(quoted, ","), "]");
}

std::string VersionEntry(const ResourceInfo& info) {
  return StrCat("{\"groupVersion\":\"", info.group_version(), "\",\"version\":\"", info.version,
                "\"}");
}

// Versions of a group in the order they were added.
std::vector<std::string> VersionsOf(const ResourceTable& resources, std::string_view group) {
  std::vector<std::string> entries;
  for (const ResourceInfo* info : resources.All()) {
    if (info->group != group) continue;
    std::string entry = VersionEntry(*info);
    bool seen = false;
    for (const std::string& other : entries) seen = seen || other == entry;
    if (!seen) entries.push_back(std::move(entry));
  }
  return entries;
}

std::string GroupBody(const ResourceTable& resources, std::string_view group) {
  std::vector<std::string> versions = VersionsOf(resources, group);
  return StrCat("\"name\":", JsonString(group), ",\"versions\":[", Join(versions, ","),
                "],\"preferredVersion\":", versions.front());
}

std::string ResourceEntry(const ResourceInfo& info) {
  std::string out = StrCat("{\"name\":\"", info.resource, "\",\"singularName\":\"", info.singular,
                           "\",\"namespaced\":", info.namespaced ? "true" : "false", ",\"kind\":\"",
                           info.kind, "\",\"verbs\":");
  std::vector<std::string> verbs = {"create", "delete", "deletecollection", "get",
                                    "list",   "patch",  "update",           "watch"};
  if (info.custom) {
    verbs = {"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"};
  }
  if (info.resource == "namespaces") verbs.erase(verbs.begin() + 2);
  out += List(verbs);
  if (!info.short_names.empty()) out += ",\"shortNames\":" + List(info.short_names);
  if (!info.categories.empty()) out += ",\"categories\":" + List(info.categories);
  return out + "}";
}

std::string SubresourceEntry(const ResourceInfo& info, std::string_view name) {
  std::string kind = info.kind;
  std::string extra;
  std::vector<std::string> verbs = {"get", "patch", "update"};
  if (name == "token") {
    kind = "TokenRequest";
    extra = "\"group\":\"authentication.k8s.io\",\"version\":\"v1\",";
    verbs = {"create"};
  } else if (name == "binding") {
    kind = "Binding";
    verbs = {"create"};
  } else if (name == "finalize") {
    verbs = {"update"};
  }
  return StrCat("{\"name\":\"", info.resource, "/", name,
                "\",\"singularName\":\"\",\"namespaced\":", info.namespaced ? "true" : "false", ",",
                extra, "\"kind\":\"", kind, "\",\"verbs\":", List(verbs), "}");
}

std::string GroupPath(std::string_view group, std::string_view version) {
  return group.empty() ? StrCat("api/", version) : StrCat("apis/", group, "/", version);
}

}  // namespace

std::string ApiVersions(std::string_view server_address) {
  return StrCat(
      "{\"kind\":\"APIVersions\",\"versions\":[\"v1\"],\"serverAddressByClientCIDRs\":[{"
      "\"clientCIDR\":\"0.0.0.0/0\",\"serverAddress\":",
      JsonString(server_address), "}]}");
}

std::string GroupList(const ResourceTable& resources) {
  std::vector<std::string> names, groups;
  for (const ResourceInfo* info : resources.All()) {
    if (info->group.empty()) continue;
    bool seen = false;
    for (const std::string& name : names) seen = seen || name == info->group;
    if (seen) continue;
    names.push_back(info->group);
    groups.push_back(StrCat("{", GroupBody(resources, info->group), "}"));
  }
  return StrCat("{\"kind\":\"APIGroupList\",\"apiVersion\":\"v1\",\"groups\":[", Join(groups, ","),
                "]}");
}

std::optional<std::string> Group(const ResourceTable& resources, std::string_view group) {
  if (group.empty() || !resources.HasGroup(group)) return std::nullopt;
  return StrCat("{\"kind\":\"APIGroup\",\"apiVersion\":\"v1\",", GroupBody(resources, group), "}");
}

std::optional<std::string> ResourceList(const ResourceTable& resources, std::string_view group,
                                        std::string_view version) {
  if (!resources.HasGroupVersion(group, version)) return std::nullopt;
  std::vector<std::string> entries;
  std::string group_version;
  for (const ResourceInfo* info : resources.All()) {
    if (info->group != group || info->version != version) continue;
    group_version = info->group_version();
    entries.push_back(ResourceEntry(*info));
    for (const std::string& name : info->subresources) {
      entries.push_back(SubresourceEntry(*info, name));
    }
    if (info->has_status) entries.push_back(SubresourceEntry(*info, "status"));
  }
  // The core group's document has no apiVersion.
  return StrCat("{\"kind\":\"APIResourceList\",", group.empty() ? "" : "\"apiVersion\":\"v1\",",
                "\"groupVersion\":\"", group_version, "\",\"resources\":[", Join(entries, ","),
                "]}");
}

std::string Version() {
  return R"({"major":"1","minor":"36","emulationMajor":"1","emulationMinor":"36",)"
         R"("minCompatibilityMajor":"1","minCompatibilityMinor":"35","gitVersion":"v1.36.3",)"
         R"("gitCommit":"embedded","gitTreeState":"","buildDate":"1970-01-01T00:00:00Z",)"
         R"("goVersion":"","compiler":"clang","platform":"linux/amd64"})";
}

std::string OpenApiIndex(const ResourceTable& resources) {
  std::vector<std::string> paths;
  for (const ResourceInfo* info : resources.All()) {
    std::string path = GroupPath(info->group, info->version);
    std::string entry =
        StrCat("\"", path, "\":{\"serverRelativeURL\":\"/openapi/v3/", path, "?hash=0\"}");
    bool seen = false;
    for (const std::string& other : paths) seen = seen || other == entry;
    if (!seen) paths.push_back(std::move(entry));
  }
  return StrCat("{\"paths\":{", Join(paths, ","), "}}");
}

std::optional<std::string> OpenApi(const ResourceTable& resources, std::string_view group,
                                   std::string_view version) {
  if (!resources.HasGroupVersion(group, version)) return std::nullopt;
  std::vector<std::string> paths;
  for (const ResourceInfo* info : resources.All()) {
    if (info->group != group || info->version != version) continue;
    paths.push_back(StrCat("\"/", GroupPath(group, version),
                           info->namespaced ? "/namespaces/{namespace}" : "", "/", info->resource,
                           "/{name}\":{\"patch\":{\"parameters\":[{\"name\":\"",
                           "fieldValidation\",\"in\":\"query\",\"schema\":{\"type\":\"string\"}}],",
                           "\"responses\":{},\"x-kubernetes-action\":\"patch\",",
                           "\"x-kubernetes-group-version-kind\":{\"group\":\"", group,
                           "\",\"version\":\"", version, "\",\"kind\":\"", info->kind, "\"}}}"));
  }
  return StrCat(
      "{\"openapi\":\"3.0.0\",\"info\":{\"title\":\"Kubernetes\",\"version\":\"v1.36.3\"},",
      "\"paths\":{", Join(paths, ","), "},\"components\":{\"schemas\":{}}}");
}

}  // namespace csinative::apiserver
