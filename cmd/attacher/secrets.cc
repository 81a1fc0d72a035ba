// SPDX-License-Identifier: Apache-2.0
#include "cmd/attacher/secrets.h"

#include <utility>

#include "apis/core/v1/secret.pb.h"
#include "lib/base/strings.h"

namespace csinative::attacher {

async::Task<Result<SecretData>> ReadPublishSecret(kube::Client* client,
                                                  core::PersistentVolumeSpec spec) {
  SecretData data;
  const core::CSIPersistentVolumeSource& source = spec.persistentvolumesource().csi();
  if (!source.has_controllerpublishsecretref()) co_return std::move(data);
  const core::SecretReference& reference = source.controllerpublishsecretref();
  auto secret = co_await client->Get<core::Secret>({reference.namespace_(), reference.name()});
  if (!secret.ok()) {
    co_return secret.status().WithContext(
        StrCat("failed to load secret \"", reference.namespace_(), "/", reference.name(), "\""));
  }
  for (auto& entry : *secret->mutable_data()) {
    data[entry.key()] = Secret(std::move(*entry.mutable_value()));
  }
  co_return std::move(data);
}

void FillSecrets(const SecretData& data, google::protobuf::Map<std::string, std::string>* field) {
  for (const auto& [key, value] : data) (*field)[key] = std::string(value.Reveal());
}

}  // namespace csinative::attacher
