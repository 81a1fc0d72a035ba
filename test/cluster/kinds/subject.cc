// SPDX-License-Identifier: Apache-2.0
#include "test/cluster/kinds/subject.h"

#include "apis/json/to_json.h"
#include "lib/base/json_string.h"
#include "lib/base/strings.h"

namespace csinative::kinds {

std::string Subject::Title() const {
  return StrCat(kind->Key(), encoding == kube::Encoding::kJson ? " (JSON)" : " (protobuf)");
}

std::string Subject::Reference(const kube::ObjectName& name) const {
  std::string ns;
  if (!name.ns.empty()) ns = StrCat(R"(,"namespace":)", JsonString(name.ns));
  return StrCat(R"({"apiVersion":)", JsonString(kind->resource->ApiVersion()), R"(,"kind":)",
                JsonString(kind->resource->kind), R"(,"metadata":{"name":)", JsonString(name.name),
                ns, "}}");
}

meta::ObjectMeta* MetadataOf(google::protobuf::Message* message) {
  const auto* field = message->GetDescriptor()->FindFieldByName("metadata");
  return static_cast<meta::ObjectMeta*>(message->GetReflection()->MutableMessage(message, field));
}

const meta::ObjectMeta& MetadataOf(const google::protobuf::Message& message) {
  const auto* field = message.GetDescriptor()->FindFieldByName("metadata");
  return static_cast<const meta::ObjectMeta&>(message.GetReflection()->GetMessage(message, field));
}

JsonDocument DocumentOf(const Subject& subject, const google::protobuf::Message& message) {
  JsonDocument document;
  const std::string api_version = subject.kind->resource->ApiVersion();
  // Of a custom resource the server adds nothing to what is stored.
  apis::ToJson(message, &document, document.GetAllocator(),
               {.api_version = api_version,
                .kind = subject.kind->resource->kind,
                .like_api_server = !subject.kind->custom});
  return document;
}

}  // namespace csinative::kinds
