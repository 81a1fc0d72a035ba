// SPDX-License-Identifier: Apache-2.0
//
// Short names for the generated Kubernetes namespaces, and all their messages: code reads
// `core::PersistentVolume`. A file that needs one group includes that group's .pb.h and
// apis/namespaces.h instead, which compiles faster.
#pragma once

#include "apis/namespaces.h"

#include "apis/authentication/v1/authentication.pb.h"
#include "apis/coordination/v1/coordination.pb.h"
#include "apis/core/v1/core.pb.h"
#include "apis/intstr/intstr.pb.h"
#include "apis/map_entry.pb.h"
#include "apis/meta/v1/meta.pb.h"
#include "apis/resource/quantity.pb.h"
#include "apis/runtime/runtime.pb.h"
#include "apis/storage/v1/storage.pb.h"
