// SPDX-License-Identifier: Apache-2.0
#include "test/support/apiserver/list_options.h"

#include <gtest/gtest.h>

#include "lib/base/strings.h"

namespace csinative::apiserver {
namespace {

class ListTest : public ::testing::Test {
 protected:
  ListTest() {
    for (const char* name : {"a", "b", "c", "d"}) Put("one", name);
    Put("two", "e");
  }

  void Put(std::string_view namespace_name, std::string_view name) {
    JsonDocument document =
        *ParseJson(StrCat(R"({"metadata":{"namespace":")", namespace_name, R"(","name":")", name,
                          R"(","labels":{"l":")", name, R"("}}})"));
    store_.Put(collection_, document);
  }

  // Names, then "+" when more pages follow; or the failure's code.
  std::string Page(const std::string& query, std::string* token = nullptr) {
    std::optional<RequestInfo> request =
        ParseRequest("GET", "/api/v1/namespaces/one/configmaps?" + query);
    Outcome<ListOptions> options = ParseListOptions(info_, *request);
    if (!options.ok()) return std::to_string(options.failure().code);
    Outcome<ListResult> result = List(store_, collection_, *options);
    if (!result.ok()) return std::to_string(result.failure().code);
    std::string out;
    for (const ObjectPtr& item : result->items) out += item->name;
    JsonDocument metadata = *ParseJson(result->metadata);
    std::string_view next = TextAt(metadata, "continue");
    if (token != nullptr) *token = next;
    return next.empty() ? out : out + "+";
  }

  ResourceTable resources_;
  const ResourceInfo& info_ = *resources_.Find("", "v1", "configmaps");
  ObjectStore store_;
  Collection& collection_ = store_.collection(info_);
};

TEST_F(ListTest, NamespaceAndSelectorsNarrow) {
  EXPECT_EQ(Page(""), "abcd");
  EXPECT_EQ(Page("labelSelector=l%20in%20(a,c)"), "ac");
  EXPECT_EQ(Page("fieldSelector=metadata.name%21%3Db"), "acd");
}

TEST_F(ListTest, PagesShowTheStateOfTheFirstOne) {
  std::string token;
  EXPECT_EQ(Page("limit=2", &token), "ab+");
  store_.Delete(collection_, "one", "c");
  Put("one", "cc");
  EXPECT_EQ(Page("limit=2&continue=" + token, &token), "cd");
  EXPECT_EQ(Page(""), "abccd");
}

TEST_F(ListTest, PageAfterCompactionIsExpired) {
  std::string token;
  EXPECT_EQ(Page("limit=2", &token), "ab+");
  Put("one", "z");
  store_.CompactAll();
  EXPECT_EQ(Page("limit=2&continue=" + token), "410");
}

TEST_F(ListTest, VersionsOfTheFutureAreTooLarge) {
  EXPECT_EQ(Page("resourceVersion=999"), "504");
  EXPECT_EQ(Page("resourceVersion=1"), "abcd");
}

TEST_F(ListTest, ExactVersionShowsThePast) {
  std::string version = std::to_string(store_.resource_version());
  Put("one", "x");
  EXPECT_EQ(Page("resourceVersionMatch=Exact&resourceVersion=" + version), "abcd");
}

TEST_F(ListTest, WrongOptionsAreRefused) {
  EXPECT_EQ(Page("limit=x"), "400");
  EXPECT_EQ(Page("continue=abc"), "400");
  EXPECT_EQ(Page("resourceVersion=x"), "400");
  EXPECT_EQ(Page("labelSelector=a=b=c"), "400");
  EXPECT_EQ(Page("fieldSelector=spec.nodeName=b"), "400");
  EXPECT_EQ(Page("resourceVersionMatch=Exact"), "422");
  EXPECT_EQ(Page("sendInitialEvents=true"), "422");
}

}  // namespace
}  // namespace csinative::apiserver
