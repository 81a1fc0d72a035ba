// SPDX-License-Identifier: Apache-2.0
//
// Who manages an object, as a label value: this program, or this program on one node (provisioner
// 22.17). Pure function; any thread.
#pragma once

#include <string>
#include <string_view>

namespace csinative::provisioner {

// "<base>-<node>" in at most 63 characters, the limit of label values: `base` is cut and hashed
// when both do not fit, and `node` is dropped when nothing of `base` would be left.
std::string ManagedBy(std::string_view base, std::string_view node);

}  // namespace csinative::provisioner
