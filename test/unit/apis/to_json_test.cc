// SPDX-License-Identifier: Apache-2.0
#include "apis/json/to_json.h"

#include <gtest/gtest.h>

#include <string>

#include "apis/core/v1/maps.h"
#include "apis/json/from_json.h"
#include "apis/json/parse.h"
#include "apis/k8s.h"
#include "apis/meta/v1/time.h"

namespace csinative::apis {
namespace {

TEST(ToJsonTest, LeavesUnsetFieldsOut) {
  core::PersistentVolume pv;
  EXPECT_EQ(ToJsonString(pv), "{}");
  pv.mutable_spec()->set_storageclassname("");
  pv.mutable_metadata()->set_name("pv");
  EXPECT_EQ(ToJsonString(pv), R"({"metadata":{"name":"pv"},"spec":{}})");
}

TEST(ToJsonTest, PointersToZeroAreWritten) {
  core::PersistentVolumeClaimSpec claim;
  claim.set_storageclassname("");
  claim.set_volumename("");  // not a pointer
  EXPECT_EQ(ToJsonString(claim), R"({"storageClassName":""})");
  storage::CSIDriverSpec driver;
  driver.set_attachrequired(false);
  EXPECT_EQ(ToJsonString(driver), R"({"attachRequired":false})");
}

TEST(ToJsonTest, TypeComesFirst) {
  EXPECT_EQ(ToJsonString(core::Secret(), {.api_version = "v1", .kind = "Secret"}),
            R"({"kind":"Secret","apiVersion":"v1"})");
}

TEST(ToJsonTest, LikeApiServerWritesWhatGoNeverOmits) {
  EXPECT_EQ(ToJsonString(storage::VolumeAttachment(), {.like_api_server = true}),
            R"({"metadata":{},"spec":{"attacher":"","source":{},"nodeName":""},)"
            R"("status":{"attached":false}})");
  EXPECT_EQ(ToJsonString(storage::CSINodeList(), {.like_api_server = true}),
            R"({"metadata":{},"items":[]})");
}

TEST(ToJsonTest, CreationTimestampIsNullOnlyOnRequest) {
  core::Secret secret;
  secret.mutable_metadata()->set_name("s");
  EXPECT_EQ(ToJsonString(secret, {.like_api_server = true}), R"({"metadata":{"name":"s"}})");
  EXPECT_EQ(ToJsonString(secret, {.creation_timestamp_null = true}),
            R"({"metadata":{"name":"s","creationTimestamp":null}})");
  *secret.mutable_metadata()->mutable_creationtimestamp() = MakeTime(Moment{0, 0});
  EXPECT_EQ(ToJsonString(secret, {.creation_timestamp_null = true}),
            R"({"metadata":{"name":"s","creationTimestamp":"1970-01-01T00:00:00Z"}})");
}

TEST(ToJsonTest, MapKeysAreSortedAndUnique) {
  core::ConfigMap map;
  for (const char* key : {"b", "a", "b"}) {
    StringEntry* entry = map.add_data();
    entry->set_key(key);
    entry->set_value(std::to_string(map.data_size()));
  }
  EXPECT_EQ(ToJsonString(map), R"({"data":{"a":"2","b":"3"}})");
}

TEST(ToJsonTest, BytesAreBase64) {
  core::Secret secret;
  SetEntry(secret.mutable_data(), "k", std::string("\0\xff", 2));
  EXPECT_EQ(ToJsonString(secret), R"({"data":{"k":"AP8="}})");
}

TEST(ToJsonTest, InlineMessagesStandInTheEnclosingObject) {
  core::Volume volume;
  volume.set_name("v");
  volume.mutable_volumesource()->mutable_secret()->set_secretname("s");
  EXPECT_EQ(ToJsonString(volume), R"({"name":"v","secret":{"secretName":"s"}})");
}

TEST(ToJsonTest, ZeroTimesAreLeftOut) {
  core::Event event;
  event.mutable_firsttimestamp();
  event.mutable_eventtime();
  EXPECT_EQ(ToJsonString(event), "{}");
}

TEST(ToJsonTest, QuantitiesAreMadeCanonical) {
  core::EmptyDirVolumeSource source;
  source.mutable_sizelimit()->set_string("1024Mi");
  EXPECT_EQ(ToJsonString(source), R"({"sizeLimit":"1Gi"})");
  source.mutable_sizelimit()->set_string("nonsense");
  EXPECT_EQ(ToJsonString(source), R"({"sizeLimit":"nonsense"})");
  source.mutable_sizelimit()->clear_string();
  EXPECT_EQ(ToJsonString(source), R"({"sizeLimit":"0"})");
}

TEST(ToJsonTest, RawObjectsAreEmbedded) {
  meta::WatchEvent event;
  event.set_type("ADDED");
  event.mutable_object()->set_raw(R"( {"a" : 1} )");
  EXPECT_EQ(ToJsonString(event), R"({"type":"ADDED","object":{"a":1}})");
  event.mutable_object()->set_raw("k8s");
  EXPECT_EQ(ToJsonString(event), R"({"type":"ADDED","object":null})");
}

TEST(ToJsonTest, OutputIsAlwaysUtf8) {
  core::Secret secret;
  secret.set_type("\xff\"\n");
  EXPECT_EQ(ToJsonString(secret), "{\"type\":\"\xEF\xBF\xBD\\\"\\n\"}");
}

TEST(ToJsonTest, ValueAndTextAgree) {
  core::Pod pod;
  ASSERT_TRUE(FromJsonString(R"({"metadata":{"name":"p","labels":{"a":"b"}},"spec":
      {"containers":[{"name":"c","ports":[{"containerPort":1}]}],"hostNetwork":true}})",
                             &pod)
                  .ok());
  rapidjson::Document document;
  rapidjson::Value value;
  ToJson(pod, &value, document.GetAllocator(), {.api_version = "v1", .kind = "Pod"});
  EXPECT_EQ(JsonText(value), ToJsonString(pod, {.api_version = "v1", .kind = "Pod"}));
  // Members are counted right: the value can be searched and extended.
  ASSERT_TRUE(value.HasMember("spec"));
  value.AddMember("x", 1, document.GetAllocator());
  EXPECT_EQ(value.MemberCount(), 5u);
}

}  // namespace
}  // namespace csinative::apis
