// SPDX-License-Identifier: Apache-2.0
#include "lib/kube/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "apis/k8s.h"
#include "lib/base/strings.h"

namespace csinative::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class StoreTest : public ::testing::Test {
 protected:
  static core::PersistentVolume Volume(std::string name, std::string storage_class,
                                       std::string version = "1") {
    core::PersistentVolume volume;
    volume.mutable_metadata()->set_name(std::move(name));
    volume.mutable_metadata()->set_resourceversion(std::move(version));
    volume.mutable_spec()->set_storageclassname(std::move(storage_class));
    return volume;
  }
  static PackedRef Put(Store& store, const core::PersistentVolume& volume) {
    return store.Put(volume.metadata().name(), volume.SerializeAsString(), volume);
  }
  static std::vector<std::string> Keys(const std::vector<PackedRef>& objects) {
    std::vector<std::string> keys;
    for (const PackedRef& object : objects) keys.emplace_back(object.key());
    return keys;
  }
  static std::vector<std::string> AllKeys(const Store& store) {
    std::vector<std::string> keys;
    store.ForEach([&](const PackedRef& object) {
      keys.emplace_back(object.key());
      return true;
    });
    return keys;
  }

  std::vector<Store::IndexDefinition> definitions_ = {
      {"class", [](const Store::Message& m) -> std::vector<std::string> {
         const auto& volume = static_cast<const core::PersistentVolume&>(m);
         if (volume.spec().storageclassname().empty()) return {};
         return {volume.spec().storageclassname(), "any", "any"};
       }}};
  MessagePool pool_{&core::PersistentVolume::default_instance()};
  Store store_{&pool_, &definitions_};
};

TEST_F(StoreTest, KeepsKeyOrderAndReturnsWhatItReplaces) {
  for (const char* name : {"c", "a", "b"}) EXPECT_FALSE(Put(store_, Volume(name, "x")));
  EXPECT_THAT(AllKeys(store_), ElementsAre("a", "b", "c"));
  const PackedRef old = Put(store_, Volume("b", "y", "2"));
  ASSERT_TRUE(old);
  core::PersistentVolume decoded;
  ASSERT_TRUE(decoded.ParseFromString(std::string(old.bytes())));
  EXPECT_EQ(decoded.spec().storageclassname(), "x");
  EXPECT_EQ(store_.size(), 3u);
  EXPECT_TRUE(store_.Erase("b"));
  EXPECT_FALSE(store_.Erase("b"));
  EXPECT_FALSE(store_.Find("b"));
  EXPECT_EQ(store_.After("a").key(), "c");
  EXPECT_FALSE(store_.After("c"));
}

// kube-client 24.10 I13.
TEST_F(StoreTest, IndexFollowsPutAndErase) {
  Put(store_, Volume("a", "fast"));
  Put(store_, Volume("c", "slow"));
  Put(store_, Volume("b", "fast"));
  EXPECT_THAT(Keys(store_.ByIndex("class", "fast")), ElementsAre("a", "b"));
  EXPECT_THAT(Keys(store_.ByIndex("class", "any")), ElementsAre("a", "b", "c"));
  Put(store_, Volume("a", "slow", "2"));
  EXPECT_THAT(Keys(store_.ByIndex("class", "fast")), ElementsAre("b"));
  EXPECT_THAT(Keys(store_.ByIndex("class", "slow")), ElementsAre("a", "c"));
  Put(store_, Volume("a", "", "3"));
  store_.Erase("b");
  EXPECT_THAT(store_.ByIndex("class", "fast"), IsEmpty());
  EXPECT_THAT(Keys(store_.ByIndex("class", "any")), ElementsAre("c"));
  EXPECT_THAT(store_.ByIndex("class", "fas"), IsEmpty());
}

