// SPDX-License-Identifier: Apache-2.0
//
// Any text as a kubeconfig, up to the server it names, and as what a credential plugin prints.
// Files that it names are not opened.
#include <string>

#include "lib/kube/config.h"
#include "lib/kube/exec_plugin.h"
#include "lib/kube/kubeconfig.h"
#include "lib/kube/kubeconfig_selection.h"
#include "lib/kube/warning_header.h"
#include "test/fuzz/fuzz.h"

namespace kube = csinative::kube;
using csinative::fuzz::Require;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(csinative::fuzz::Text(data, size));
  (void)kube::ParseExecCredential(text, "client.authentication.k8s.io/v1");
  (void)kube::ParseWarnings(text);
  (void)kube::CleanInstallHint(text);
  const csinative::Result<kube::Kubeconfig> config = kube::ParseKubeconfig(text, "/folder");
  if (!config.ok()) return 0;
  Require(kube::MergeKubeconfigs({*config, *config}) == *config, "a file beside itself is itself");
  const csinative::Result<kube::KubeSelection> selection = kube::SelectContext(*config, {});
  Require(selection.ok(), "without overrides there is a selection");
  const std::string server = kube::ServerOf(*selection);
  const auto url = kube::ParseServer(server, kube::TlsSettings::kAbsent);
  Require(url.ok() || !kube::UsesTls(server, kube::TlsSettings::kAbsent),
          "what is no server is not spoken to in TLS");
  kube::KubeSelection without_files = *selection;
  without_files.user.token_file.clear();
  (void)kube::ToRestConfig(without_files);
  return 0;
}
