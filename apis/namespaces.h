// SPDX-License-Identifier: Apache-2.0
//
// Short names for the generated Kubernetes namespaces. The messages themselves come from the
// group's .pb.h.
#pragma once

namespace k8s::io::api::authentication::v1 {}
namespace k8s::io::api::coordination::v1 {}
namespace k8s::io::api::core::v1 {}
namespace k8s::io::api::storage::v1 {}
namespace k8s::io::apimachinery::pkg::api::resource {}
namespace k8s::io::apimachinery::pkg::apis::meta::v1 {}
namespace k8s::io::apimachinery::pkg::runtime {}
namespace k8s::io::apimachinery::pkg::util::intstr {}

namespace csinative {

namespace authentication = ::k8s::io::api::authentication::v1;
namespace coordination = ::k8s::io::api::coordination::v1;
namespace core = ::k8s::io::api::core::v1;
namespace intstr = ::k8s::io::apimachinery::pkg::util::intstr;
namespace meta = ::k8s::io::apimachinery::pkg::apis::meta::v1;
namespace resource = ::k8s::io::apimachinery::pkg::api::resource;
namespace runtime = ::k8s::io::apimachinery::pkg::runtime;
namespace storage = ::k8s::io::api::storage::v1;

}  // namespace csinative
