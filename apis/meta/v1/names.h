// SPDX-License-Identifier: Apache-2.0
//
// The shapes that names, label keys and label values must have (kube-client 21). Pure functions;
// any thread.
#pragma once

#include <string_view>

namespace csinative::apis {

// At most 63 of [a-z0-9-], a letter or digit at both ends: namespaces.
bool IsDns1123Label(std::string_view text);
// At most 253; labels joined by dots, each without a length limit of its own: most objects.
bool IsDns1123Subdomain(std::string_view text);
// An optional DNS subdomain and "/", then a name: at most 63 of [A-Za-z0-9_.-] with a letter or
// digit at both ends.
bool IsLabelKey(std::string_view text);
// Empty, or shaped like the name of a label key.
bool IsLabelValue(std::string_view text);

}  // namespace csinative::apis
