// SPDX-License-Identifier: Apache-2.0
#include "cmd/provisioner/secret_templates.h"

#include "apis/core/v1/maps.h"
#include "apis/meta/v1/names.h"
#include "cmd/provisioner/template_expansion.h"
#include "lib/base/strings.h"

namespace csinative::provisioner {

namespace secret_kind {
const SecretKeys kDefault{"default", "csi.storage.k8s.io/secret-name",
                          "csi.storage.k8s.io/secret-namespace", "", ""};
const SecretKeys kProvisioner{"provisioner", "csi.storage.k8s.io/provisioner-secret-name",
                              "csi.storage.k8s.io/provisioner-secret-namespace",
                              "csiProvisionerSecretName", "csiProvisionerSecretNamespace"};
const SecretKeys kControllerPublish{
    "controller publish", "csi.storage.k8s.io/controller-publish-secret-name",
    "csi.storage.k8s.io/controller-publish-secret-namespace", "csiControllerPublishSecretName",
    "csiControllerPublishSecretNamespace"};
const SecretKeys kNodeStage{"node stage", "csi.storage.k8s.io/node-stage-secret-name",
                            "csi.storage.k8s.io/node-stage-secret-namespace",
                            "csiNodeStageSecretName", "csiNodeStageSecretNamespace"};
const SecretKeys kNodePublish{"node publish", "csi.storage.k8s.io/node-publish-secret-name",
                              "csi.storage.k8s.io/node-publish-secret-namespace",
                              "csiNodePublishSecretName", "csiNodePublishSecretNamespace"};
const SecretKeys kControllerExpand{"controller expand",
                                   "csi.storage.k8s.io/controller-expand-secret-name",
                                   "csi.storage.k8s.io/controller-expand-secret-namespace", "", ""};
const SecretKeys kNodeExpand{"node expand", "csi.storage.k8s.io/node-expand-secret-name",
                             "csi.storage.k8s.io/node-expand-secret-namespace", "", ""};
const SecretKeys kControllerModify{"controller modify",
                                   "csi.storage.k8s.io/controller-modify-secret-name",
                                   "csi.storage.k8s.io/controller-modify-secret-namespace", "", ""};
}  // namespace secret_kind

const std::array<const SecretKeys*, 8>& AllSecretKinds() {
  using namespace secret_kind;
  static const std::array<const SecretKeys*, 8> kinds{
      &kDefault,     &kProvisioner,      &kControllerPublish, &kNodeStage,
      &kNodePublish, &kControllerExpand, &kNodeExpand,        &kControllerModify};
  return kinds;
}

namespace {

// How often one half of a pair is given, and the value.
struct Half {
  int count = 0;
  std::string value;

  void Look(const Parameters& parameters, std::string_view key) {
    if (key.empty()) return;
    auto it = parameters.find(key);
    if (it == parameters.end()) return;
    ++count;
    value = it->second;
  }
};

struct Template {
  std::string name;
  std::string ns;
};

// Provisioner 8.1.
Result<std::optional<Template>> SelectTemplate(const SecretKeys& keys,
                                               const Parameters& parameters) {
  Half name;
  Half ns;
  name.Look(parameters, keys.deprecated_name);
  name.Look(parameters, keys.name);
  ns.Look(parameters, keys.deprecated_ns);
  ns.Look(parameters, keys.ns);
  if (name.count > 1 || ns.count > 1) {
    return InvalidArgumentError(StrCat(
        keys.purpose, " secret is given with both the deprecated and the current parameter keys"));
  }
  if (name.count != ns.count) {
    return InvalidArgumentError(StrCat("either name or namespace of the ", keys.purpose,
                                       " secret is missing (",
                                       name.count == 0 ? keys.name : keys.ns, ")"));
  }
  if (name.count == 0) return std::optional<Template>();
  if (name.value.empty() || ns.value.empty()) {
    return InvalidArgumentError(
        StrCat("name and namespace of the ", keys.purpose, " secret must not be empty"));
  }
  return std::optional<Template>({std::move(name.value), std::move(ns.value)});
}

enum class Part { kName, kNamespace };

// Provisioner 8.2, one half of a pair.
Result<std::string> Resolve(std::string_view what, std::string_view text,
                            const SecretContext& context, Part part) {
  const bool is_name = part == Part::kName;
  auto lookup = [&](std::string_view token) -> std::optional<std::string> {
    if (token == "pv.name") return context.volume_name;
    if (context.claim == nullptr) return std::nullopt;
    const auto& metadata = context.claim->metadata();
    if (token == "pvc.namespace") return metadata.namespace_();
    if (!is_name) return std::nullopt;
    if (token == "pvc.name") return metadata.name();
    constexpr std::string_view kOpen = "pvc.annotations['";
    constexpr std::string_view kClose = "']";
    if (token.size() < kOpen.size() + kClose.size() || !token.starts_with(kOpen) ||
        !token.ends_with(kClose)) {
      return std::nullopt;
    }
    const std::string_view key =
        token.substr(kOpen.size(), token.size() - kOpen.size() - kClose.size());
    const std::string* value = apis::GetEntry(metadata.annotations(), key);
    if (value == nullptr) return std::nullopt;
    return *value;
  };
  Expansion expanded = ExpandTemplate(text, lookup);
  if (!expanded.unknown.empty()) {
    return InvalidArgumentError(StrCat("error resolving ", what, " \"", text,
                                       "\": invalid tokens: [", Join(expanded.unknown, " "), "]"));
  }
  if (is_name ? !apis::IsDns1123Subdomain(expanded.text) : !apis::IsDns1123Label(expanded.text)) {
    return InvalidArgumentError(StrCat(what, " \"", text, "\" resolved to \"", expanded.text,
                                       "\" which is not a valid ",
                                       is_name ? "secret name" : "namespace name"));
  }
  return std::move(expanded.text);
}

}  // namespace

Result<std::optional<core::SecretReference>> ResolveSecret(const SecretKeys& keys,
                                                           const Parameters& parameters,
                                                           const SecretContext& context) {
  const SecretKeys* used = &keys;
  CSI_ASSIGN_OR_RETURN(std::optional<Template> found, SelectTemplate(keys, parameters));
  if (!found) {
    used = &secret_kind::kDefault;
    CSI_ASSIGN_OR_RETURN(found, SelectTemplate(*used, parameters));
  }
  if (!found) return std::optional<core::SecretReference>();
  core::SecretReference reference;
  CSI_ASSIGN_OR_RETURN(*reference.mutable_namespace_(),
                       Resolve(used->ns, found->ns, context, Part::kNamespace));
  CSI_ASSIGN_OR_RETURN(*reference.mutable_name(),
                       Resolve(used->name, found->name, context, Part::kName));
  return std::optional<core::SecretReference>(std::move(reference));
}

}  // namespace csinative::provisioner
