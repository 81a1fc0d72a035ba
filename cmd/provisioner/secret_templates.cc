// SPDX-License-Identifier: Apache-2.0
#include "cmd/provisioner/secret_templates.h"

#include <set>
#include <vector>

#include "apis/core/v1/maps.h"
#include "apis/meta/v1/names.h"
#include "cmd/provisioner/template_expansion.h"
#include "lib/base/go_quote.h"
#include "lib/base/strings.h"

namespace csinative::provisioner {

namespace secret_kind {
const SecretKeys kDefault{"Default", "csi.storage.k8s.io/secret-name",
                          "csi.storage.k8s.io/secret-namespace", "", ""};
const SecretKeys kProvisioner{"Provisioner", "csi.storage.k8s.io/provisioner-secret-name",
                              "csi.storage.k8s.io/provisioner-secret-namespace",
                              "csiProvisionerSecretName", "csiProvisionerSecretNamespace"};
const SecretKeys kControllerPublish{
    "ControllerPublish", "csi.storage.k8s.io/controller-publish-secret-name",
    "csi.storage.k8s.io/controller-publish-secret-namespace", "csiControllerPublishSecretName",
    "csiControllerPublishSecretNamespace"};
const SecretKeys kNodeStage{"NodeStage", "csi.storage.k8s.io/node-stage-secret-name",
                            "csi.storage.k8s.io/node-stage-secret-namespace",
                            "csiNodeStageSecretName", "csiNodeStageSecretNamespace"};
const SecretKeys kNodePublish{"NodePublish", "csi.storage.k8s.io/node-publish-secret-name",
                              "csi.storage.k8s.io/node-publish-secret-namespace",
                              "csiNodePublishSecretName", "csiNodePublishSecretNamespace"};
const SecretKeys kControllerExpand{"ControllerExpand",
                                   "csi.storage.k8s.io/controller-expand-secret-name",
                                   "csi.storage.k8s.io/controller-expand-secret-namespace", "", ""};
const SecretKeys kNodeExpand{"NodeExpand", "csi.storage.k8s.io/node-expand-secret-name",
                             "csi.storage.k8s.io/node-expand-secret-namespace", "", ""};
const SecretKeys kControllerModify{"ControllerModify",
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
        keys.purpose,
        " secrets specified in parameters with both \"csi\" and \"csi.storage.k8s.io/\" keys"));
  }
  if (name.count != ns.count) {
    return InvalidArgumentError(StrCat("either name and namespace for ", keys.purpose,
                                       " secrets specified, Both must be specified"));
  }
  if (name.count == 0) return std::optional<Template>();
  if (name.value.empty() || ns.value.empty()) {
    return InvalidArgumentError(
        StrCat(keys.purpose,
               " secrets specified in parameters but value of either namespace or name is empty"));
  }
  return std::optional<Template>({std::move(name.value), std::move(ns.value)});
}

enum class Part { kName, kNamespace };

// Provisioner 8.2, one half of a pair.
Result<std::string> Resolve(std::string_view text, const SecretContext& context, Part part) {
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
    const std::set<std::string> tokens(expanded.unknown.begin(), expanded.unknown.end());
    std::vector<std::string> quoted;
    for (const std::string& token : tokens) quoted.push_back(GoQuote(token));
    return InvalidArgumentError(StrCat("error resolving value ", GoQuote(text),
                                       ": invalid tokens: [", Join(quoted, " "), "]"));
  }
  if (is_name ? !apis::IsDns1123Subdomain(expanded.text) : !apis::IsDns1123Label(expanded.text)) {
    return InvalidArgumentError(StrCat(GoQuote(text), " resolved to ", GoQuote(expanded.text),
                                       " which is not a valid ",
                                       is_name ? "secret name" : "namespace name"));
  }
  return std::move(expanded.text);
}

}  // namespace

Result<std::optional<core::SecretReference>> ResolveSecret(const SecretKeys& keys,
                                                           const Parameters& parameters,
                                                           const SecretContext& context) {
  auto found = SelectTemplate(keys, parameters);
  if (!found.ok()) {
    return found.status().WithContext("failed to get name and namespace template from params");
  }
  if (!*found) {
    found = SelectTemplate(secret_kind::kDefault, parameters);
    if (!found.ok()) {
      return found.status().WithContext(
          "failed to get default name and namespace template from params");
    }
  }
  if (!*found) return std::optional<core::SecretReference>();
  const Template& used = **found;
  core::SecretReference reference;
  CSI_ASSIGN_OR_RETURN(*reference.mutable_namespace_(),
                       Resolve(used.ns, context, Part::kNamespace));
  CSI_ASSIGN_OR_RETURN(*reference.mutable_name(), Resolve(used.name, context, Part::kName));
  return std::optional<core::SecretReference>(std::move(reference));
}

}  // namespace csinative::provisioner
