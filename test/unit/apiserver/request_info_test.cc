// SPDX-License-Identifier: Apache-2.0
#include "test/support/apiserver/request_info.h"

#include <gtest/gtest.h>

namespace csinative::apiserver {
namespace {

struct Case {
  const char* name;
  const char* method;
  const char* target;
  const char* verb;
  bool is_resource = true;
  const char* group = "";
  const char* resource = "";
  const char* namespace_name = "";
  const char* object = "";
  const char* subresource = "";
};

class RequestInfoTest : public ::testing::TestWithParam<Case> {};

TEST_P(RequestInfoTest, IsRead) {
  const Case& c = GetParam();
  std::optional<RequestInfo> info = ParseRequest(c.method, c.target);
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->verb, c.verb);
  EXPECT_EQ(info->is_resource, c.is_resource);
  EXPECT_EQ(info->group, c.group);
  EXPECT_EQ(info->resource, c.resource);
  EXPECT_EQ(info->namespace_name, c.namespace_name);
  EXPECT_EQ(info->name, c.object);
  EXPECT_EQ(info->subresource, c.subresource);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, RequestInfoTest,
    ::testing::Values(
        Case{"List", "GET", "/api/v1/persistentvolumes", "list", true, "", "persistentvolumes"},
        Case{"Watch", "GET", "/api/v1/persistentvolumes?watch=true", "watch", true, "",
             "persistentvolumes"},
        Case{"Get", "GET", "/apis/storage.k8s.io/v1/csinodes/n", "get", true, "storage.k8s.io",
             "csinodes", "", "n"},
        Case{"Namespaced", "POST", "/api/v1/namespaces/ns/events", "create", true, "", "events",
             "ns"},
        Case{"Subresource", "PATCH", "/api/v1/namespaces/ns/pods/p/status", "patch", true, "",
             "pods", "ns", "p", "status"},
        Case{"NamespaceItself", "GET", "/api/v1/namespaces/ns", "get", true, "", "namespaces", "",
             "ns"},
        Case{"NamespaceFinalize", "PUT", "/api/v1/namespaces/ns/finalize", "update", true, "",
             "namespaces", "", "ns", "finalize"},
        Case{"DeleteCollection", "DELETE", "/api/v1/namespaces/ns/pods", "deletecollection", true,
             "", "pods", "ns"},
        Case{"OldWatch", "GET", "/api/v1/watch/namespaces/ns/pods", "watch", true, "", "pods",
             "ns"},
        Case{"Discovery", "GET", "/apis/storage.k8s.io/v1", "get", false, "storage.k8s.io"},
        Case{"Health", "GET", "/readyz?verbose", "get", false}),
    [](const ::testing::TestParamInfo<Case>& info) { return info.param.name; });

TEST(RequestTargetTest, EscapesAreDecoded) {
  std::optional<RequestInfo> info =
      ParseRequest("GET", "/api/v1/pods?labelSelector=a%3Db%2Cc+in+%28d%29&limit=5");
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->Query("labelSelector"), "a=b,c in (d)");
  EXPECT_EQ(info->Query("limit"), "5");
}

TEST(RequestTargetTest, BrokenEscapeIsRefused) {
  EXPECT_FALSE(ParseRequest("GET", "/api/v1/pods/%zz").has_value());
  EXPECT_FALSE(ParseRequest("GET", "/api/v1/pods?a=%2").has_value());
}

}  // namespace
}  // namespace csinative::apiserver
