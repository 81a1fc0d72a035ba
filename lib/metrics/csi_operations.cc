// SPDX-License-Identifier: Apache-2.0
#include "lib/metrics/csi_operations.h"

#include <algorithm>
#include <utility>

#include "lib/base/strings.h"

namespace csinative::metrics {
namespace {

constexpr double kBounds[] = {0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600};
constexpr std::string_view kUnknownDriver = "unknown-driver";
constexpr std::string_view kMigrated = "migrated";

}  // namespace

struct CsiOperations::Shared {
  HistogramFamily& family;
  std::vector<std::string> varying_labels;
  std::string driver_name{kUnknownDriver};
};

CsiOperations::CsiOperations(Registry& registry, Options options) {
  FamilyOptions family{
      .name = options.subsystem + "_operations_seconds",
      .help = StrCat("[", options.stability,
                     "] Container Storage Interface operation duration with gRPC error code status "
                     "total"),
      .labels = {"driver_name", "method_name", "grpc_status_code"},
      .const_labels = std::move(options.fixed_labels)};
  family.labels.insert(family.labels.end(), options.varying_labels.begin(),
                       options.varying_labels.end());
  shared_ = std::make_shared<Shared>(Shared{.family = registry.AddHistogram(family, kBounds),
                                            .varying_labels = std::move(options.varying_labels)});
}

void CsiOperations::SetDriverName(std::string_view name) {
  shared_->driver_name = name.empty() ? kUnknownDriver : name;
}

const std::string& CsiOperations::driver_name() const { return shared_->driver_name; }

Result<CsiOperations> CsiOperations::WithLabelValues(
    const std::map<std::string, std::string>& values) const {
  CsiOperations child = *this;
  const auto& known = shared_->varying_labels;
  for (const auto& [label, value] : values) {
    if (std::find(known.begin(), known.end(), label) == known.end()) {
      return InvalidArgumentError(
          StrCat("label \"", label, "\" was not defined via WithLabelNames"));
    }
    const auto [at, added] = child.values_.emplace(label, value);
    if (!added) {
      return InvalidArgumentError(
          StrCat("label \"", label, "\" already has value \"", at->second, "\""));
    }
  }
  return child;
}

void CsiOperations::Record(std::string_view method, const Status& status, Duration duration,
                           bool migrated) const {
  const std::string code = GrpcStatusCodeLabel(status);
  std::vector<std::string_view> values = {shared_->driver_name, method, code};
  for (const std::string& label : shared_->varying_labels) {
    const auto value = values_.find(label);
    if (value != values_.end()) {
      values.push_back(value->second);
    } else if (label == kMigrated) {
      values.push_back(migrated ? "true" : "false");
    } else {
      values.push_back("");
    }
  }
  shared_->family.With(std::span<const std::string_view>(values)).Observe(duration);
}

std::string GrpcStatusCodeLabel(const Status& status) {
  if (status.ok()) return CodeName(Code::kOk);
  const RpcError* error = status.rpc_error();
  return error != nullptr ? CodeName(error->grpc_code) : "unknown-non-grpc";
}

}  // namespace csinative::metrics
