// SPDX-License-Identifier: Apache-2.0
#include "test/support/apiserver/api_handler.h"

#include "apis/envelope.h"
#include "apis/k8s.h"
#include "test/unit/apiserver/handler_fixture.h"

namespace csinative::apiserver {
namespace {

constexpr char kMaps[] = "/api/v1/namespaces/default/configmaps";

class ApiHandlerTest : public HandlerTest {};

TEST_F(ApiHandlerTest, UnknownTokenIsUnauthorized) {
  token_ = "wrong";
  EXPECT_EQ(Do("GET", kMaps),
            R"(401 {"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",)"
            R"("message":"Unauthorized","reason":"Unauthorized","code":401})");
}

TEST_F(ApiHandlerTest, AnonymousMayOnlyAskForHealth) {
  token_ = "";
  EXPECT_EQ(Do("GET", "/readyz"), "200 ok");
  std::string answer = Do("GET", "/api/v1/persistentvolumes");
  EXPECT_EQ(Code(answer), 403);
  EXPECT_NE(answer.find(R"(persistentvolumes is forbidden: User \"system:anonymous\" cannot list )"
                        R"(resource \"persistentvolumes\" in API group \"\" at the cluster scope)"),
            std::string::npos)
      << answer;
}

TEST_F(ApiHandlerTest, AuthorizerDeniesByRule) {
  api_.set_authorizer([](const RequestInfo& info) { return info.verb != "delete"; });
  CreateConfigMap("a");
  EXPECT_EQ(Code(Do("DELETE", StrCat(kMaps, "/a"))), 403);
}

TEST_F(ApiHandlerTest, ObjectLivesItsLife) {
  CreateConfigMap("a");
  EXPECT_EQ(Code(Do("GET", StrCat(kMaps, "/a"))), 200);
  EXPECT_EQ(Code(Do("PATCH", StrCat(kMaps, "/a"), R"({"data":{"k":"v"}})",
                    "application/merge-patch+json")),
            200);
  EXPECT_NE(Do("GET", kMaps).find(R"("data":{"k":"v"})"), std::string::npos);
  EXPECT_NE(Do("DELETE", StrCat(kMaps, "/a")).find(R"("status":"Success")"), std::string::npos);
  EXPECT_EQ(Code(Do("GET", StrCat(kMaps, "/a"))), 404);
}

TEST_F(ApiHandlerTest, ProtobufBothWays) {
  core::ConfigMap map;
  map.mutable_metadata()->set_name("p");
  Exchange created =
      Start("POST", kMaps, apis::Wrap("v1", "ConfigMap", map),
            std::string(apis::kProtobufContentType), "application/vnd.kubernetes.protobuf, */*");
  EXPECT_EQ(created->status, 201);
  EXPECT_EQ(created->headers.Get("Content-Type"), apis::kProtobufContentType);
  core::ConfigMap answer;
  ASSERT_TRUE(apis::UnwrapInto(created->body, &answer).ok());
  EXPECT_EQ(answer.metadata().name(), "p");
  EXPECT_FALSE(answer.metadata().uid().empty());

  Exchange list = Start("GET", kMaps, "", "", "application/vnd.kubernetes.protobuf");
  core::ConfigMapList items;
  ASSERT_TRUE(apis::UnwrapInto(list->body, &items).ok());
  ASSERT_EQ(items.items_size(), 1);
  EXPECT_EQ(items.items(0).metadata().uid(), answer.metadata().uid());
  EXPECT_FALSE(items.metadata().resourceversion().empty());

  Exchange missing =
      Start("GET", StrCat(kMaps, "/zz"), "", "", "application/vnd.kubernetes.protobuf");
  meta::Status status;
  ASSERT_TRUE(apis::UnwrapInto(missing->body, &status).ok());
  EXPECT_EQ(status.reason(), "NotFound");
}

TEST_F(ApiHandlerTest, UnservedEncodingsAreRefused) {
  EXPECT_EQ(Start("GET", kMaps, "", "", "text/html")->status, 406);
  EXPECT_EQ(Code(Do("POST", kMaps, "x", "text/plain")), 415);
  EXPECT_EQ(Code(Do("PATCH", StrCat(kMaps, "/a"), "{}", "application/json")), 415);
}

TEST_F(ApiHandlerTest, CustomResourcesAreJsonOnly) {
  constexpr char kSnapshots[] = "/apis/snapshot.storage.k8s.io/v1/volumesnapshotclasses";
  EXPECT_EQ(Start("GET", kSnapshots, "", "", "application/vnd.kubernetes.protobuf")->status, 406);
  EXPECT_EQ(Code(Do("GET", kSnapshots)), 200);
  EXPECT_EQ(Code(Do("POST", kSnapshots,
                    R"({"apiVersion":"snapshot.storage.k8s.io/v1",)"
                    R"("kind":"VolumeSnapshotClass","metadata":{"name":"s"},)"
                    R"("driver":"d","deletionPolicy":"Delete"})")),
            201);
  EXPECT_EQ(
      Code(Do("PATCH", StrCat(kSnapshots, "/s"), "{}", "application/strategic-merge-patch+json")),
      415);
}

TEST_F(ApiHandlerTest, DefinitionsMakeNewKindsAvailable) {
  constexpr char kPath[] = "/apis/example.com/v1/namespaces/default/widgets";
  EXPECT_EQ(Code(Do("GET", kPath)), 404);
  EXPECT_EQ(Code(Do("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                    R"({"metadata":{"name":"widgets.example.com"},"spec":{"group":"example.com",)"
                    R"("scope":"Namespaced","names":{"plural":"widgets","kind":"Widget"},)"
                    R"("versions":[{"name":"v1","served":true,"storage":true,)"
                    R"("subresources":{"status":{}}}]}})")),
            201);
  EXPECT_EQ(Code(Do("GET", kPath)), 200);
  EXPECT_EQ(Code(Do("POST", kPath,
                    R"({"apiVersion":"example.com/v1","kind":"Widget",)"
                    R"("metadata":{"name":"w"},"spec":{"size":1}})")),
            201);
  std::string answer =
      Do("PATCH", StrCat(kPath, "/w"), R"({"spec":{"size":2}})", "application/merge-patch+json");
  EXPECT_NE(answer.find(R"("generation":2)"), std::string::npos) << answer;
}

TEST_F(ApiHandlerTest, ServiceAccountTokenLogsIn) {
  EXPECT_EQ(Code(Do("POST", "/api/v1/namespaces/default/serviceaccounts",
                    R"({"metadata":{"name":"sa"}})")),
            201);
  std::string answer = Do("POST", "/api/v1/namespaces/default/serviceaccounts/sa/token",
                          R"({"spec":{"audiences":["a"],"expirationSeconds":600}})");
  ASSERT_EQ(Code(answer), 201);
  JsonDocument document = *ParseJson(answer.substr(4));
  token_ = TextAt(document, "status", "token");
  EXPECT_EQ(Code(Do("GET", kMaps)), 200);
  EXPECT_EQ(api_.log().back().user, "system:serviceaccount:default:sa");
  scheduler_.Advance(std::chrono::seconds(601));
  EXPECT_EQ(Code(Do("GET", kMaps)), 401);
}

TEST_F(ApiHandlerTest, InjectedFailureHasNoEffect) {
  api_.set_fault_hook([](const RequestInfo& info) {
    Fault fault;
    if (info.verb == "create") fault = {.code = 429, .retry_after_seconds = 7};
    return fault;
  });
  Exchange exchange = Start("POST", kMaps, R"({"metadata":{"name":"a"}})");
  EXPECT_EQ(exchange->status, 429);
  EXPECT_EQ(exchange->headers.Get("Retry-After"), "7");
  EXPECT_EQ(Code(Do("GET", StrCat(kMaps, "/a"))), 404);
}

TEST_F(ApiHandlerTest, ConnectionCanDropBeforeOrAfterTheEffect) {
  Fault::Drop drop = Fault::Drop::kBefore;
  api_.set_fault_hook([&drop](const RequestInfo& info) {
    return Fault{.drop = info.verb == "create" ? drop : Fault::Drop::kNone};
  });
  EXPECT_TRUE(Start("POST", kMaps, R"({"metadata":{"name":"a"}})")->aborted);
  EXPECT_EQ(Code(Do("GET", StrCat(kMaps, "/a"))), 404);
  drop = Fault::Drop::kAfter;
  EXPECT_TRUE(Start("POST", kMaps, R"({"metadata":{"name":"a"}})")->aborted);
  EXPECT_EQ(Code(Do("GET", StrCat(kMaps, "/a"))), 200);
}

TEST_F(ApiHandlerTest, DelayedRequestTakesItsTime) {
  api_.set_fault_hook([](const RequestInfo&) { return Fault{.delay = std::chrono::seconds(3)}; });
  Exchange exchange = Start("GET", kMaps);
  EXPECT_FALSE(exchange->ended);
  scheduler_.Advance(std::chrono::seconds(3));
  EXPECT_EQ(exchange->status, 200);
}

TEST_F(ApiHandlerTest, LogHoldsVerbAndCode) {
  CreateConfigMap("a");
  const LoggedRequest& entry = api_.log().back();
  EXPECT_EQ(entry.verb, "create");
  EXPECT_EQ(entry.target, kMaps);
  EXPECT_EQ(entry.user, "admin");
  EXPECT_EQ(entry.code, 201);
}

TEST_F(ApiHandlerTest, UnknownFieldsWarnOrFail) {
  constexpr char kBody[] = R"({"metadata":{"name":"a"},"foo":1})";
  EXPECT_EQ(Code(Do("POST", StrCat(kMaps, "?fieldValidation=Strict"), kBody)), 400);
  Exchange exchange = Start("POST", kMaps, kBody);
  EXPECT_EQ(exchange->status, 201);
  EXPECT_EQ(exchange->headers.Get("Warning"), R"(299 - "unknown field \"foo\"")");
}

}  // namespace
}  // namespace csinative::apiserver
