// SPDX-License-Identifier: Apache-2.0
//
// The text format of /metrics, byte for byte as Go's client library writes it (common 9.8).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "lib/metrics/registry.h"

namespace csinative::metrics {

// The value of Content-Type when the client asked for no particular escaping.
inline constexpr std::string_view kTextContentType =
    "text/plain; version=0.0.4; charset=utf-8; escaping=underscores";

// All families that have a series, or only the named ones (query name[]). Loop only.
std::string ExposeText(const Registry& registry, std::span<const std::string> only = {});

}  // namespace csinative::metrics
