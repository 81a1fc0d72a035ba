// SPDX-License-Identifier: Apache-2.0
//
// AWS Elastic Block Store (attacher 12.1).
#include <algorithm>

#include "apis/core/v1/maps.h"
#include "lib/base/strings.h"
#include "lib/translation/plugin.h"

namespace csinative::translation {
namespace {

// "vol-1" of "aws://us-east-1a/vol-1" and of "aws:///vol-1"; anything else is an id already.
Result<std::string> VolumeIdOf(const std::string& id) {
  constexpr std::string_view kScheme = "aws://";
  if (!id.starts_with(kScheme)) return id;
  std::string_view path = std::string_view(id).substr(kScheme.size());
  path = path.substr(0, path.find_first_of("?#"));
  path.remove_prefix(std::min(path.find('/'), path.size()));
  while (path.starts_with('/')) path.remove_prefix(1);
  while (path.ends_with('/')) path.remove_suffix(1);
  if (!path.starts_with("vol-") || path.find('/') != std::string_view::npos) {
    return InvalidArgumentError(StrCat("invalid format for AWS volume (", id, ")"));
  }
  return std::string(path);
}

Status ToCsi(core::PersistentVolume* volume, core::CSIPersistentVolumeSource* csi) {
  const auto& ebs = volume->spec().persistentvolumesource().awselasticblockstore();
  CSI_ASSIGN_OR_RETURN(*csi->mutable_volumehandle(), VolumeIdOf(ebs.volumeid()));
  csi->set_readonly(ebs.readonly());
  csi->set_fstype(ebs.fstype());
  apis::SetEntry(csi->mutable_volumeattributes(), "partition", StrCat(ebs.partition()));
  return Status();
}

}  // namespace

constinit const Plugin kAwsElasticBlockStore = {
    .driver = "ebs.csi.aws.com",
    .in_tree = "kubernetes.io/aws-ebs",
    .has_source =
        [](const core::PersistentVolumeSource& s) { return s.has_awselasticblockstore(); },
    .to_csi = ToCsi,
    .clear_source = [](core::PersistentVolumeSource* s) { s->clear_awselasticblockstore(); }};

}  // namespace csinative::translation
