// SPDX-License-Identifier: Apache-2.0
//
// Any text as JSON, and as objects of the API: what was read and written reads the same again.
#include <rapidjson/document.h>

#include <string>

#include "apis/json/from_json.h"
#include "apis/json/parse.h"
#include "apis/json/to_json.h"
#include "apis/k8s.h"
#include "test/fuzz/fuzz.h"

namespace {

using csinative::fuzz::Require;
namespace apis = csinative::apis;

template <typename T>
void RoundTrip(const rapidjson::Value& value) {
  T message;
  if (!apis::FromJson(value, &message).ok()) return;
  const std::string text = apis::ToJsonString(message);
  T again;
  Require(apis::FromJsonString(text, &again).ok(), "what is written can be read");
  Require(apis::ToJsonString(again) == text, "what is written is stable");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  rapidjson::Document document;
  if (!apis::ParseJson(csinative::fuzz::Text(data, size), &document).ok()) return 0;
  (void)apis::JsonText(document);
  (void)apis::TypeMetaOf(document);
  RoundTrip<csinative::core::PersistentVolumeClaim>(document);
  RoundTrip<csinative::core::PersistentVolume>(document);
  RoundTrip<csinative::core::Pod>(document);
  RoundTrip<csinative::core::Event>(document);
  RoundTrip<csinative::storage::VolumeAttachment>(document);
  RoundTrip<csinative::coordination::Lease>(document);
  RoundTrip<csinative::meta::Status>(document);
  return 0;
}
