// SPDX-License-Identifier: Apache-2.0
//
// Kubernetes JSON to messages of apis/: CRDs, JSON answers, and what clients send to the embedded
// API server. Safe for text from anybody. Any thread.
#pragma once

#include <google/protobuf/message.h>
#include <rapidjson/document.h>

#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.h"

namespace csinative::apis {

struct FromJsonOptions {
  // Receives the paths of members that the message does not have ("spec.foo"), except the kind
  // and apiVersion at the top. Borrowed for the call.
  std::vector<std::string>* unknown_fields = nullptr;
};

// Replaces *message. Members that the message does not have are ignored, null is unset, of
// duplicates the last counts. InvalidArgument with the path of the first member whose type or
// text is wrong; *message then holds part of the value.
Status FromJson(const rapidjson::Value& value, google::protobuf::Message* message,
                const FromJsonOptions& options = {});
// ParseJson and FromJson.
Status FromJsonString(std::string_view text, google::protobuf::Message* message,
                      const FromJsonOptions& options = {});

// What an object says it is; empty where it does not say or does not say it with a string.
struct JsonTypeMeta {
  std::string api_version;
  std::string kind;
};
JsonTypeMeta TypeMetaOf(const rapidjson::Value& value);

}  // namespace csinative::apis
