// SPDX-License-Identifier: Apache-2.0
#include "lib/cli/common_flags.h"

#include <algorithm>

#include "lib/base/go_duration.h"
#include "lib/base/go_quote.h"
#include "lib/base/json_string.h"
#include "lib/base/strings.h"
#include "lib/cli/go_number.h"

namespace csinative::cli {
namespace {

constexpr FlagOptions kImported{.origin = Origin::kImported};

// A quantity flag: only whether it is zero matters, because anything else is rejected later.
void QuantityFlag(FlagSet& flags, std::string name, bool* not_zero, std::string help) {
  const auto set = [not_zero](std::string_view text) -> Status {
    CSI_ASSIGN_OR_RETURN(*not_zero, ParseNonZeroQuantity(text));
    return {};
  };
  flags.Custom(std::move(name), {set, "0"}, std::move(help));
}

std::string FormatLabels(const LabelMap& labels) {
  std::vector<std::string> parts;
  for (const auto& [key, value] : labels) parts.push_back(StrCat(key, ":", value));
  return Join(parts, ",");
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Whether a quantity may end like this: a decimal or binary unit, or an exponent.
bool IsQuantitySuffix(std::string_view suffix) {
  for (const std::string_view unit :
       {"", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"}) {
    if (suffix == unit) return true;
  }
  if (suffix.size() < 2 || (suffix[0] != 'e' && suffix[0] != 'E')) return false;
  std::string_view digits = suffix.substr(1);
  if (digits[0] == '+' || digits[0] == '-') digits.remove_prefix(1);
  return !digits.empty() && std::all_of(digits.begin(), digits.end(), IsDigit);
}

}  // namespace

Status MergeLabels(std::string_view text, LabelMap& labels) {
  for (const std::string_view element : Split(text, ',')) {
    const auto parts = Split(element, ':');
    if (parts.size() != 2) {
      return InvalidArgumentError(StrCat("malformed item in list of labels: ", element));
    }
    labels[std::string(parts[0])] = parts[1];
  }
  return {};
}

Result<bool> ParseNonZeroQuantity(std::string_view text) {
  const Status malformed = InvalidArgumentError(
      "quantities must match the regular expression "
      "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
  if (text.empty()) return malformed;
  std::string_view rest = text;
  if (rest.front() == '+' || rest.front() == '-') rest.remove_prefix(1);
  bool not_zero = false;
  const auto take_digits = [&] {
    while (!rest.empty() && IsDigit(rest.front())) {
      not_zero = not_zero || rest.front() != '0';
      rest.remove_prefix(1);
    }
  };
  take_digits();
  if (!rest.empty() && rest.front() == '.') {
    rest.remove_prefix(1);
    take_digits();
  }
  const std::string_view suffix = rest;
  const size_t letters = std::min(rest.find_first_not_of("eEinumkKMGTP"), rest.size());
  rest.remove_prefix(letters);
  if (!rest.empty() && (rest.front() == '+' || rest.front() == '-')) rest.remove_prefix(1);
  while (!rest.empty() && IsDigit(rest.front())) rest.remove_prefix(1);
  if (!rest.empty()) return malformed;
  if (!IsQuantitySuffix(suffix)) {
    return InvalidArgumentError("unable to parse quantity's suffix");
  }
  return not_zero;
}

void CommonFlags::Register(FlagSet& flags, Choice choice) {
  flags.BoolFlag("version", &version, "Print the version and exit.", kImported);
  flags.StringFlag("kubeconfig", &kubeconfig,
                   "Path of a kubeconfig file. Empty: use the pod's service account.", kImported);
  if (choice.csi_address) {
    flags.StringFlag("csi-address", &csi_address, "Address of the CSI driver's socket.", kImported);
  }
  flags.BoolFlag("leader-election", &leader_election,
                 "Take part in leader election: of several replicas one works.", kImported);
  flags.StringFlag("leader-election-namespace", &leader_election_namespace,
                   "Namespace of the Lease. Empty: the namespace of the pod.", kImported);
  flags.DurationFlag("leader-election-lease-duration", &leader_election_lease_duration,
                     "How long others wait after the leader's last renewal before they take over.",
                     kImported);
  flags.DurationFlag("leader-election-renew-deadline", &leader_election_renew_deadline,
                     "How long the leader tries to renew before it gives up.", kImported);
  flags.DurationFlag("leader-election-retry-period", &leader_election_retry_period,
                     "Time between two attempts to acquire or renew the Lease.", kImported);
  flags.BoolFlag("leader-election-restart-in-place", &leader_election_restart_in_place,
                 "After losing the Lease start anew in the same process instead of exiting with 1, "
                 "so that the container is not restarted.",
                 kImported);
  if (choice.leader_election_labels) {
    const auto set = [this](std::string_view text) {
      return MergeLabels(text, leader_election_labels);
    };
    flags.Custom("leader-election-labels", {set, FormatLabels(leader_election_labels)},
                 "Labels of the Lease as key:value,…; may be repeated.", kImported);
  }
  flags.DoubleFlag("kube-api-qps", &kube_api_qps, "Requests a second that the API client may send.",
                   kImported);
  flags.IntFlag("kube-api-burst", &kube_api_burst, "Requests that the API client may send at once.",
                kImported);
  flags.StringFlag("http-endpoint", &http_endpoint,
                   "Address to serve metrics and health on. Empty: off. Excludes metrics-address.",
                   kImported);
  if (choice.metrics_address) {
    flags.StringFlag("metrics-address", &metrics_address,
                     "Deprecated: address to serve metrics on. Excludes http-endpoint.", kImported);
  }
  flags.StringFlag("metrics-path", &metrics_path, "HTTP path of the metrics.", kImported);
}

Status CommonFlags::CheckListener() const {
  if (!http_endpoint.empty() && !metrics_address.empty()) {
    return InvalidArgumentError("only one of `--metrics-address` and `--http-endpoint` can be set");
  }
  return {};
}

void LoggingFlags::Register(FlagSet& flags, AutoMaxProcs* auto_max_procs) {
  if (auto_max_procs != nullptr) {
    const auto set = [auto_max_procs](std::string_view text) { return auto_max_procs->Set(text); };
    flags.Custom("automaxprocs", {set, "false", /*is_bool_like=*/true},
                 "Limit the number of threads to the CPU quota of the container.", kImported);
  }
  flags.StringFlag("logging-format", &format, "Format of the log: text or json.");
  flags.DurationFlag("log-flush-frequency", &flush_frequency,
                     "Accepted without effect: every record is written at once.");
  const auto set_verbosity = [this](std::string_view text) -> Status {
    CSI_ASSIGN_OR_RETURN(verbosity, log::ParseLevel(text));
    return {};
  };
  flags.Custom("v", {set_verbosity, std::to_string(verbosity)},
               "Verbosity: records up to this level are written.", {.shorthand = 'v'});
  const auto add_vmodule = [this](std::string_view text) -> Status {
    CSI_ASSIGN_OR_RETURN(const auto rules, log::ParseVmodule(text));
    vmodule.insert(vmodule.end(), rules.begin(), rules.end());
    return {};
  };
  flags.Custom("vmodule", {add_vmodule, log::FormatVmodule(vmodule)},
               "Verbosity of single source files as pattern=N,…; text format only.");
  static constexpr char kSplitHelp[] = "Accepted as false only: all records go to stderr.";
  static constexpr char kBufferHelp[] = "Accepted as zero only: every record is written at once.";
  flags.BoolFlag("log-text-split-stream", &text_split_stream, kSplitHelp);
  flags.BoolFlag("log-json-split-stream", &json_split_stream, kSplitHelp);
  QuantityFlag(flags, "log-text-info-buffer-size", &text_info_buffer_size_set, kBufferHelp);
  QuantityFlag(flags, "log-json-info-buffer-size", &json_info_buffer_size_set, kBufferHelp);
}

Status LoggingFlags::Validate() const {
  std::vector<std::string> errors;
  if (flush_frequency <= Duration(0)) {
    errors.push_back(
        StrCat("flushFrequency: Invalid value: ", JsonString(FormatGoDuration(flush_frequency)),
               ": Must be greater than zero"));
  }
  if (format != "text" && format != "json") {
    errors.push_back(
        StrCat("format: Invalid value: ", GoQuote(format), ": Unsupported log format"));
  }
  // An empty format is unknown, but does not count as another one here.
  if (!vmodule.empty() && format != "text" && !format.empty()) {
    errors.push_back("vmodule: Forbidden: Only supported for text log format");
  }
  const auto forbid = [&](bool given, std::string_view option) {
    if (!given) return;
    errors.push_back(
        StrCat("options.", option, ": Forbidden: Feature LoggingAlphaOptions is disabled"));
  };
  forbid(text_split_stream, "text.splitStream");
  forbid(text_info_buffer_size_set, "text.infoBufferSize");
  forbid(json_split_stream, "json.splitStream");
  forbid(json_info_buffer_size_set, "json.infoBufferSize");
  if (errors.empty()) return {};
  if (errors.size() == 1) return InvalidArgumentError(errors[0]);
  return InvalidArgumentError(StrCat("[", Join(errors, ", "), "]"));
}

void LoggingFlags::Apply(log::Backend& backend) const {
  backend.SetFormat(format == "json" ? log::Format::kJson : log::Format::kText);
  backend.SetVerbosity(verbosity);
  backend.SetVmodule(vmodule);
}

Status LoggingFlags::ValidateAndApply(const log::Logger& log) const {
  Status status = Validate();
  if (!status.ok()) {
    log.Error(status, "LoggingConfiguration is invalid");
  } else if (log.backend() != nullptr) {
    Apply(*log.backend());
  }
  return status;
}

}  // namespace csinative::cli
