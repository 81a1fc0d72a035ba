// SPDX-License-Identifier: Apache-2.0
//
// One object under check: a kind, an encoding, and the twins of it. Loop only.
#pragma once

#include <memory>
#include <string>

#include "apis/meta/v1/meta.pb.h"
#include "apis/namespaces.h"
#include "lib/kube/client.h"
#include "lib/kube/codec.h"
#include "test/cluster/kinds/catalogue.h"
#include "test/cluster/kinds/stored.h"

namespace csinative::kinds {

struct Subject {
  const Kind* kind = nullptr;
  kube::Encoding encoding = kube::Encoding::kProtobuf;
  kube::Client* client = nullptr;  // borrowed; speaks that encoding
  kube::ObjectName ours;           // written by us
  kube::ObjectName theirs;         // its twin, written by kubectl
  MessagePtr seen;  // ours as it was before anybody else wrote to it; null until it was read
  std::unique_ptr<Watched> live;  // begun before the object was created
  std::unique_ptr<Watched> late;  // begun after all changes

  std::string Title() const;  // "storage.k8s.io/v1 CSINode (JSON)"
  // Its least text: what kubectl needs to find it.
  std::string Reference(const kube::ObjectName& name) const;
};

// REQUIRES: the message is of a kind.
meta::ObjectMeta* MetadataOf(google::protobuf::Message* message);
const meta::ObjectMeta& MetadataOf(const google::protobuf::Message& message);

// The message as it is sent in JSON, with kind and version.
JsonDocument DocumentOf(const Subject& subject, const google::protobuf::Message& message);

}  // namespace csinative::kinds
