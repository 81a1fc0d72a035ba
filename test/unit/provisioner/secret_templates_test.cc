// SPDX-License-Identifier: Apache-2.0
#include "cmd/provisioner/secret_templates.h"

#include <gtest/gtest.h>

#include "apis/core/v1/maps.h"
#include "cmd/provisioner/template_expansion.h"
#include "test/support/oracle_rows.h"

namespace csinative::provisioner {
namespace {

using secret_kind::kNodePublish;
using secret_kind::kProvisioner;

constexpr const char* kDepName = "csiNodePublishSecretName";
constexpr const char* kDepNs = "csiNodePublishSecretNamespace";
constexpr const char* kName = "csi.storage.k8s.io/node-publish-secret-name";
constexpr const char* kNs = "csi.storage.k8s.io/node-publish-secret-namespace";
constexpr const char* kProvDepName = "csiProvisionerSecretName";
constexpr const char* kProvDepNs = "csiProvisionerSecretNamespace";
constexpr const char* kProvName = "csi.storage.k8s.io/provisioner-secret-name";
constexpr const char* kProvNs = "csi.storage.k8s.io/provisioner-secret-namespace";

struct SecretCase {
  std::string rows = "";  // of the oracle
  std::string name;       // situation -> result
  const SecretKeys* kind = &kNodePublish;
  Parameters parameters;
  bool has_claim = true;
  std::string claim_namespace = "";
  std::string claim_name = "";
  std::string annotation = "";  // value of "akey"; empty: absent
  std::string volume_name = "";
  // "ns/name"; "": no reference; nothing: an error
  std::optional<std::string> expected;
};

void PrintTo(const SecretCase& c, std::ostream* out) { *out << c.name; }

class ResolveSecretTest : public ::testing::TestWithParam<SecretCase> {};

TEST_P(ResolveSecretTest, FollowsTheOracle) {
  const SecretCase& c = GetParam();
  const oracle::Rows rows(c.rows);
  core::PersistentVolumeClaim claim;
  claim.mutable_metadata()->set_namespace_(c.claim_namespace);
  claim.mutable_metadata()->set_name(c.claim_name);
  if (!c.annotation.empty()) {
    apis::SetEntry(claim.mutable_metadata()->mutable_annotations(), "akey", c.annotation);
  }
  auto found =
      ResolveSecret(*c.kind, c.parameters, {c.volume_name, c.has_claim ? &claim : nullptr});
  ASSERT_EQ(found.ok(), c.expected.has_value()) << found.status().message();
  if (!c.expected) return;
  EXPECT_EQ(*found ? (*found)->namespace_() + "/" + (*found)->name() : "", *c.expected);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, ResolveSecretTest,
    ::testing::Values(
        SecretCase{.rows = "provisioner/22.2/1", .name = "no keys -> no reference", .expected = ""},
        SecretCase{.rows = "provisioner/22.2/2",
                   .name = "empty values -> error",
                   .parameters = {{kDepName, ""}, {kDepNs, ""}}},
        SecretCase{.rows = "provisioner/22.2/3",
                   .name = "deprecated name only -> error",
                   .parameters = {{kDepName, "name"}}},
        SecretCase{.rows = "provisioner/22.2/3",
                   .name = "name only -> error",
                   .parameters = {{kName, "name"}}},
        SecretCase{.rows = "provisioner/22.2/3",
                   .name = "deprecated namespace only -> error",
                   .parameters = {{kDepNs, "ns"}}},
        SecretCase{.rows = "provisioner/22.2/3",
                   .name = "namespace only -> error",
                   .parameters = {{kNs, "ns"}}},
        SecretCase{.rows = "provisioner/22.2/4",
                   .name = "deprecated pair -> reference",
                   .parameters = {{kDepName, "name"}, {kDepNs, "ns"}},
                   .expected = "ns/name"},
        SecretCase{
            .rows = "provisioner/22.2/5",
            .name = "both pairs -> error",
            .parameters = {{kDepName, "name"}, {kDepNs, "ns"}, {kName, "name"}, {kNs, "ns"}}},
        SecretCase{.rows = "provisioner/22.2/6",
                   .name = "deprecated pair and name -> error",
                   .parameters = {{kDepName, "name"}, {kDepNs, "ns"}, {kName, "name"}}},
        SecretCase{.rows = "provisioner/22.2/7",
                   .name = "deprecated pair and namespace -> error",
                   .parameters = {{kDepName, "name"}, {kDepNs, "ns"}, {kNs, "ns"}}},
        SecretCase{.rows = "provisioner/22.2/8",
                   .name = "deprecated name, current namespace -> reference",
                   .parameters = {{kDepName, "name"}, {kNs, "ns"}},
                   .expected = "ns/name"},
        SecretCase{.rows = "provisioner/22.2/9",
                   .name = "current pair -> reference",
                   .parameters = {{kName, "name"}, {kNs, "ns"}},
                   .expected = "ns/name"},
        SecretCase{.rows = "provisioner/22.2/10",
                   .name = "provisioner, deprecated pair, no claim -> reference",
                   .kind = &kProvisioner,
                   .parameters = {{kProvDepName, "name"}, {kProvDepNs, "ns"}},
                   .has_claim = false,
                   .expected = "ns/name"},
        SecretCase{.rows = "provisioner/22.2/11",
                   .name = "provisioner, values independent of the claim -> reference",
                   .kind = &kProvisioner,
                   .parameters = {{kProvDepName, "param-name"}, {kProvDepNs, "param-ns"}},
                   .claim_namespace = "ns",
                   .claim_name = "name",
                   .expected = "param-ns/param-name"},
        SecretCase{.rows = "provisioner/22.2/12",
                   .name = "invalid name -> error",
                   .parameters = {{kDepName, "bad name"}, {kDepNs, "ns"}}},
        SecretCase{.rows = "provisioner/22.2/13",
                   .name = "invalid namespace -> error",
                   .parameters = {{kDepName, "name"}, {kDepNs, "bad ns"}}},
        SecretCase{.rows = "provisioner/22.2/14",
                   .name = "template without a namespace -> error",
                   .kind = &kProvisioner,
                   .parameters = {{kProvName,
                                   "static-${pv.name}-${pvc.namespace}-${pvc.name}-"
                                   "${pvc.annotations['akey']}"}},
                   .claim_namespace = "ns",
                   .claim_name = "name"},
        SecretCase{.rows = "provisioner/22.2/15",
                   .name = "provisioner templates -> resolved",
                   .kind = &kProvisioner,
                   .parameters = {{kProvName, "static-${pvc.name}-${pvc.annotations['akey']}"},
                                  {kProvNs, "static-${pvc.namespace}"}},
                   .claim_namespace = "pvcnamespace",
                   .claim_name = "name",
                   .annotation = "avalue",
                   .expected = "static-pvcnamespace/static-name-avalue"},
        SecretCase{.rows = "provisioner/22.2/16",
                   .name = "node publish templates -> resolved",
                   .parameters = {{kDepName,
                                   "static-${pv.name}-${pvc.namespace}-${pvc.name}-"
                                   "${pvc.annotations['akey']}"},
                                  {kDepNs, "static-${pv.name}-${pvc.namespace}"}},
                   .claim_namespace = "pvcnamespace",
                   .claim_name = "pvcname",
                   .annotation = "avalue",
                   .volume_name = "pvname",
                   .expected = "static-pvname-pvcnamespace/"
                               "static-pvname-pvcnamespace-pvcname-avalue"},
        SecretCase{.rows = "provisioner/22.2/17",
                   .name = "provisioner with volume name -> resolved",
                   .kind = &kProvisioner,
                   .parameters = {{kProvDepName,
                                   "static-provisioner-${pv.name}-${pvc.namespace}-${pvc.name}"},
                                  {kProvDepNs, "static-provisioner-${pv.name}-${pvc.namespace}"}},
                   .claim_namespace = "pvcnamespace",
                   .claim_name = "pvcname",
                   .volume_name = "pvname",
                   .expected = "static-provisioner-pvname-pvcnamespace/"
                               "static-provisioner-pvname-pvcnamespace-pvcname"},
        SecretCase{.rows = "provisioner/22.2/18",
                   .name = "claim name as name -> resolved",
                   .kind = &kProvisioner,
                   .parameters = {{kProvDepName, "${pvc.name}"}, {kProvDepNs, "ns"}},
                   .claim_namespace = "pvcns",
                   .claim_name = "pvcname",
                   .expected = "ns/pvcname"},
        SecretCase{.rows = "provisioner/22.2/19",
                   .name = "claim name and namespace -> resolved",
                   .kind = &kProvisioner,
                   .parameters = {{kProvDepName, "${pvc.name}"}, {kProvDepNs, "${pvc.namespace}"}},
                   .claim_namespace = "pvcns",
                   .claim_name = "pvcname",
                   .expected = "pvcns/pvcname"},
        SecretCase{
            .rows = "provisioner/22.2/20",
            .name = "static name in the claim's namespace -> resolved",
            .kind = &kProvisioner,
            .parameters = {{kProvDepName, "static-name-1"}, {kProvDepNs, "${pvc.namespace}"}},
            .claim_namespace = "ns",
            .claim_name = "name",
            .expected = "ns/static-name-1"},
        SecretCase{.rows = "provisioner/22.2/21",
                   .name = "unknown token in the namespace -> error",
                   .parameters = {{kDepName, "myname"}, {kDepNs, "mynamespace${bar}"}}},
        SecretCase{.rows = "provisioner/22.2/22",
                   .name = "unknown token in the name -> error",
                   .parameters = {{kDepName, "myname${foo}"}, {kDepNs, "mynamespace"}}},
        SecretCase{.name = "claim name in a namespace -> error",
                   .parameters = {{kName, "n"}, {kNs, "${pvc.name}"}},
                   .claim_namespace = "ns",
                   .claim_name = "name"},
        SecretCase{.name = "annotation that the claim lacks -> error",
                   .parameters = {{kName, "${pvc.annotations['other']}"}, {kNs, "ns"}},
                   .claim_namespace = "ns",
                   .claim_name = "name",
                   .annotation = "avalue"},
        SecretCase{.name = "only the default pair -> used for every purpose",
                   .parameters = {{"csi.storage.k8s.io/secret-name", "d"},
                                  {"csi.storage.k8s.io/secret-namespace", "dns"}},
                   .expected = "dns/d"},
        SecretCase{.name = "half a pair beside the default pair -> error",
                   .parameters = {{kName, "n"},
                                  {"csi.storage.k8s.io/secret-name", "d"},
                                  {"csi.storage.k8s.io/secret-namespace", "dns"}}}));

TEST(ResolveSecretTest, ErrorListsAllUnknownTokens) {
  auto found = ResolveSecret(kNodePublish, {{kName, "${a}-$b"}, {kNs, "ns"}}, {"pv", nullptr});
  EXPECT_NE(found.status().message().find("invalid tokens: [\"a\" \"b\"]"), std::string::npos)
      << found.status().message();
}

struct ExpandCase {
  std::string text;
  std::string expanded;
  std::vector<std::string> unknown = {};
};

void PrintTo(const ExpandCase& c, std::ostream* out) { *out << c.text; }

class ExpandTemplateTest : public ::testing::TestWithParam<ExpandCase> {};

TEST_P(ExpandTemplateTest, ExpandsAsGoDoes) {
  const Expansion got =
      ExpandTemplate(GetParam().text, [](std::string_view token) -> std::optional<std::string> {
        if (token == "x" || token == "x.y" || token == "_1a") return "V";
        return std::nullopt;
      });
  EXPECT_EQ(got.text, GetParam().expanded);
  EXPECT_EQ(got.unknown, GetParam().unknown);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, ExpandTemplateTest,
    ::testing::Values(ExpandCase{"", ""}, ExpandCase{"plain", "plain"}, ExpandCase{"$x", "V"},
                      ExpandCase{"a$x-b", "aV-b"}, ExpandCase{"${x}b", "Vb"},
                      ExpandCase{"${x.y}", "V"}, ExpandCase{"$x.y", "V.y"}, ExpandCase{"$_1a", "V"},
                      ExpandCase{"a${}b", "ab"}, ExpandCase{"a${b", "ab"}, ExpandCase{"a$", "a$"},
                      ExpandCase{"a$-", "a", {"-"}}, ExpandCase{"a$.b", "a$.b"},
                      ExpandCase{"$1x", "x", {"1"}}, ExpandCase{"${1}x", "x", {"1"}},
                      ExpandCase{"$$x", "x", {"$"}}, ExpandCase{"${a b}", "", {"a b"}}));

}  // namespace
}  // namespace csinative::provisioner
