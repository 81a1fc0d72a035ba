// SPDX-License-Identifier: Apache-2.0
#include "apis/declared_fields.h"

#include <gtest/gtest.h>

#include <string>

#include "apis/k8s.h"
#include "apis/wire.h"

namespace csinative::apis {
namespace {

std::string Field(int number, std::string_view bytes) {
  std::string out;
  AppendVarint(static_cast<uint64_t>(number) << 3 | 2, &out);
  AppendVarint(bytes.size(), &out);
  return out.append(bytes);
}

std::string Metadata(bool with_strangers) {
  core::PersistentVolumeClaim claim;
  meta::ObjectMeta& metadata = *claim.mutable_metadata();
  metadata.set_name("data");
  auto& annotation = *metadata.add_annotations();
  annotation.set_key("a");
  annotation.set_value("b");
  metadata.add_finalizers("kubernetes.io/pvc-protection");
  std::string bytes = metadata.SerializeAsString();
  if (with_strangers) bytes += Field(17, std::string(900, 'm')) + Field(17, "n");
  return bytes;
}

// A claim as an API server sends it; with what nobody declared at every depth.
std::string Claim(bool with_strangers) {
  core::PersistentVolumeClaim claim;
  claim.mutable_spec()->set_volumename("pv");
  claim.mutable_status()->set_phase("Bound");
  std::string spec = claim.spec().SerializeAsString();
  std::string bytes = Field(1, Metadata(with_strangers));
  if (with_strangers) spec += Field(900, "later");
  bytes += Field(2, spec);
  bytes += Field(3, claim.status().SerializeAsString());
  if (with_strangers) bytes += Field(901, "later still");
  return bytes;
}

TEST(DeclaredFieldsTest, OnlyDeclaredFieldsArriveFromAnyDepth) {
  core::PersistentVolumeClaim claim;
  claim.mutable_metadata()->set_uid("of the object that was here before");
  ASSERT_TRUE(ParseDeclaredFields(Claim(true), &claim));
  EXPECT_EQ(claim.SerializeAsString(), Claim(false));
}

TEST(DeclaredFieldsTest, DropUnknownFieldsDoesAsTheLibraryDoes) {
  core::PersistentVolumeClaim ours;
  ASSERT_TRUE(ours.ParseFromString(Claim(true)));
  core::PersistentVolumeClaim theirs = ours;
  ASSERT_NE(ours.SerializeAsString(), Claim(false));
  DropUnknownFields(&ours);
  theirs.DiscardUnknownFields();
  EXPECT_EQ(ours.SerializeAsString(), theirs.SerializeAsString());
  EXPECT_EQ(ours.SerializeAsString(), Claim(false));
}

TEST(DeclaredFieldsTest, ManagedFieldsAreCutOffTheMetadata) {
  std::string scratch = "from the last object";
  const std::string with = Field(1, Metadata(true)) + Field(2, "spec");
  EXPECT_EQ(WithoutManagedFields(with, &scratch), Field(1, Metadata(false)) + Field(2, "spec"));
  const std::string only = Field(1, Field(17, "m"));
  EXPECT_EQ(WithoutManagedFields(only, &scratch), Field(1, ""));
}

TEST(DeclaredFieldsTest, EverythingElseIsLeftAlone) {
  std::string scratch;
  const std::string cases[] = {
      "",
      Field(1, ""),
      Field(1, Metadata(false)) + Field(2, "spec"),
      Field(2, "spec first") + Field(1, Metadata(true)),
      Field(1, Field(17, "m") + Field(14, "a finalizer after it")),
      Field(1, Field(17, "m") + "\x0a\x7f"),  // metadata that ends within a field
      Field(1, Field(17, "m")).substr(0, 3),
      "\x08\x05",  // field 1 is a number
      "\xff",
  };
  for (const std::string& bytes : cases) {
    EXPECT_EQ(WithoutManagedFields(bytes, &scratch), bytes);
  }
}

TEST(DeclaredFieldsTest, WhatCannotBeParsedWithManagedFieldsCannotBeWithoutThem) {
  core::PersistentVolumeClaim claim;
  EXPECT_FALSE(ParseDeclaredFields(Field(1, Metadata(true)) + "\x12\x7f", &claim));
  EXPECT_FALSE(ParseDeclaredFields(Field(1, Metadata(true) + "\x0a\x7f"), &claim));
  // No object: its field 1 is another thing.
  meta::Status status;
  EXPECT_TRUE(ParseDeclaredFields(Field(2, "Failure"), &status));
  EXPECT_EQ(status.status(), "Failure");
}

}  // namespace
}  // namespace csinative::apis
