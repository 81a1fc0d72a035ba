// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "lib/base/strings.h"
#include "test/cluster/kinds/kinds_check.h"

namespace csinative::kinds {
namespace {

using apiserver::Find;
using apiserver::FindMutable;
using apiserver::Json;

// The object itself, its spec and its status.
void KeepUnknownFields(Json* schema, apiserver::JsonAllocator& allocator) {
  constexpr char kPreserve[] = "x-kubernetes-preserve-unknown-fields";
  apiserver::Set(*schema, kPreserve, Json(true), allocator);
  Json* properties = FindMutable(schema, "properties");
  for (const char* name : {"spec", "status"}) {
    Json* part = FindMutable(properties, name);
    if (part != nullptr) apiserver::Set(*part, kPreserve, Json(true), allocator);
  }
}

}  // namespace

async::Task<Status> InstallDefinitions(Kubectl* kubectl, std::vector<std::string> files) {
  for (const std::string& file : files) {
    CSI_CO_ASSIGN_OR_RETURN(const std::string text,
                            co_await kubectl->Run({"create", "--dry-run=client", "--output=json",
                                                   "--filename=" + file}));
    CSI_CO_ASSIGN_OR_RETURN(JsonDocument definition, apiserver::ParseJson(text));
    Json* versions = FindMutable(FindMutable(&definition, "spec"), "versions");
    if (versions == nullptr || !versions->IsArray()) {
      co_return InvalidArgumentError(StrCat(file, " defines no custom resource"));
    }
    for (Json& version : versions->GetArray()) {
      Json* schema = FindMutable(FindMutable(&version, "schema"), "openAPIV3Schema");
      if (schema == nullptr) co_return InvalidArgumentError(StrCat(file, " has no schema"));
      KeepUnknownFields(schema, definition.GetAllocator());
    }
    CSI_CO_RETURN_IF_ERROR(
        (co_await kubectl->Run({"create"}, apiserver::Dump(definition))).status());
  }
  co_return (co_await kubectl->Run({"wait", "--for=condition=Established", "--timeout=60s",
                                    "customresourcedefinitions", "--all"}))
      .status();
}

}  // namespace csinative::kinds
