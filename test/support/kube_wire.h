// SPDX-License-Identifier: Apache-2.0
//
// What API servers send, made from messages: bodies, lists and watch frames in both encodings. For
// tests of the client.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apis/envelope.h"
#include "apis/json/to_json.h"
#include "apis/meta/v1/meta.pb.h"
#include "apis/namespaces.h"
#include "lib/base/strings.h"
#include "lib/kube/resource.h"
#include "lib/kube/transport.h"

namespace csinative::testing {

inline constexpr std::string_view kProtobuf = apis::kProtobufContentType;
inline constexpr std::string_view kJson = "application/json";

template <typename T>
std::string EnvelopeOf(const T& object) {
  const kube::ResourceInfo& info = kube::ResourceOf<T>();
  return apis::Wrap(info.ApiVersion(), info.kind, object);
}

template <typename T>
std::string JsonOf(const T& object) {
  const kube::ResourceInfo& info = kube::ResourceOf<T>();
  const std::string api_version = info.ApiVersion();
  return apis::ToJsonString(object, {.api_version = api_version, .kind = info.kind});
}

template <typename T>
kube::ApiResponse ProtobufAnswer(const T& object, int code = 200) {
  return {.code = code, .content_type = std::string(kProtobuf), .body = EnvelopeOf(object)};
}
kube::ApiResponse JsonAnswer(std::string body, int code = 200);

meta::Status FailureStatus(int code, std::string reason, std::string message);
kube::ApiResponse ProtobufFailure(int code, std::string reason, std::string message);

// The body of a list: envelope, or JSON.
std::string ProtobufListBody(std::string_view api_version, std::string_view list_kind,
                             const meta::ListMeta& metadata, const std::vector<std::string>& items);
meta::ListMeta ListMetadata(std::string resource_version, std::string continue_token = "");

template <typename T>
kube::ApiResponse ProtobufList(std::string resource_version, const std::vector<T>& items,
                               std::string continue_token = "") {
  const kube::ResourceInfo& info = kube::ResourceOf<T>();
  std::vector<std::string> raw;
  for (const T& item : items) raw.push_back(item.SerializePartialAsString());
  return {.code = 200,
          .content_type = std::string(kProtobuf),
          .body = ProtobufListBody(
              info.ApiVersion(), StrCat(info.kind, "List"),
              ListMetadata(std::move(resource_version), std::move(continue_token)), raw)};
}

// One frame of a protobuf watch.
template <typename T>
std::string Frame(std::string_view type, const T& object) {
  std::string out;
  apis::AppendWatchFrame(type, EnvelopeOf(object), &out);
  return out;
}
std::string ErrorFrame(const meta::Status& status);

// A BOOKMARK frame; with the annotation that ends the initial events if `annotation` is not empty.
template <typename T>
std::string BookmarkFrame(std::string resource_version, std::string annotation = "") {
  T object;
  object.mutable_metadata()->set_resourceversion(std::move(resource_version));
  if (!annotation.empty()) {
    auto* entry = object.mutable_metadata()->add_annotations();
    entry->set_key("k8s.io/initial-events-end");
    entry->set_value(std::move(annotation));
  }
  return Frame("BOOKMARK", object);
}

}  // namespace csinative::testing
