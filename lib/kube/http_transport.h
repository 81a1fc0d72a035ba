// SPDX-License-Identifier: Apache-2.0
//
// ApiTransport over lib/http: header fields as client-go sends them (common 6), credentials, and
// new connections when certificates were replaced. Programs use NewHttpTransport of config.h, which
// is this with the default ages. Loop only.
#pragma once

#include <memory>
#include <string>

#include "lib/kube/config.h"
#include "lib/kube/tls_files.h"

namespace csinative::kube {

Result<std::unique_ptr<ApiTransport>> NewHttpTransport(async::RealLoop& loop, RestConfig config,
                                                       std::string user_agent, log::Logger log,
                                                       TlsFileAges ages);

}  // namespace csinative::kube
