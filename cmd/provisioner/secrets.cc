// SPDX-License-Identifier: Apache-2.0
#include "cmd/provisioner/secrets.h"

#include <utility>

#include "apis/core/v1/secret.pb.h"
#include "lib/base/strings.h"
#include "lib/base/utf8.h"

namespace csinative::provisioner {

async::Task<Result<SecretData>> ReadSecret(kube::Client* client, core::SecretReference reference) {
  auto secret = co_await client->Get<core::Secret>({reference.namespace_(), reference.name()});
  if (!secret.ok()) {
    co_return secret.status().WithContext(StrCat("error getting secret ", reference.name(),
                                                 " in namespace ", reference.namespace_()));
  }
  SecretData data;
  for (auto& entry : *secret->mutable_data()) {
    data[entry.key()] = Secret(std::move(*entry.mutable_value()));
  }
  co_return std::move(data);
}

Status ResolvePublishedSecrets(const Parameters& parameters, const SecretContext& context,
                               SecretReferences* out) {
  using namespace secret_kind;
  CSI_ASSIGN_OR_RETURN(out->controller_publish,
                       ResolveSecret(kControllerPublish, parameters, context));
  CSI_ASSIGN_OR_RETURN(out->node_stage, ResolveSecret(kNodeStage, parameters, context));
  CSI_ASSIGN_OR_RETURN(out->node_publish, ResolveSecret(kNodePublish, parameters, context));
  CSI_ASSIGN_OR_RETURN(out->controller_expand,
                       ResolveSecret(kControllerExpand, parameters, context));
  CSI_ASSIGN_OR_RETURN(out->node_expand, ResolveSecret(kNodeExpand, parameters, context));
  CSI_ASSIGN_OR_RETURN(out->controller_modify,
                       ResolveSecret(kControllerModify, parameters, context));
  return Status();
}

Status FillSecrets(const core::SecretReference& reference, const SecretData& data,
                   google::protobuf::Map<std::string, std::string>* field) {
  for (const auto& [key, value] : data) {
    if (!IsValidUtf8(value.Reveal())) {
      return InvalidArgumentError(StrCat("the value of key \"", key, "\" in secret ",
                                         reference.namespace_(), "/", reference.name(),
                                         " is not UTF-8 text, which CSI demands"));
    }
    (*field)[key] = std::string(value.Reveal());
  }
  return Status();
}

}  // namespace csinative::provisioner
