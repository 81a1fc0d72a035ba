// SPDX-License-Identifier: Apache-2.0
#include "test/support/apiserver/object_store.h"

#include <gtest/gtest.h>

#include "lib/base/strings.h"

namespace csinative::apiserver {
namespace {

class ObjectStoreTest : public ::testing::Test {
 protected:
  ObjectPtr Put(std::string_view name, std::string_view value) {
    JsonDocument document = *ParseJson(StrCat(R"({"metadata":{"namespace":"ns","name":")", name,
                                              R"("},"data":{"v":")", value, "\"}}"));
    return store_.Put(collection_, document);
  }
  void Delete(std::string_view name) { store_.Delete(collection_, "ns", name); }

  // The first change after a version: null for none yet, nullopt when it is forgotten.
  std::optional<const Change*> NextAfter(int64_t version) const {
    std::optional<uint64_t> cursor = collection_.CursorAfter(version);
    if (!cursor) return std::nullopt;
    return collection_.ChangeAt(*cursor);
  }

  // The names and values of a state, "a=1 b=2".
  static std::string Show(const std::map<Collection::Key, ObjectPtr>& objects) {
    std::string out;
    for (const auto& [key, object] : objects) {
      JsonDocument document = *ParseJson(object->json);
      out += StrCat(out.empty() ? "" : " ", key.second, "=", TextAt(document, "data", "v"));
    }
    return out;
  }

  ResourceTable resources_;
  const ResourceInfo& info_ = *resources_.Find("", "v1", "configmaps");
  ObjectStore store_{{.history = 4}};
  Collection& collection_ = store_.collection(info_);
};

TEST_F(ObjectStoreTest, EachWriteGetsItsOwnVersionInTheDocument) {
  ObjectPtr first = Put("a", "1");
  ObjectPtr second = Put("b", "1");
  EXPECT_EQ(second->resource_version, first->resource_version + 1);
  JsonDocument document = *ParseJson(second->json);
  EXPECT_EQ(TextAt(document, "metadata", "resourceVersion"),
            std::to_string(second->resource_version));
}

TEST_F(ObjectStoreTest, DocumentBeginsWithItsTypeAndCanLeaveItOut) {
  ObjectPtr object = Put("a", "1");
  EXPECT_TRUE(object->json.starts_with(R"({"kind":"ConfigMap","apiVersion":"v1",)"));
  EXPECT_TRUE(object->WithoutType().starts_with(R"({"metadata":)"));
}

TEST_F(ObjectStoreTest, PastStateIsRebuiltFromChanges) {
  Put("a", "1");
  int64_t before = Put("b", "1")->resource_version;
  Put("a", "2");
  Delete("b");
  Put("c", "1");
  EXPECT_EQ(Show(collection_.objects()), "a=2 c=1");
  EXPECT_EQ(Show(*collection_.At(before)), "a=1 b=1");
}

TEST_F(ObjectStoreTest, DeletedStateCarriesTheVersionOfTheDeletion) {
  int64_t version = Put("a", "1")->resource_version;
  Delete("a");
  const Change* change = *NextAfter(version);
  ASSERT_NE(change, nullptr);
  EXPECT_TRUE(change->deleted);
  EXPECT_EQ(change->object->resource_version, version + 1);
  EXPECT_EQ(change->previous->resource_version, version);
}

TEST_F(ObjectStoreTest, ChangesBeyondTheHistoryAreGone) {
  int64_t first = Put("a", "0")->resource_version;
  for (int i = 1; i < 5; ++i) Put("a", std::to_string(i));
  EXPECT_EQ(NextAfter(first - 1), std::nullopt);
  EXPECT_EQ((*NextAfter(first))->object->resource_version, first + 1);
  EXPECT_EQ(*NextAfter(store_.resource_version()), nullptr);
}

TEST_F(ObjectStoreTest, CompactionTakesNothingFromWhoHasSeenAll) {
  Put("a", "1");
  uint64_t cursor = *collection_.CursorAfter(store_.resource_version());
  ResourceTable resources;
  JsonDocument other = *ParseJson(R"({"metadata":{"name":"x"}})");
  store_.Put(store_.collection(*resources.Find("", "v1", "nodes")), other);
  store_.CompactAll();
  EXPECT_EQ(*collection_.ChangeAt(cursor), nullptr);
  Put("a", "2");
  EXPECT_NE(*collection_.ChangeAt(cursor), nullptr);
}

TEST_F(ObjectStoreTest, CompactionAlsoHoldsForCollectionsThatAreTouchedLater) {
  int64_t version = Put("a", "1")->resource_version;
  Put("a", "2");
  store_.CompactAll();
  EXPECT_EQ(NextAfter(version), std::nullopt);
  EXPECT_EQ(collection_.At(version), std::nullopt);
  Collection& other = store_.collection(*resources_.Find("", "v1", "secrets"));
  EXPECT_EQ(other.CursorAfter(version), std::nullopt);
  EXPECT_NE(other.CursorAfter(store_.resource_version()), std::nullopt);
}

TEST_F(ObjectStoreTest, IndexHoldsLabelsAndSelectableFields) {
  const ResourceInfo& pods = *resources_.Find("", "v1", "pods");
  JsonDocument document = *ParseJson(
      R"({"metadata":{"namespace":"ns","name":"p","labels":{"a":"b"}},"spec":{"nodeName":"n"}})");
  ObjectPtr pod = store_.Put(store_.collection(pods), document);
  EXPECT_EQ(pod->labels, (std::vector<std::pair<std::string, std::string>>{{"a", "b"}}));
  auto has = [&](std::string_view name, std::string_view value) {
    for (const auto& [key, text] : pod->fields) {
      if (key == name) return text == value;
    }
    return false;
  };
  EXPECT_TRUE(has("metadata.name", "p"));
  EXPECT_TRUE(has("metadata.namespace", "ns"));
  EXPECT_TRUE(has("spec.nodeName", "n"));
  EXPECT_TRUE(has("spec.hostNetwork", "false"));
}

}  // namespace
}  // namespace csinative::apiserver
