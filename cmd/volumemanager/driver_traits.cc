// SPDX-License-Identifier: Apache-2.0
#include "cmd/volumemanager/driver_traits.h"

#include <algorithm>

#include "apis/core/v1/well_known.h"
#include "lib/base/json_string.h"
#include "lib/base/strings.h"

namespace csinative::volumemanager {
namespace {

std::optional<FsGroupPolicy> PolicyOf(const std::string& text) {
  if (text == "ReadWriteOnceWithFSType") return FsGroupPolicy::kReadWriteOnceWithFsType;
  if (text == "File") return FsGroupPolicy::kFile;
  if (text == "None") return FsGroupPolicy::kNone;
  return std::nullopt;
}

}  // namespace

DriverTraits TraitsOf(const std::optional<storage::CSIDriver>& driver) {
  DriverTraits traits;
  if (!driver) return traits;
  const storage::CSIDriverSpec& spec = driver->spec();
  traits.known = true;
  traits.attach_required = !spec.has_attachrequired() || spec.attachrequired();
  traits.pod_info = spec.podinfoonmount();
  traits.republish = spec.requiresrepublish();
  const auto& modes = spec.volumelifecyclemodes();
  traits.persistent = std::find(modes.begin(), modes.end(), "Persistent") != modes.end();
  traits.ephemeral = std::find(modes.begin(), modes.end(), "Ephemeral") != modes.end();
  traits.tokens.assign(spec.tokenrequests().begin(), spec.tokenrequests().end());
  traits.wants_tokens = !traits.tokens.empty();
  traits.tokens_in_secrets = spec.serviceaccounttokeninsecrets();
  traits.fs_group_policy = PolicyOf(spec.fsgrouppolicy());
  return traits;
}

Status CheckLifecycle(const VolumeSpec& spec, const DriverTraits& traits,
                      const std::optional<storage::CSIDriver>& driver) {
  if (spec.inline_volume() ? traits.ephemeral : traits.persistent) return Status();
  std::string why = "no CSIDriver object";
  if (driver) {
    std::vector<std::string> quoted;
    for (const std::string& mode : driver->spec().volumelifecyclemodes()) {
      quoted.push_back(JsonString(mode));
    }
    why = StrCat("only supports [", Join(quoted, " "), "]");
  }
  return FailedPreconditionError(
      StrCat("mounter.SetupAt failed to check volume lifecycle mode: volume mode \"",
             spec.inline_volume() ? "Ephemeral" : "Persistent", "\" not supported by driver ",
             spec.driver, " (", why, ")"));
}

bool NeedsOwnership(const VolumeSpec& spec, const PodFacts& pod, FsGroupPolicy policy) {
  if (!pod.fs_group || policy == FsGroupPolicy::kNone || spec.read_only) return false;
  if (policy == FsGroupPolicy::kFile) return true;
  if (spec.fs_type.empty()) return false;
  if (spec.inline_volume()) return true;
  return std::any_of(spec.access_modes.begin(), spec.access_modes.end(),
                     [](const std::string& mode) {
                       return mode == apis::kReadWriteOnce || mode == apis::kReadWriteOncePod;
                     });
}

}  // namespace csinative::volumemanager
