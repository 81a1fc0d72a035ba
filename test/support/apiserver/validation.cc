// SPDX-License-Identifier: Apache-2.0
#include "apis/meta/v1/names.h"
#include "lib/base/json_string.h"
#include "lib/base/strings.h"
#include "test/support/apiserver/kinds.h"

namespace csinative::apiserver {
namespace {

constexpr char kSubdomainText[] =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
constexpr char kLabelText[] =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
constexpr char kQualifiedNameText[] =
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
constexpr char kLabelValueText[] =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  "
    "or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

void ValidateMaps(const Json& metadata, std::vector<Cause>* out) {
  const Json* labels = Find(metadata, "labels");
  if (labels != nullptr && labels->IsObject()) {
    for (const auto& member : labels->GetObject()) {
      if (!apis::IsLabelKey(Text(&member.name))) {
        out->push_back(
            InvalidValue("metadata.labels", JsonString(Text(&member.name)), kQualifiedNameText));
      }
      if (!apis::IsLabelValue(Text(&member.value))) {
        out->push_back(
            InvalidValue("metadata.labels", JsonString(Text(&member.value)), kLabelValueText));
      }
    }
  }
  const Json* annotations = Find(metadata, "annotations");
  if (annotations != nullptr && annotations->IsObject()) {
    for (const auto& member : annotations->GetObject()) {
      if (!apis::IsLabelKey(ToLower(Text(&member.name)))) {
        out->push_back(InvalidValue("metadata.annotations", JsonString(Text(&member.name)),
                                    kQualifiedNameText));
      }
    }
  }
}

void ValidateOwners(const Json& metadata, std::vector<Cause>* out) {
  const Json* owners = Find(metadata, "ownerReferences");
  if (owners == nullptr || !owners->IsArray()) return;
  for (rapidjson::SizeType i = 0; i < owners->Size(); ++i) {
    for (std::string_view key : {"apiVersion", "kind", "name", "uid"}) {
      if (TextAt((*owners)[i], key).empty()) {
        out->push_back(
            InvalidValue(StrCat("metadata.ownerReferences.", key), "\"\"",
                         key == "apiVersion" ? "version must not be empty" : "must not be empty"));
      }
    }
  }
}

void ValidateFinalizers(const Json& metadata, std::vector<Cause>* out) {
  const Json* list = Find(metadata, "finalizers");
  if (list == nullptr || !list->IsArray()) return;
  for (rapidjson::SizeType i = 0; i < list->Size(); ++i) {
    std::string_view name = Text(&(*list)[i]);
    const std::string field = StrCat("metadata.finalizers[", i, "]");
    if (!apis::IsLabelKey(name)) {
      out->push_back(InvalidValue(field, JsonString(name), kQualifiedNameText));
    } else if (name.find('/') == std::string_view::npos && name != "orphan" &&
               name != "foregroundDeletion" && name != "kubernetes") {
      out->push_back(
          InvalidValue(field, JsonString(name),
                       "name is neither a standard finalizer name nor is it fully qualified"));
    }
  }
}

void ValidateMetadata(const ResourceInfo& info, const JsonDocument& document,
                      std::vector<Cause>* out) {
  const Json& metadata = *Find(document, "metadata");
  std::string_view name = TextAt(metadata, "name");
  std::string_view generate_name = TextAt(metadata, "generateName");
  if (name.empty() && generate_name.empty()) {
    out->push_back(RequiredValue("metadata.name", "name or generateName is required"));
  } else if (!name.empty()) {
    if (auto error = NameError(info.name_rule, name)) {
      out->push_back(InvalidValue("metadata.name", JsonString(name), *error));
    }
  }
  ValidateMaps(metadata, out);
  ValidateOwners(metadata, out);
  ValidateFinalizers(metadata, out);
}

// The finalizers that `next` has and `old` lacks, as Go prints them; empty if there are none.
std::string NewFinalizers(const Json* next, const Json* old) {
  std::vector<std::string> added;
  if (next != nullptr && next->IsArray()) {
    for (const Json& finalizer : next->GetArray()) {
      bool found = false;
      if (old != nullptr && old->IsArray()) {
        for (const Json& present : old->GetArray()) found = found || present == finalizer;
      }
      if (!found) added.push_back(JsonString(Text(&finalizer)));
    }
  }
  return added.empty() ? "" : StrCat("[]string{", Join(added, ", "), "}");
}

}  // namespace

std::optional<std::string> NameError(NameRule rule, std::string_view name) {
  switch (rule) {
    case NameRule::kLabel:
      if (name.size() > 63) return "must be no more than 63 bytes";
      if (name.find('.') != std::string_view::npos) return "must not contain dots";
      if (!apis::IsDns1123Label(name)) return kLabelText;
      return std::nullopt;
    case NameRule::kSubdomain:
      if (name.size() > 253) return "must be no more than 253 bytes";
      if (!apis::IsDns1123Subdomain(name)) return kSubdomainText;
      return std::nullopt;
    case NameRule::kPathSegment:
      if (name == "." || name == "..") return StrCat("may not be '", name, "'");
      if (name.find('/') != std::string_view::npos) return "may not contain '/'";
      if (name.find('%') != std::string_view::npos) return "may not contain '%'";
      return std::nullopt;
  }
  return std::nullopt;
}

std::vector<Cause> ValidateCreate(const ResourceInfo& info, const JsonDocument& document) {
  std::vector<Cause> causes;
  ValidateMetadata(info, document, &causes);
  ValidateSpec(info, document, &causes);
  return causes;
}

std::vector<Cause> ValidateUpdate(const ResourceInfo& info, const JsonDocument& next,
                                  const JsonDocument& old, std::string_view subresource) {
  std::vector<Cause> causes;
  const Json& metadata = *Find(next, "metadata");
  const Json& old_metadata = *Find(old, "metadata");
  if (Find(old_metadata, "deletionTimestamp") != nullptr) {
    std::string added =
        NewFinalizers(Find(metadata, "finalizers"), Find(old_metadata, "finalizers"));
    if (!added.empty()) {
      causes.push_back(ForbiddenValue("metadata.finalizers",
                                      StrCat("no new finalizers can be added if the object is "
                                             "being deleted, found new finalizers ",
                                             added)));
    }
  }
  for (std::string_view key : {"name", "namespace", "uid", "creationTimestamp", "deletionTimestamp",
                               "deletionGracePeriodSeconds"}) {
    const Json* value = Find(metadata, key);
    const Json* before = Find(old_metadata, key);
    bool same = value == nullptr || before == nullptr ? value == before : *value == *before;
    if (!same) {
      causes.push_back(InvalidValue(StrCat("metadata.", key), value ? Dump(*value) : "null",
                                    "field is immutable"));
    }
  }
  ValidateMaps(metadata, &causes);
  ValidateOwners(metadata, &causes);
  ValidateFinalizers(metadata, &causes);
  // Core validation runs the metadata checks once more on its own.
  if (info.group.empty()) {
    std::vector<Cause> again = causes;
    causes.insert(causes.end(), again.begin(), again.end());
  }
  if (subresource.empty()) {
    ValidateSpecUpdate(info, next, old, &causes);
  }
  return causes;
}

}  // namespace csinative::apiserver
