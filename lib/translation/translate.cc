// SPDX-License-Identifier: Apache-2.0
#include "lib/translation/translate.h"

#include <algorithm>
#include <utility>

#include "lib/base/strings.h"
#include "lib/translation/plugin.h"

namespace csinative::translation {
namespace {

const Plugin* FindDriver(std::string_view driver) {
  for (const Plugin* plugin : Plugins()) {
    if (plugin->driver == driver) return plugin;
  }
  return nullptr;
}

const Plugin* FindSource(const core::PersistentVolumeSource& source) {
  for (const Plugin* plugin : Plugins()) {
    if (plugin->has_source(source)) return plugin;
  }
  return nullptr;
}

bool Contains(const std::array<std::string_view, 2>& keys, std::string_view key) {
  return !key.empty() && std::ranges::find(keys, key) != keys.end();
}

}  // namespace

std::span<const Plugin* const> Plugins() {
  static constexpr const Plugin* kAll[] = {
      &kGcePersistentDisk, &kAwsElasticBlockStore, &kCinder, &kAzureDisk, &kAzureFile, &kVsphere,
      &kPortworx};
  return kAll;
}

bool ReplacesInTreePlugin(std::string_view driver) { return FindDriver(driver) != nullptr; }

std::string_view InTreePluginOf(std::string_view driver) {
  const Plugin* plugin = FindDriver(driver);
  return plugin == nullptr ? std::string_view() : plugin->in_tree;
}

bool IsMigratable(const core::PersistentVolumeSpec& spec) {
  return FindSource(spec.persistentvolumesource()) != nullptr;
}

Result<core::PersistentVolume> ToCsi(core::PersistentVolume volume) {
  const Plugin* plugin = FindSource(volume.spec().persistentvolumesource());
  if (plugin == nullptr) return InvalidArgumentError("the volume is of no in-tree plugin");
  core::CSIPersistentVolumeSource csi;
  csi.set_driver(std::string(plugin->driver));
  CSI_RETURN_IF_ERROR(plugin->to_csi(&volume, &csi));
  core::PersistentVolumeSource* source = volume.mutable_spec()->mutable_persistentvolumesource();
  plugin->clear_source(source);
  *source->mutable_csi() = std::move(csi);
  return std::move(volume);
}

Result<core::PersistentVolume> ToInTree(core::PersistentVolume volume) {
  core::PersistentVolumeSource* source = volume.mutable_spec()->mutable_persistentvolumesource();
  const core::CSIPersistentVolumeSource csi = source->csi();
  const Plugin* plugin = FindDriver(csi.driver());
  if (plugin == nullptr) {
    return InvalidArgumentError(
        StrCat("the driver \"", csi.driver(), "\" replaces no in-tree plugin"));
  }
  source->clear_csi();
  CSI_RETURN_IF_ERROR(plugin->to_in_tree(csi, &volume));
  return std::move(volume);
}

Result<storage::StorageClass> ClassToCsi(std::string_view in_tree, storage::StorageClass klass) {
  for (const Plugin* plugin : Plugins()) {
    if (plugin->in_tree != in_tree) continue;
    if (plugin->class_to_csi != nullptr) CSI_RETURN_IF_ERROR(plugin->class_to_csi(&klass));
    return std::move(klass);
  }
  return InvalidArgumentError(StrCat("there is no in-tree plugin \"", in_tree, "\""));
}

Result<std::string> RepairVolumeHandle(std::string_view driver, const std::string& handle,
                                       const std::string& node_id) {
  const Plugin* plugin = FindDriver(driver);
  if (plugin == nullptr) {
    return NotFoundError(StrCat("could not find In-Tree driver name for CSI plugin ", driver));
  }
  if (plugin->repair_handle == nullptr) return handle;
  return plugin->repair_handle(handle, node_id);
}

bool IsReadLabel(std::string_view key) {
  return std::ranges::any_of(Plugins(),
                             [key](const Plugin* plugin) { return Contains(plugin->labels, key); });
}

bool IsReadAnnotation(std::string_view key) {
  return std::ranges::any_of(
      Plugins(), [key](const Plugin* plugin) { return Contains(plugin->annotations, key); });
}

}  // namespace csinative::translation