TEST_F(StoreTest, EqualBytesKeepTheStoredObject) {
  Put(store_, Volume("a", "x"));
  const PackedRef before = store_.Find("a");
  EXPECT_EQ(Put(store_, Volume("a", "x")), before);
  EXPECT_EQ(store_.Find("a"), before);
}

TEST_F(StoreTest, SharedObjectsAreOneAllocationAndOutliveTheirStore) {
  auto other = std::make_unique<Store>(&pool_, &definitions_);
  Put(*other, Volume("a", "x"));
  const PackedRef object = other->Find("a");
  store_.Share(object, Volume("a", "x"));
  EXPECT_EQ(store_.Find("a"), object);
  other.reset();
  EXPECT_THAT(Keys(store_.ByIndex("class", "x")), ElementsAre("a"));
}

TEST_F(StoreTest, BytesReturnToWhatTheyWere) {
  Put(store_, Volume("a", "x"));
  const size_t one = store_.bytes();
  for (int i = 0; i < 200; ++i) Put(store_, Volume(StrCat("b", i), StrCat("class-", i)));
  EXPECT_GT(store_.bytes(), one);
  for (int i = 0; i < 200; ++i) store_.Erase(StrCat("b", i));
  // Capacity of the tables may stay.
  EXPECT_LT(store_.bytes(), one + 16 * 1024);
  store_.Erase("a");
}

// An object of the usual size.
core::PersistentVolume RealisticVolume(int n) {
  core::PersistentVolume volume;
  volume.mutable_metadata()->set_name(StrCat("pvc-c9d1f2a4-77", n * 7919 % 100003, "-", n));
  volume.mutable_metadata()->set_resourceversion(StrCat(1000 + n));
  volume.mutable_metadata()->add_finalizers("kubernetes.io/pv-protection");
  volume.mutable_metadata()->add_finalizers("external-attacher/ebs-csi-aws-com");
  volume.mutable_spec()->set_storageclassname(StrCat("class-", n % 3));
  auto* csi = volume.mutable_spec()->mutable_persistentvolumesource()->mutable_csi();
  csi->set_driver("ebs.csi.aws.com");
  csi->set_volumehandle(StrCat("vol-0", n * 104729 % 1000003));
  return volume;
}

class PackingStoreTest : public StoreTest {
 protected:
  const std::shared_ptr<ObjectPacker> packer_ = std::make_shared<ObjectPacker>();
  Store packing_{&pool_, &definitions_, packer_};
};

TEST_F(PackingStoreTest, LargeStoreTakesLittleAndGivesBackWhatItGot) {
  constexpr int kCount = 5000;
  for (int i = 0; i < kCount; ++i) {
    Put(packing_, RealisticVolume(i));
    Put(store_, RealisticVolume(i));
  }
  EXPECT_LT(packing_.bytes(), store_.bytes() * 8 / 10);
  for (int i = 0; i < kCount; ++i) {
    const core::PersistentVolume volume = RealisticVolume(i);
    const PackedRef object = packing_.Find(volume.metadata().name());
    ASSERT_TRUE(object);
    EXPECT_EQ(object.form(), i < 2 * ObjectPacker::kExamples - 1 ? PackedRef::Form::kPlain
                                                                 : PackedRef::Form::kPacked);
    EXPECT_EQ(packing_.PlainBytes(object), volume.SerializeAsString());
    EXPECT_EQ(packing_.Decode(object)->SerializeAsString(), volume.SerializeAsString());
    EXPECT_TRUE(packing_.Holds(object, volume.SerializeAsString()));
    EXPECT_FALSE(packing_.Holds(object, RealisticVolume(i + 1).SerializeAsString()));
  }
  EXPECT_EQ(packing_.ByIndex("class", "class-1").size(), store_.ByIndex("class", "class-1").size());
}

TEST_F(PackingStoreTest, SmallStoreStaysPlainHoweverMuchPassesThroughIt) {
  for (int i = 0; i < 5000; ++i) {
    Put(packing_, RealisticVolume(i));
    if (i >= 100) packing_.Erase(RealisticVolume(i - 100).metadata().name());
  }
  EXPECT_EQ(packing_.Find(RealisticVolume(4999).metadata().name()).form(), PackedRef::Form::kPlain);
}

