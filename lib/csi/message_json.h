// SPDX-License-Identifier: Apache-2.0
//
// CSI messages as the sidecars log them: compact JSON with sorted proto field names, only populated
// fields, and every field marked csi_secret replaced (common 7.7). Any thread.
#pragma once

#include <google/protobuf/message.h>

#include <string>

namespace csinative::csi {

// The message is not modified. Secrets are found by the field option through reflection, at any
// depth, so a field that a newer specification marks is covered by its declaration alone.
std::string StrippedJson(const google::protobuf::Message& message);

}  // namespace csinative::csi
