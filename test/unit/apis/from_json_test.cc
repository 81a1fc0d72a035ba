// SPDX-License-Identifier: Apache-2.0
#include "apis/json/from_json.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "apis/core/v1/maps.h"
#include "apis/json/to_json.h"
#include "apis/k8s.h"
#include "apis/resource_table.h"
#include "apis/snapshot/v1/snapshot.pb.h"

namespace csinative::apis {
namespace {

template <typename T>
T Read(std::string_view json) {
  T message;
  Status status = FromJsonString(json, &message);
  EXPECT_TRUE(status.ok()) << json << ": " << status.message();
  return message;
}

template <typename T>
std::string ErrorOf(std::string_view json) {
  T message;
  return FromJsonString(json, &message).message();
}

TEST(FromJsonTest, ReadsAPersistentVolume) {
  auto pv = Read<core::PersistentVolume>(R"({
    "apiVersion": "v1", "kind": "PersistentVolume",
    "metadata": {"name": "pv", "annotations": {"b": "2", "a": "1"},
                 "creationTimestamp": "1998-05-05T07:05:05+02:00",
                 "managedFields": [{"manager": "x", "fieldsV1": {"f:spec": {}}}]},
    "spec": {"capacity": {"storage": "1024Mi"}, "accessModes": ["ReadWriteOnce"],
             "csi": {"driver": "d", "volumeHandle": "h", "fsType": "ext4", "readOnly": true}}})");
  EXPECT_EQ(pv.metadata().name(), "pv");
  EXPECT_EQ(pv.metadata().annotations(0).key(), "a");
  EXPECT_EQ(pv.metadata().creationtimestamp().seconds(), 894344705);
  EXPECT_EQ(GetEntry(pv.spec().capacity(), "storage")->string(), "1Gi");
  EXPECT_EQ(pv.spec().persistentvolumesource().csi().fstype(), "ext4");
  EXPECT_TRUE(pv.spec().persistentvolumesource().csi().readonly());
}

TEST(FromJsonTest, NullIsUnset) {
  auto pv = Read<core::PersistentVolume>(
      R"({"metadata":null,"spec":{"capacity":null,"accessModes":null,"storageClassName":null,
          "csi":null}})");
  EXPECT_FALSE(pv.has_metadata());
  EXPECT_TRUE(pv.has_spec());
  EXPECT_EQ(pv.spec().ByteSizeLong(), 0u);
  EXPECT_EQ(Read<core::PersistentVolume>("null").ByteSizeLong(), 0u);
}

TEST(FromJsonTest, ReplacesTheMessage) {
  core::Secret secret;
  secret.set_type("old");
  ASSERT_TRUE(FromJsonString("{}", &secret).ok());
  EXPECT_FALSE(secret.has_type());
}

TEST(FromJsonTest, LastOfDuplicateMembersCounts) {
  auto secret = Read<core::Secret>(
      R"({"type":"a","type":"b","stringData":{"k":"1","k":"2"},"metadata":{"name":"x"},
          "metadata":{"uid":"y"}})");
  EXPECT_EQ(secret.type(), "b");
  ASSERT_EQ(secret.stringdata_size(), 1);
  EXPECT_EQ(secret.stringdata(0).value(), "2");
  EXPECT_FALSE(secret.metadata().has_name());
}

TEST(FromJsonTest, NamesAreCaseSensitive) {
  EXPECT_FALSE(Read<core::Secret>(R"({"Type":"a"})").has_type());
  EXPECT_EQ(Read<core::NodeStatus>(R"({"daemonEndpoints":{"kubeletEndpoint":{"Port":10250}}})")
                .daemonendpoints()
                .kubeletendpoint()
                .port(),
            10250);
  EXPECT_EQ(Read<authentication::BoundObjectReference>(R"({"uid":"u"})").uid(), "u");
}

TEST(FromJsonTest, ReadsBytesFromBase64) {
  auto secret = Read<core::Secret>(R"({"data":{"a":"AP8=","b":"","c":null}})");
  EXPECT_EQ(GetEntryOr(secret.data(), "a"), std::string_view("\0\xff", 2));
  EXPECT_EQ(*GetEntry(secret.data(), "b"), "");
  EXPECT_EQ(*GetEntry(secret.data(), "c"), "");
  EXPECT_NE(ErrorOf<core::Secret>(R"({"data":{"a":"***"}})"), "");
}

