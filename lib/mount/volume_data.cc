// SPDX-License-Identifier: Apache-2.0
#include "lib/mount/volume_data.h"

#include <rapidjson/document.h>
#include <rapidjson/error/en.h>

#include "lib/base/json_string.h"
#include "lib/base/strings.h"

namespace csinative::mount {

std::string FormatVolumeData(const VolumeData& data) {
  std::string out = "{";
  for (const auto& [key, value] : data) {
    if (out.size() > 1) out += ',';
    AppendJsonString(out, key, JsonEscaping::kHtml);
    out += ':';
    AppendJsonString(out, value, JsonEscaping::kHtml);
  }
  out += "}\n";
  return out;
}

Result<VolumeData> ParseVolumeData(std::string_view text) {
  rapidjson::Document document;
  document.Parse<rapidjson::kParseStopWhenDoneFlag | rapidjson::kParseIterativeFlag>(text.data(),
                                                                                     text.size());
  if (document.HasParseError()) {
    return InvalidArgumentError(rapidjson::GetParseError_En(document.GetParseError()));
  }
  if (!document.IsObject()) return InvalidArgumentError("not a JSON object");
  VolumeData data;
  for (const auto& member : document.GetObject()) {
    const std::string key(member.name.GetString(), member.name.GetStringLength());
    if (!member.value.IsString()) {
      return InvalidArgumentError(StrCat("the value of \"", key, "\" is not a string"));
    }
    data[key] = std::string(member.value.GetString(), member.value.GetStringLength());
  }
  return data;
}

Status SaveVolumeData(FileSystem& fs, const std::string& directory, const VolumeData& data) {
  const std::string path = StrCat(directory, "/", kVolumeDataFile);
  const std::string text = FormatVolumeData(data);
  // Upstream rewrites it each time; a file that says the same is not worth a flush to disk.
  const auto present = fs.ReadFile(path);
  if (present.ok() && *present == text) return Status();
  // Readable for all, as with kubelet's usual umask: nothing in it is secret.
  return fs.WriteFile(path, text, 0644);
}

Result<VolumeData> LoadVolumeData(FileSystem& fs, const std::string& directory) {
  const std::string path = StrCat(directory, "/", kVolumeDataFile);
  auto text = fs.ReadFile(path);
  if (!text.ok()) {
    return text.status().WithContext(StrCat("failed to open volume data file [", path, "]"));
  }
  auto data = ParseVolumeData(*text);
  if (!data.ok()) {
    return data.status().WithContext(StrCat("failed to parse volume data file [", path, "]"));
  }
  return data;
}

}  // namespace csinative::mount
