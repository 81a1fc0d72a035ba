// SPDX-License-Identifier: Apache-2.0
//
// Provisioner 9.5, 22.9: a claim of ns2 wants the object of ns1.
#include "cmd/provisioner/reference_grants.h"

#include <gtest/gtest.h>

#include "apis/json/from_json.h"
#include "lib/base/strings.h"
#include "test/support/oracle_rows.h"

namespace csinative::provisioner {
namespace {

constexpr char kFrom[] = R"({"group":"","kind":"PersistentVolumeClaim","namespace":"ns2"})";
constexpr char kToClaim[] = R"({"group":"","kind":"PersistentVolumeClaim"})";
constexpr char kToSnapshot[] = R"({"group":"snapshot.storage.k8s.io","kind":"VolumeSnapshot"})";
const DataSource kClaim{"PersistentVolumeClaim", "source", "", "ns1"};
const DataSource kSnapshot{"VolumeSnapshot", "source", "snapshot.storage.k8s.io", "ns1"};
const DataSource kHello{"Hello", "source", "hello.k8s.io/v1alpha1", "ns1"};

struct GrantCase {
  std::string rows;
  std::string name;
  DataSource source = kClaim;
  std::string from = kFrom;
  std::string to = kToClaim;
  std::string ns = "ns1";
  bool granted = false;
};
void PrintTo(const GrantCase& c, std::ostream* out) { *out << c.name; }

gateway::ReferenceGrant Grant(const std::string& ns, const std::string& from,
                              const std::string& to) {
  gateway::ReferenceGrant grant;
  const Status parsed =
      apis::FromJsonString(StrCat(R"({"metadata":{"name":"g","namespace":")", ns,
                                  R"("},"spec":{"from":[)", from, R"(],"to":[)", to, "]}}"),
                           &grant);
  EXPECT_TRUE(parsed.ok()) << parsed.message();
  return grant;
}

class IsGrantedTest : public ::testing::TestWithParam<GrantCase> {};

TEST_P(IsGrantedTest, FollowsTheOracle) {
  const GrantCase& c = GetParam();
  const oracle::Rows rows(c.rows);
  EXPECT_EQ(IsGranted("ns2", c.source, {Grant(c.ns, c.from, c.to)}), c.granted);
}

GrantCase Yes(const std::string& row, const std::string& name, const std::string& to,
              DataSource source = kClaim) {
  return {.rows = row, .name = name, .source = std::move(source), .to = to, .granted = true};
}
GrantCase WrongFrom(const std::string& name, const std::string& from) {
  return {.rows = "provisioner/22.9/8", .name = name, .from = from};
}
GrantCase WrongTo(const std::string& name, const std::string& to) {
  return {.rows = "provisioner/22.9/8", .name = name, .to = to};
}

INSTANTIATE_TEST_SUITE_P(
    Granted, IsGrantedTest,
    ::testing::Values(
        Yes("provisioner/22.9/1", "claim", kToClaim),
        Yes("provisioner/22.9/2", "with the source's name",
            R"({"group":"","kind":"PersistentVolumeClaim","name":"source"})"),
        Yes("provisioner/22.9/2", "name null",
            R"({"group":"","kind":"PersistentVolumeClaim","name":null})"),
        Yes("provisioner/22.9/2", "name empty",
            R"({"group":"","kind":"PersistentVolumeClaim","name":""})"),
        // A reference without apiGroup has the group "".
        Yes("provisioner/22.9/3", "reference without group", kToClaim,
            {.kind = "PersistentVolumeClaim", .name = "source", .group = {}, .ns = "ns1"}),
        Yes("provisioner/22.9/4", "snapshot", kToSnapshot, kSnapshot),
        Yes("provisioner/22.9/5", "any kind", R"({"group":"hello.k8s.io/v1alpha1","kind":"Hello"})",
            kHello)));

INSTANTIATE_TEST_SUITE_P(
    Refused, IsGrantedTest,
    ::testing::Values(
        GrantCase{.rows = "provisioner/22.9/7", .name = "other namespace", .ns = "ns3"},
        WrongFrom("from another group",
                  R"({"group":"g","kind":"PersistentVolumeClaim","namespace":"ns2"})"),
        WrongFrom("group as kind",
                  R"({"group":"PersistentVolumeClaim","kind":"","namespace":"ns2"})"),
        WrongFrom("from another namespace",
                  R"({"group":"","kind":"PersistentVolumeClaim","namespace":"ns3"})"),
        WrongTo("to another group", R"({"group":"g","kind":"PersistentVolumeClaim"})"),
        WrongTo("to another kind", R"({"group":"","kind":"Wrong"})"),
        WrongTo("to another name", R"({"group":"","kind":"PersistentVolumeClaim","name":"other"})"),
        GrantCase{.rows = "provisioner/22.9/9",
                  .name = "claim by a grant for snapshots",
                  .to = kToSnapshot},
        GrantCase{.rows = "provisioner/22.9/10",
                  .name = "snapshot without group",
                  .source = {"VolumeSnapshot", "source", "", "ns1"},
                  .to = kToSnapshot},
        GrantCase{.rows = "provisioner/22.9/11",
                  .name = "snapshot by a grant for claims",
                  .source = kSnapshot},
        GrantCase{.rows = "provisioner/22.9/12", .name = "no from", .from = ""},
        GrantCase{.rows = "provisioner/22.9/12", .name = "no to", .to = ""},
        GrantCase{.rows = "provisioner/22.9/12", .name = "neither", .from = "", .to = ""}));

TEST(IsGrantedTest, NothingIsGrantedWithoutGrants) {
  for (const DataSource& source : {kClaim, kSnapshot, kHello}) {
    const oracle::Row row("provisioner/22.9/6");
    EXPECT_FALSE(IsGranted("ns2", source, {}));
  }
}

TEST(IsGrantedTest, FromAndToOfTwoGrantsDoNotAddUp) {
  EXPECT_FALSE(
      IsGranted("ns2", kClaim, {Grant("ns1", kFrom, kToSnapshot), Grant("ns1", "", kToClaim)}));
}

}  // namespace
}  // namespace csinative::provisioner
