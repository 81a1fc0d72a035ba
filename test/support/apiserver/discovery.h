// SPDX-License-Identifier: Apache-2.0
//
// What the server says about itself: groups, resources, version, and as much OpenAPI as kubectl
// needs to leave validation to the server. Pure functions; JSON text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "test/support/apiserver/resources.h"

namespace csinative::apiserver {

std::string ApiVersions(std::string_view server_address);
std::string GroupList(const ResourceTable& resources);
// nullopt: not served.
std::optional<std::string> Group(const ResourceTable& resources, std::string_view group);
std::optional<std::string> ResourceList(const ResourceTable& resources, std::string_view group,
                                        std::string_view version);
std::string Version();
std::string OpenApiIndex(const ResourceTable& resources);
std::optional<std::string> OpenApi(const ResourceTable& resources, std::string_view group,
                                   std::string_view version);

}  // namespace csinative::apiserver