TEST_F(PackingStoreTest, EqualBytesKeepTheStoredObject) {
  for (int i = 0; i < 1100; ++i) Put(packing_, RealisticVolume(i));
  const PackedRef before = packing_.Find(RealisticVolume(1050).metadata().name());
  ASSERT_EQ(before.form(), PackedRef::Form::kPacked);
  EXPECT_EQ(Put(packing_, RealisticVolume(1050)), before);
}

// A relist takes over what did not change, and goes on packing.
TEST_F(PackingStoreTest, StoresWithOnePackerReadEachOthersObjects) {
  for (int i = 0; i < 1100; ++i) Put(packing_, RealisticVolume(i));
  Store next(&pool_, &definitions_, packer_);
  const PackedRef object = packing_.Find(RealisticVolume(1050).metadata().name());
  next.Share(object, RealisticVolume(1050));
  EXPECT_EQ(next.PlainBytes(object), RealisticVolume(1050).SerializeAsString());
  Put(next, RealisticVolume(5));
  EXPECT_EQ(next.Find(RealisticVolume(5).metadata().name()).form(), PackedRef::Form::kPacked);
}

// Nothing in common with the examples, nothing in it that repeats, nothing at all.
TEST_F(PackingStoreTest, WhatDoesNotGetSmallerStaysPlain) {
  for (int i = 0; i < 1100; ++i) Put(packing_, RealisticVolume(i));
  std::mt19937 random(3);
  std::string noise(3000, ' ');
  for (char& c : noise) c = static_cast<char>(random());
  core::PersistentVolume volume;
  volume.mutable_metadata()->set_name("noise");
  volume.mutable_metadata()->set_uid(noise);
  Put(packing_, volume);
  EXPECT_EQ(packing_.Find("noise").form(), PackedRef::Form::kPlain);
  EXPECT_EQ(packing_.PlainBytes(packing_.Find("noise")), volume.SerializeAsString());
  packing_.Put("empty", "", core::PersistentVolume());
  EXPECT_EQ(packing_.PlainBytes(packing_.Find("empty")), "");
  core::PersistentVolume large;
  large.mutable_metadata()->set_name("large");
  large.mutable_metadata()->set_uid(std::string(3 << 20, 'x'));
  Put(packing_, large);
  EXPECT_EQ(packing_.PlainBytes(packing_.Find("large")), large.SerializeAsString());
}

// The same operations on a std::map, with enough objects for several chunks.
TEST_F(StoreTest, AgreesWithAMapOnRandomOperations) {
  std::mt19937 random(7);
  std::map<std::string, std::string> model;  // key to class
  for (int i = 0; i < 20000; ++i) {
    const std::string key = StrCat("k", random() % 3000);
    if (random() % 3 == 0) {
      EXPECT_EQ(static_cast<bool>(store_.Erase(key)), model.erase(key) > 0);
    } else {
      const std::string storage_class = StrCat("c", random() % 5);
      Put(store_, Volume(key, storage_class));
      model[key] = storage_class;
    }
  }
  std::vector<std::string> keys;
  std::vector<std::string> in_c3;
  for (const auto& [key, storage_class] : model) {
    keys.push_back(key);
    if (storage_class == "c3") in_c3.push_back(key);
  }
  EXPECT_EQ(AllKeys(store_), keys);
  EXPECT_EQ(Keys(store_.ByIndex("class", "c3")), in_c3);
  EXPECT_EQ(store_.size(), keys.size());
  std::vector<std::string> stepped;
  for (PackedRef o = store_.First(); o; o = store_.After(o.key())) stepped.emplace_back(o.key());
  EXPECT_EQ(stepped, keys);
}

}  // namespace
}  // namespace csinative::kube
