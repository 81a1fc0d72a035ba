// SPDX-License-Identifier: Apache-2.0
#include "apis/core/v1/maps.h"

#include <gtest/gtest.h>

#include "apis/k8s.h"

namespace csinative::apis {
namespace {

std::string Keys(const Entries<StringEntry>& entries) {
  std::string out;
  for (const StringEntry& entry : entries) out += entry.key() + "=" + entry.value() + ";";
  return out;
}

TEST(MapsTest, SetKeepsSortedEntriesSorted) {
  meta::ObjectMeta meta;
  for (std::string_view key : {"m", "z", "a", "n"}) {
    SetEntry(meta.mutable_labels(), key, "1");
  }
  SetEntry(meta.mutable_labels(), "m", "2");
  EXPECT_EQ(Keys(meta.labels()), "a=1;m=2;n=1;z=1;");
}

TEST(MapsTest, EmptyValuesArePresentOnTheWire) {
  meta::ObjectMeta meta;
  SetEntry(meta.mutable_labels(), "a", "");
  EXPECT_EQ(meta.SerializeAsString(), std::string("\x5a\x05\x0a\x01"
                                                  "a\x12\x00",
                                                  7));
}

TEST(MapsTest, LastOfARepeatedKeyCounts) {
  meta::ObjectMeta meta;
  for (const char* value : {"1", "2"}) {
    StringEntry* entry = meta.add_labels();
    entry->set_key("k");
    entry->set_value(value);
  }
  EXPECT_EQ(*GetEntry(meta.labels(), "k"), "2");
  EXPECT_TRUE(EraseEntry(meta.mutable_labels(), "k"));
  EXPECT_FALSE(HasEntry(meta.labels(), "k"));
  EXPECT_FALSE(EraseEntry(meta.mutable_labels(), "k"));
}

TEST(MapsTest, EraseKeepsTheOrderOfTheRest) {
  meta::ObjectMeta meta;
  for (std::string_view key : {"a", "b", "c", "d"}) SetEntry(meta.mutable_labels(), key, "1");
  EXPECT_TRUE(EraseEntry(meta.mutable_labels(), "b"));
  EXPECT_EQ(Keys(meta.labels()), "a=1;c=1;d=1;");
}

TEST(MapsTest, LookupTellsAbsentFromEmpty) {
  meta::ObjectMeta meta;
  SetEntry(meta.mutable_annotations(), "empty", "");
  EXPECT_NE(GetEntry(meta.annotations(), "empty"), nullptr);
  EXPECT_EQ(GetEntry(meta.annotations(), "absent"), nullptr);
  EXPECT_EQ(GetEntryOr(meta.annotations(), "empty", "x"), "");
  EXPECT_EQ(GetEntryOr(meta.annotations(), "absent", "x"), "x");
}

TEST(MapsTest, WorksForEveryEntryType) {
  core::PersistentVolumeSpec spec;
  MutableEntry(spec.mutable_capacity(), "storage")->set_string("1Gi");
  EXPECT_EQ(GetEntry(spec.capacity(), "storage")->string(), "1Gi");
  core::Secret secret;
  SetEntry(secret.mutable_data(), "key", std::string("\0\xff", 2));
  EXPECT_EQ(GetEntryOr(secret.data(), "key"), std::string_view("\0\xff", 2));
}

TEST(MapsTest, SameEntriesIgnoresOrder) {
  meta::ObjectMeta a;
  meta::ObjectMeta b;
  for (const char* key : {"x", "y"}) a.add_labels()->set_key(key);
  for (const char* key : {"y", "x"}) b.add_labels()->set_key(key);
  EXPECT_TRUE(SameEntries(a.labels(), b.labels()));
  SetEntry(b.mutable_labels(), "y", "1");
  EXPECT_FALSE(SameEntries(a.labels(), b.labels()));
  EraseEntry(b.mutable_labels(), "y");
  EXPECT_FALSE(SameEntries(a.labels(), b.labels()));
}

}  // namespace
}  // namespace csinative::apis
