// SPDX-License-Identifier: Apache-2.0
//
// ApiTransport over lib/http: header fields as client-go sends them (common 6), credentials, and
// new connections when certificates were replaced. Programs use NewHttpTransport of config.h, which
// is this with the default ages. Loop only.
#pragma once

#include <memory>
#include <string>

#include "lib/kube/command_runner.h"
#include "lib/kube/config.h"
#include "lib/kube/tls_files.h"

namespace csinative::kube {

struct HttpTransportOptions {
  TlsFileAges ages;
  // Runs credential plugins; null: processes. Borrowed.
  CommandRunner* runner = nullptr;
  bool stdin_is_terminal = false;
};
Result<std::unique_ptr<ApiTransport>> NewHttpTransport(async::RealLoop& loop, RestConfig config,
                                                       std::string user_agent, log::Logger log,
                                                       HttpTransportOptions options);

}  // namespace csinative::kube
