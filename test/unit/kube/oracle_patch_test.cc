// SPDX-License-Identifier: Apache-2.0
//
// kube-client 24.14, Z: patches from two documents.
#include <gtest/gtest.h>

#include <string>

#include "apis/json/parse.h"
#include "lib/base/strings.h"
#include "lib/kube/patch.h"
#include "test/support/oracle.h"

namespace csinative::kube {
namespace {

rapidjson::Document Parsed(const std::string& text) {
  rapidjson::Document document;
  EXPECT_TRUE(apis::ParseJson(text, &document).ok()) << text;
  return document;
}

struct PatchEntry {
  const char* row;
  const char* before;
  const char* after;
  const char* patch;
};

TEST(PatchOracle, Merge) {
  const PatchEntry kEntries[] = {
      {"kube-client/24.14/5", R"({"a":{"b":1,"c":2}})", R"({"a":{"b":1,"c":3}})",
       R"({"a":{"c":3}})"},
      {"kube-client/24.14/5", R"({"a":{"b":1,"c":2},"d":1})", R"({"a":{"b":1}})",
       R"({"a":{"c":null},"d":null})"},
      {"kube-client/24.14/5", R"({"a":[1,2,3]})", R"({"a":[1,2,4]})", R"({"a":[1,2,4]})"},
      {"kube-client/24.14/5", R"({"a":[1,2]})", R"({"a":[2,1]})", R"({"a":[2,1]})"},
      {"kube-client/24.14/5", R"({"a":{"b":1}})", R"({"a":[1]})", R"({"a":[1]})"},
      {"kube-client/24.14/5", R"({"a":true})", R"({"a":false})", R"({"a":false})"},
      {"kube-client/24.14/5", R"({"a":1})", R"({"a":1,"c":{"x":[]},"b":"n"})",
       R"({"b":"n","c":{"x":[]}})"},
      {"kube-client/24.14/5", R"({"a":{"b":[{"c":1}]}})", R"({"a":{"b":[{"c":1}]}})", "{}"},
  };
  for (const PatchEntry& entry : kEntries) {
    const oracle::Row row(entry.row);
    EXPECT_EQ(MergePatch(Parsed(entry.before), Parsed(entry.after)), entry.patch);
  }
}

TEST(PatchOracle, Strategic) {
  const PatchEntry kEntries[] = {
      {"kube-client/24.14/1", R"({"metadata":{}})", R"({"metadata":{"finalizers":["a"]}})",
       R"({"metadata":{"finalizers":["a"]}})"},
      {"kube-client/24.14/1", R"({"metadata":{"finalizers":["a"]}})",
       R"({"metadata":{"finalizers":["a","b"]}})",
       R"({"metadata":{"$setElementOrder/finalizers":["a","b"],"finalizers":["b"]}})"},
      {"kube-client/24.14/1", R"({"metadata":{"finalizers":["a","b"]}})",
       R"({"metadata":{"finalizers":["a"]}})",
       R"({"metadata":{"$deleteFromPrimitiveList/finalizers":["b"],)"
       R"("$setElementOrder/finalizers":["a"]}})"},
      {"kube-client/24.14/1", R"({"metadata":{"finalizers":["a","b"]}})",
       R"({"metadata":{"finalizers":["b","a"]}})",
       R"({"metadata":{"$setElementOrder/finalizers":["b","a"]}})"},
      {"kube-client/24.14/1", R"({"metadata":{"finalizers":["a"]}})", R"({"metadata":{}})",
       R"({"metadata":{"finalizers":null}})"},
      {"kube-client/24.14/2", R"({"spec":{"drivers":[{"name":"1","nodeID":"x"}]}})",
       R"({"spec":{"drivers":[{"name":"1","nodeID":"y"}]}})",
       R"({"spec":{"$setElementOrder/drivers":[{"name":"1"}],)"
       R"("drivers":[{"name":"1","nodeID":"y"}]}})"},
      {"kube-client/24.14/2", R"({"spec":{"drivers":[{"name":"1"}]}})",
       R"({"spec":{"drivers":[{"name":"1"},{"name":"2","nodeID":"n"}]}})",
       R"({"spec":{"$setElementOrder/drivers":[{"name":"1"},{"name":"2"}],)"
       R"("drivers":[{"name":"2","nodeID":"n"}]}})"},
      {"kube-client/24.14/2", R"({"spec":{"drivers":[{"name":"1"},{"name":"2","nodeID":"x"}]}})",
       R"({"spec":{"drivers":[{"name":"2","nodeID":"y"}]}})",
       R"({"spec":{"$setElementOrder/drivers":[{"name":"2"}],)"
       R"("drivers":[{"name":"2","nodeID":"y"},{"$patch":"delete","name":"1"}]}})"},
      {"kube-client/24.14/2", R"({"spec":{"drivers":[{"name":"1"},{"name":"2"}]}})",
       R"({"spec":{"drivers":[{"name":"2"},{"name":"1"}]}})",
       R"({"spec":{"$setElementOrder/drivers":[{"name":"2"},{"name":"1"}]}})"},
      {"kube-client/24.14/4", R"({"metadata":{"annotations":{"a":"1","b":"2","c":"3"}}})",
       R"({"metadata":{"annotations":{"a":"1","b":"x","d":"4"}}})",
       R"({"metadata":{"annotations":{"b":"x","c":null,"d":"4"}}})"},
  };
  for (const PatchEntry& entry : kEntries) {
    const oracle::Row row(entry.row);
    const Result<std::string> patch =
        StrategicPatch("CSINode", Parsed(entry.before), Parsed(entry.after));
    ASSERT_TRUE(patch.ok()) << patch.status().message();
    EXPECT_EQ(*patch, entry.patch);
  }
  for (const auto& [before, after] :
       {std::pair(R"({"spec":{"drivers":[{"name":"1"}]}})", R"({"spec":{"drivers":[{"x":"1"}]}})"),
        std::pair(R"({"spec":{"drivers":[{"x":"1"}]}})",
                  R"({"spec":{"drivers":[{"name":"1"}]}})")}) {
    const oracle::Row row("kube-client/24.14/3");
    EXPECT_FALSE(StrategicPatch("CSINode", Parsed(before), Parsed(after)).ok());
  }
  {
    const oracle::Row row("kube-client/24.14/6");
    EXPECT_EQ(
        *StrategicPatch(
            "PersistentVolumeClaim",
            Parsed(R"({"status":{"conditions":[{"type":"A","status":"True"},{"type":"B"}]}})"),
            Parsed(R"({"status":{"conditions":[{"type":"A","status":"False"},{"type":"B"}]}})")),
        R"({"status":{"$setElementOrder/conditions":[{"type":"A"},{"type":"B"}],)"
        R"("conditions":[{"status":"False","type":"A"}]}})");
  }
  // Lists that nobody merges, kinds that do not have the list, alternatives in an element.
  EXPECT_EQ(*StrategicPatch("PersistentVolume", Parsed(R"({"spec":{"accessModes":["a"]}})"),
                            Parsed(R"({"spec":{"accessModes":["a","b"]}})")),
            R"({"spec":{"accessModes":["a","b"]}})");
  EXPECT_EQ(*StrategicPatch("Secret", Parsed(R"({"status":{"conditions":[{"x":1}]}})"),
                            Parsed(R"({"status":{"conditions":[{"x":2}]}})")),
            R"({"status":{"conditions":[{"x":2}]}})");
  EXPECT_EQ(
      *StrategicPatch("Pod", Parsed(R"({"spec":{"volumes":[{"name":"v","emptyDir":{}}]}})"),
                      Parsed(R"({"spec":{"volumes":[{"name":"v","hostPath":{"path":"/"}}]}})")),
      R"({"spec":{"$setElementOrder/volumes":[{"name":"v"}],"volumes":[{"$retainKeys":)"
      R"(["hostPath","name"],"emptyDir":null,"hostPath":{"path":"/"},"name":"v"}]}})");
}

}  // namespace
}  // namespace csinative::kube
