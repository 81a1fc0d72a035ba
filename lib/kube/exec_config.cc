// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/exec_config.h"

#include <cstdio>

#include "lib/base/base64.h"
#include "lib/base/go_quote.h"
#include "lib/base/json_string.h"
#include "lib/base/strings.h"
#include "lib/base/utf8.h"

namespace csinative::kube {
namespace {

// Unicode's separators: categories Zs, Zl and Zp.
bool IsSeparator(char32_t rune) {
  return rune == 0x20 || rune == 0xa0 || rune == 0x1680 || (rune >= 0x2000 && rune <= 0x200a) ||
         rune == 0x2028 || rune == 0x2029 || rune == 0x202f || rune == 0x205f || rune == 0x3000;
}

bool IsLayout(char32_t rune) { return rune >= '\t' && rune <= '\r'; }

void AppendMember(std::string* out, std::string_view key, std::string_view json) {
  if (out->back() != '{') *out += ',';
  *out += StrCat("\"", key, "\":", json);
}

void AppendText(std::string* out, std::string_view key, const std::string& value) {
  if (!value.empty()) AppendMember(out, key, JsonString(value, JsonEscaping::kHtml));
}

void AppendFlag(std::string* out, std::string_view key, bool value) {
  if (value) AppendMember(out, key, "true");
}

std::string ClusterJson(const ExecCluster& cluster, const std::string& config) {
  std::string out = "{";
  AppendText(&out, "server", cluster.server);
  AppendText(&out, "tls-server-name", cluster.tls_server_name);
  AppendFlag(&out, "insecure-skip-tls-verify", cluster.insecure_skip_tls_verify);
  AppendText(&out, "certificate-authority-data", Base64Encode(cluster.certificate_authority_pem));
  AppendText(&out, "proxy-url", cluster.proxy_url);
  AppendFlag(&out, "disable-compression", cluster.disable_compression);
  if (!config.empty()) AppendMember(&out, "config", config);
  return out + "}";
}

Status NoInteraction(std::string_view why) {
  return InvalidArgumentError(StrCat("exec plugin cannot support interactive mode: ", why));
}

}  // namespace

Status CheckExecVersion(std::string_view api_version) {
  if (api_version == "client.authentication.k8s.io/v1" ||
      api_version == "client.authentication.k8s.io/v1beta1") {
    return Status();
  }
  return InvalidArgumentError(StrCat("exec plugin: invalid apiVersion ", GoQuote(api_version)));
}

std::string CleanInstallHint(std::string_view hint) {
  std::string out;
  while (!hint.empty()) {
    const Rune rune = DecodeRune(hint);
    hint.remove_prefix(rune.width);
    if (IsPrintRune(rune.value) || IsSeparator(rune.value) || IsLayout(rune.value)) {
      AppendRune(out, rune.value);
    } else {
      char text[16];
      std::snprintf(text, sizeof text, "U+%04X", static_cast<unsigned>(rune.value));
      out += text;
    }
  }
  return out;
}

std::string ExecInfo(const ExecConfig& config, const ExecCluster* cluster, bool interactive) {
  std::string spec = "{";
  if (cluster != nullptr)
    AppendMember(&spec, "cluster", ClusterJson(*cluster, config.cluster_config));
  AppendMember(&spec, "interactive", interactive ? "true" : "false");
  return StrCat(R"({"kind":"ExecCredential","apiVersion":)", JsonString(config.api_version),
                R"(,"spec":)", spec, "}}");
}

Result<bool> MayInteract(const ExecConfig& config, bool stdin_is_terminal) {
  const std::string& mode = config.interactive_mode;
  if (mode == "Never") return false;
  if (mode == "IfAvailable") return !config.stdin_unavailable && stdin_is_terminal;
  if (mode != "Always") return NoInteraction(StrCat("unknown interactiveMode: ", GoQuote(mode)));
  if (!stdin_is_terminal) return NoInteraction("standard input is not a terminal");
  if (config.stdin_unavailable) {
    const std::string& message = config.stdin_unavailable_message;
    return NoInteraction(
        StrCat("standard input is unavailable", message.empty() ? "" : ": ", message));
  }
  return true;
}

}  // namespace csinative::kube