TEST(FromJsonTest, ReadsQuantitiesFromTextAndNumbers) {
  // kube-client 24.14 Y34.
  const std::pair<const char*, const char*> rows[] = {{"\"1Gi\"", "1Gi"}, {"10", "10"},
                                                      {"\" 1\"", "1"},    {"\"1 \"", "1"},
                                                      {"\" -1\"", "-1"},  {"1.5", "1500m"}};
  for (const auto& [json, text] : rows) {
    auto message = Read<core::EmptyDirVolumeSource>(std::string(R"({"sizeLimit":)") + json + "}");
    EXPECT_EQ(message.sizelimit().string(), text);
  }
  EXPECT_EQ(ErrorOf<core::EmptyDirVolumeSource>(R"({"sizeLimit":"x"})"),
            "sizeLimit: quantities must match the regular expression "
            "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
  EXPECT_NE(ErrorOf<core::EmptyDirVolumeSource>(R"({"sizeLimit":true})"), "");
}

TEST(FromJsonTest, ReadsPortsFromNumbersAndNames) {
  EXPECT_EQ(Read<core::HTTPGetAction>(R"({"port":80})").port().intval(), 80);
  auto named = Read<core::HTTPGetAction>(R"({"port":"http"})").port();
  EXPECT_EQ(named.type(), 1);
  EXPECT_EQ(named.strval(), "http");
  EXPECT_NE(ErrorOf<core::HTTPGetAction>(R"({"port":1.5})"), "");
  EXPECT_NE(ErrorOf<core::HTTPGetAction>(R"({"port":[]})"), "");
}

TEST(FromJsonTest, InlineMessagesStandInTheEnclosingObject) {
  auto volume = Read<core::Volume>(R"({"name":"v","configMap":{"name":"c","optional":false}})");
  EXPECT_EQ(volume.volumesource().configmap().localobjectreference().name(), "c");
  EXPECT_TRUE(volume.volumesource().configmap().has_optional());
  EXPECT_FALSE(Read<core::Volume>(R"({"name":"v"})").has_volumesource());
  auto ephemeral = Read<core::EphemeralContainer>(R"({"name":"e","targetContainerName":"t"})");
  EXPECT_EQ(ephemeral.ephemeralcontainercommon().name(), "e");
  auto probe = Read<core::Probe>(R"({"exec":{"command":["a"]},"periodSeconds":3})");
  EXPECT_EQ(probe.handler().exec().command(0), "a");
}

TEST(FromJsonTest, ReadsRawObjectsAndBareLists) {
  auto event = Read<meta::WatchEvent>(R"({"type":"ADDED","object":{"kind":"Pod","a":[1]}})");
  EXPECT_EQ(event.object().raw(), R"({"kind":"Pod","a":[1]})");
  auto user = Read<authentication::UserInfo>(R"({"extra":{"k":["a","b"]}})");
  EXPECT_EQ(user.extra(0).value().items(1), "b");
}

TEST(FromJsonTest, NullElementsAreZeroValues) {
  auto pv = Read<core::PersistentVolumeSpec>(R"({"accessModes":[null,"a"]})");
  ASSERT_EQ(pv.accessmodes_size(), 2);
  EXPECT_EQ(pv.accessmodes(0), "");
  auto list = Read<core::PodList>(R"({"items":[null]})");
  EXPECT_EQ(list.items_size(), 1);
}

TEST(FromJsonTest, ErrorsNameThePlace) {
  EXPECT_EQ(ErrorOf<core::PersistentVolume>(R"({"spec":{"accessModes":["a",1]}})"),
            "spec.accessModes[1]: expected a string, found a number");
  EXPECT_EQ(ErrorOf<core::PersistentVolume>(R"({"metadata":{"labels":{"a":{}}}})"),
            "metadata.labels.a: expected a string, found an object");
  EXPECT_EQ(ErrorOf<core::PersistentVolume>(R"([])"), ".: expected an object, found an array");
  EXPECT_EQ(ErrorOf<core::PersistentVolume>(R"({"metadata":{"generation":"1"}})"),
            "metadata.generation: expected a 64-bit integer, found a string");
}

TEST(FromJsonTest, IntegersHaveNoFractionsAndFit) {
  EXPECT_NE(ErrorOf<meta::ObjectMeta>(R"({"generation":1.0})"), "");
  EXPECT_NE(ErrorOf<meta::ObjectMeta>(R"({"generation":9223372036854775808})"), "");
  EXPECT_NE(ErrorOf<core::Event>(R"({"count":2147483648})"), "");
  EXPECT_EQ(Read<meta::ObjectMeta>(R"({"generation":9223372036854775807})").generation(),
            9223372036854775807);
  EXPECT_EQ(Read<core::Event>(R"({"count":-2147483648})").count(), -2147483648);
}

TEST(FromJsonTest, MicroTimesAreStrict) {
  EXPECT_EQ(Read<coordination::LeaseSpec>(R"({"renewTime":"1998-05-05T05:05:05.000005Z"})")
                .renewtime()
                .nanos(),
            5000);
  EXPECT_NE(ErrorOf<coordination::LeaseSpec>(R"({"renewTime":"1998-05-05T05:05:05Z"})"), "");
  EXPECT_NE(ErrorOf<core::Event>(R"({"firstTimestamp":"yesterday"})"), "");
  EXPECT_NE(ErrorOf<core::Event>(R"({"firstTimestamp":5})"), "");
}

TEST(FromJsonTest, CollectsUnknownMembers) {
  core::PersistentVolume pv;
  std::vector<std::string> unknown;
  ASSERT_TRUE(FromJsonString(R"({"kind":"PersistentVolume","apiVersion":"v1","foo":1,
      "metadata":{"kind":2,"managedFields":[]},"spec":{"nodeAffinity":{"required":
      {"nodeSelectorTerms":[{},{"bar":{}}]}}}})",
                             &pv, {.unknown_fields = &unknown})
                  .ok());
  EXPECT_EQ(unknown,
            (std::vector<std::string>{"foo", "metadata.kind", "metadata.managedFields",
                                      "spec.nodeAffinity.required.nodeSelectorTerms[1].bar"}));
}

