// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "test/support/apiserver/patch.h"

namespace csinative::apiserver {
namespace {

struct Case {
  const char* name;
  const char* resource;
  const char* current;
  const char* patch;
  const char* result;
};

class StrategicPatchTest : public ::testing::TestWithParam<Case> {};

TEST_P(StrategicPatchTest, Merges) {
  const Case& c = GetParam();
  ResourceTable resources;
  Outcome<JsonDocument> outcome =
      ApplyStrategicPatch(*resources.Find("", "v1", c.resource), *ParseJson(c.current), c.patch);
  ASSERT_TRUE(outcome.ok()) << outcome.failure().message;
  EXPECT_EQ(Dump(*outcome), c.result);
}

// The patches are those of the examples in kube-client 18.4.
INSTANTIATE_TEST_SUITE_P(
    Cases, StrategicPatchTest,
    ::testing::Values(
        Case{"FinalizerAdded", "persistentvolumes", R"({"metadata":{"finalizers":["a"]}})",
             R"({"metadata":{"$setElementOrder/finalizers":["a","b"],"finalizers":["b"]}})",
             R"({"metadata":{"finalizers":["a","b"]}})"},
        Case{"FinalizerAddedInFront", "persistentvolumes", R"({"metadata":{"finalizers":["a"]}})",
             R"({"metadata":{"$setElementOrder/finalizers":["b","a"],"finalizers":["b"]}})",
             R"({"metadata":{"finalizers":["b","a"]}})"},
        Case{"FinalizerRemoved", "persistentvolumes", R"({"metadata":{"finalizers":["a","b"]}})",
             R"({"metadata":{"$deleteFromPrimitiveList/finalizers":["b"],)"
             R"("$setElementOrder/finalizers":["a"]}})",
             R"({"metadata":{"finalizers":["a"]}})"},
        Case{"OtherFinalizersStay", "persistentvolumes",
             R"({"metadata":{"finalizers":["a","x","b"]}})",
             R"({"metadata":{"$deleteFromPrimitiveList/finalizers":["b"],)"
             R"("$setElementOrder/finalizers":["a"]}})",
             R"({"metadata":{"finalizers":["a","x"]}})"},
        Case{"FirstFinalizer", "persistentvolumes", R"({"metadata":{}})",
             R"({"metadata":{"finalizers":["a"]}})", R"({"metadata":{"finalizers":["a"]}})"},
        Case{"LastFinalizer", "persistentvolumes", R"({"metadata":{"finalizers":["a"]}})",
             R"({"metadata":{"finalizers":null}})", R"({"metadata":{}})"},
        Case{"AnnotationRemoved", "persistentvolumes",
             R"({"metadata":{"annotations":{"k":"v","l":"w"}}})",
             R"({"metadata":{"annotations":{"k":null}}})",
             R"({"metadata":{"annotations":{"l":"w"}}})"},
        Case{"AtomicList", "persistentvolumes", R"({"spec":{"accessModes":["a","b"]}})",
             R"({"spec":{"accessModes":["c"]}})", R"({"spec":{"accessModes":["c"]}})"},
        Case{"ConditionChangedByType", "persistentvolumeclaims",
             R"({"status":{"conditions":[{"type":"A","status":"True"},{"type":"B"}]}})",
             R"({"status":{"conditions":[{"type":"A","status":"False"}]}})",
             R"({"status":{"conditions":[{"type":"A","status":"False"},{"type":"B"}]}})"},
        Case{"ConditionDeleted", "persistentvolumeclaims",
             R"({"status":{"conditions":[{"type":"A"},{"type":"B"}]}})",
             R"({"status":{"$setElementOrder/conditions":[{"type":"B"}],)"
             R"("conditions":[{"$patch":"delete","type":"A"}]}})",
             R"({"status":{"conditions":[{"type":"B"}]}})"},
        Case{"OwnersByUid", "persistentvolumeclaims",
             R"({"metadata":{"ownerReferences":[{"uid":"1","name":"a"}]}})",
             R"({"metadata":{"ownerReferences":[{"uid":"2","name":"b"}]}})",
             R"({"metadata":{"ownerReferences":[{"uid":"2","name":"b"},{"uid":"1","name":"a"}]}})"},
        Case{"RetainKeys", "pods", R"({"spec":{"volumes":[{"name":"v","emptyDir":{}}]}})",
             R"({"spec":{"volumes":[{"$retainKeys":["name","secret"],"name":"v",)"
             R"("secret":{"secretName":"s"}}]}})",
             R"({"spec":{"volumes":[{"name":"v","secret":{"secretName":"s"}}]}})"},
        Case{"MapReplaced", "persistentvolumes", R"({"metadata":{"labels":{"a":"b"}}})",
             R"({"metadata":{"labels":{"$patch":"replace","c":"d"}}})",
             R"({"metadata":{"labels":{"c":"d"}}})"},
        Case{
            "NestedMergeLists", "pods",
            R"({"spec":{"containers":[{"name":"c","image":"i","env":[{"name":"E","value":"1"}]}]}})",
            R"({"spec":{"containers":[{"name":"c","env":[{"name":"F","value":"2"}]}]}})",
            R"({"spec":{"containers":[{"name":"c","image":"i",)"
            R"("env":[{"name":"F","value":"2"},{"name":"E","value":"1"}]}]}})"}),
    [](const ::testing::TestParamInfo<Case>& info) { return info.param.name; });

TEST(StrategicPatchErrorTest, ElementWithoutItsMergeKeyIsRefused) {
  ResourceTable resources;
  Outcome<JsonDocument> outcome =
      ApplyStrategicPatch(*resources.Find("", "v1", "pods"), *ParseJson("{}"),
                          R"({"spec":{"containers":[{"image":"i"}]}})");
  ASSERT_FALSE(outcome.ok());
}

}  // namespace
}  // namespace csinative::apiserver
