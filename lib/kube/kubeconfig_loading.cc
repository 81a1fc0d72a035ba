// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/kubeconfig_loading.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "lib/base/strings.h"

namespace csinative::kube {
namespace {

std::vector<std::string> WithoutDuplicates(std::vector<std::string> paths) {
  std::vector<std::string> out;
  for (std::string& path : paths) {
    if (std::find(out.begin(), out.end(), path) == out.end()) out.push_back(std::move(path));
  }
  return out;
}

bool IsMissing(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) != 0 && errno == ENOENT;
}

// Several failures as one, as apimachinery's aggregate prints them.
Status Aggregate(const std::vector<Status>& failures) {
  if (failures.empty()) return Status();
  if (failures.size() == 1) return failures[0];
  std::vector<std::string> texts;
  for (const Status& failure : failures) texts.push_back(failure.message());
  return InvalidArgumentError(StrCat("[", Join(texts, ", "), "]"));
}

}  // namespace

std::vector<std::string> LoadingRules::Files() const {
  if (!explicit_path.empty()) return {explicit_path};
  return WithoutDuplicates(precedence);
}

LoadingRules DefaultLoadingRules(const GetEnv& getenv) {
  LoadingRules rules;
  const std::string list = getenv("KUBECONFIG").value_or("");
  if (!list.empty()) {
    for (std::string_view path : Split(list, ':')) {
      if (!path.empty()) rules.precedence.emplace_back(path);
    }
    rules.precedence = WithoutDuplicates(std::move(rules.precedence));
    rules.warn_if_all_missing = true;
    return rules;
  }
  const std::string folder = getenv("HOME").value_or("") + "/.kube";
  rules.precedence = {folder + "/config"};
  rules.migrations = {{folder + "/config", folder + "/.kubeconfig"}};
  return rules;
}

Kubeconfig MergeKubeconfigs(std::vector<Kubeconfig> files) {
  Kubeconfig merged;
  for (Kubeconfig& file : files) {
    // map::merge keeps what is there.
    merged.clusters.merge(file.clusters);
    merged.users.merge(file.users);
    merged.contexts.merge(file.contexts);
    merged.extensions.merge(file.extensions);
    if (merged.current_context.empty()) merged.current_context = std::move(file.current_context);
  }
  return merged;
}

Status MigrateKubeconfigs(const LoadingRules& rules) {
  for (const auto& [destination, source] : rules.migrations) {
    if (!IsMissing(destination) || IsMissing(source)) continue;
    std::error_code error;
    std::filesystem::create_directories(std::filesystem::path(destination).parent_path(), error);
    if (!error) std::filesystem::copy_file(source, destination, error);
    if (error) return OsStatus(error.value(), StrCat("copy ", source, " to ", destination));
  }
  return Status();
}

Result<Kubeconfig> LoadKubeconfig(const LoadingRules& rules, const log::Logger& log) {
  CSI_RETURN_IF_ERROR(MigrateKubeconfigs(rules));
  std::vector<Kubeconfig> files;
  std::vector<std::string> missing;
  std::vector<Status> failures;
  for (const std::string& path : rules.Files()) {
    if (rules.explicit_path.empty() && IsMissing(path)) {
      missing.push_back(path);
      continue;
    }
    Result<Kubeconfig> file = LoadKubeconfigFile(path);
    if (file.ok()) {
      files.push_back(*std::move(file));
    } else if (!rules.explicit_path.empty()) {
      return file.status();
    } else {
      failures.push_back(file.status());
    }
  }
  CSI_RETURN_IF_ERROR(Aggregate(failures));
  if (rules.warn_if_all_missing && !missing.empty() && files.empty()) {
    log.V(1).Info(StrCat("Config not found: ", Join(missing, ", ")));
  }
  return MergeKubeconfigs(std::move(files));
}

}  // namespace csinative::kube