TEST(FromJsonTest, BadUtf8BecomesReplacementCharacters) {
  auto secret = Read<core::Secret>("{\"type\":\"a\xff\",\"stringData\":{\"\xfe\":\"\"}}");
  EXPECT_EQ(secret.type(), "a\xEF\xBF\xBD");
  EXPECT_EQ(secret.stringdata(0).key(), "\xEF\xBF\xBD");
}

TEST(FromJsonTest, LargeMapsStayFast) {
  std::string json = R"({"stringData":{)";
  for (int i = 0; i < 100'000; ++i) {
    json += (i ? ",\"k" : "\"k") + std::to_string(i * 7919 % 100'003) + "\":\"v\"";
  }
  EXPECT_EQ(Read<core::Secret>(json + "}}").stringdata_size(), 100'000);
}

TEST(FromJsonTest, CrdsWorkLikeBuiltInKinds) {
  auto content = Read<snapshot::VolumeSnapshotContent>(
      R"({"spec":{"source":{"volumeHandle":"v"}},
          "status":{"creationTime":1700000000000000001,"restoreSize":0,"readyToUse":false}})");
  EXPECT_EQ(content.status().creationtime(), 1700000000000000001);
  EXPECT_TRUE(content.status().has_restoresize());
  EXPECT_EQ(ToJsonString(content.status()),
            R"({"creationTime":1700000000000000001,"restoreSize":0,"readyToUse":false})");
}

TEST(TypeMetaOfTest, TakesStringsOnly) {
  rapidjson::Document document;
  document.Parse(R"({"apiVersion":"v1","kind":7})");
  EXPECT_EQ(TypeMetaOf(document).api_version, "v1");
  EXPECT_EQ(TypeMetaOf(document).kind, "");
  document.Parse("[]");
  EXPECT_EQ(TypeMetaOf(document).api_version, "");
}

// Every kind reads every other kind's JSON, cut and bent at random, without harm.
TEST(FromJsonTest, SurvivesRandomDamage) {
  std::mt19937 random(20240501);
  const char* seeds[] = {
      R"({"metadata":{"labels":{"a":"b"},"creationTimestamp":"1998-05-05T05:05:05Z",
          "ownerReferences":[{"uid":"u","controller":true}]},"spec":{"capacity":{"storage":"1Gi"},
          "containers":[{"ports":[{"containerPort":80}],"livenessProbe":{"httpGet":{"port":"x"}}}],
          "volumes":[{"name":"v","projected":{"sources":[{"secret":{"name":"s"}}]}}]},
          "data":{"k":"AAAA"},"status":{"conditions":[{"lastProbeTime":null}]}})",
      R"({"items":[{},null,{"spec":[]}],"spec":{"nodeTopology":{"matchLabels":{"a":1e400}}}})"};
  const std::string_view alphabet =
      "{}[]\",:0123456789.eE+-\\ntfu \x80\xff\x00"
      "aksv";
  for (int round = 0; round < 3000; ++round) {
    std::string json = seeds[round % 2];
    for (int k = random() % 6; k >= 0; --k) {
      size_t at = random() % json.size();
      switch (random() % 3) {
        case 0:
          json[at] = alphabet[random() % alphabet.size()];
          break;
        case 1:
          json.erase(at, random() % 8);
          break;
        case 2:
          json.insert(at, json.substr(random() % json.size(), random() % 20));
          break;
      }
      if (json.empty()) json = "{}";
    }
    for (const ResourceInfo& info : ResourceTable()) {
      std::unique_ptr<google::protobuf::Message> message(info.prototype->New());
      if (!FromJsonString(json, message.get()).ok()) continue;
      // What was accepted can be written and read again.
      std::unique_ptr<google::protobuf::Message> again(info.prototype->New());
      Status status = FromJsonString(ToJsonString(*message), again.get());
      ASSERT_TRUE(status.ok()) << json << "\n" << status.message();
      ASSERT_EQ(ToJsonString(*again), ToJsonString(*message)) << json;
    }
  }
}

}  // namespace
}  // namespace csinative::apis
