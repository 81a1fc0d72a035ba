// SPDX-License-Identifier: Apache-2.0
//
// Names of the kinds without their definitions, for headers that only mention them.
#pragma once

#include "apis/namespaces.h"

namespace k8s::io::api::coordination::v1 {
class Lease;
}
namespace k8s::io::api::core::v1 {
class ConfigMap;
class Event;
class Namespace;
class Node;
class PersistentVolume;
class PersistentVolumeClaim;
class Pod;
class Secret;
class ServiceAccount;
}  // namespace k8s::io::api::core::v1
namespace k8s::io::api::storage::v1 {
class CSIDriver;
class CSINode;
class CSIStorageCapacity;
class StorageClass;
class VolumeAttachment;
class VolumeAttributesClass;
}  // namespace k8s::io::api::storage::v1
