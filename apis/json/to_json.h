// SPDX-License-Identifier: Apache-2.0
//
// Messages of apis/ to Kubernetes JSON: for CRDs, patches and the embedded API server. Driven by
// the descriptors and apis/options.proto, so it knows every message, including ones added later.
// Any thread.
#pragma once

#include <google/protobuf/message.h>
#include <rapidjson/document.h>

#include <string>
#include <string_view>

namespace csinative::apis {

struct ToJsonOptions {
  // Written in front of the fields when not empty: messages do not hold their own type.
  std::string_view api_version;
  std::string_view kind;
  // Also write what Go writes although it is unset (`"status":{}`, `"attached":false`,
  // `"items":[]`): the bytes an API server sends. Without it unset fields are left out.
  bool like_api_server = false;
  // Write `"creationTimestamp":null` into metadata that has none, as older clients do.
  bool creation_timestamp_null = false;
};

// Fields in the order of the schema, map keys sorted. Strings that are not UTF-8 get U+FFFD in
// place of the bad bytes; a RawExtension that does not hold JSON is null.
void ToJson(const google::protobuf::Message& message, rapidjson::Value* out,
            rapidjson::Document::AllocatorType& allocator, const ToJsonOptions& options = {});
std::string ToJsonString(const google::protobuf::Message& message,
                         const ToJsonOptions& options = {});

}  // namespace csinative::apis
