// SPDX-License-Identifier: Apache-2.0
//
// One attempt to provision, as the oracle has it (provisioner 22.3, 22.4, 22.6): claim "testid",
// volume names "test" with five characters, 100 bytes. Each entry says what differs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apis/core/v1/maps.h"
#include "apis/core/v1/well_known.h"
#include "lib/base/json_string.h"
#include "lib/base/strings.h"
#include "test/support/oracle_rows.h"
#include "test/unit/provisioner/world.h"

namespace csinative::provisioner {
namespace {

using ::testing::ElementsAre;
using enum ProvisionState;
using CreateRequest = ::csi::v1::CreateVolumeRequest;
using CreateResponse = ::csi::v1::CreateVolumeResponse;
using DeleteRequest = ::csi::v1::DeleteVolumeRequest;
using AccessMode = ::csi::v1::VolumeCapability::AccessMode;
using Kind = ProvisionResult::Kind;

struct AttemptCase {
  std::string rows;  // of the oracle
  std::string name;
  void (*prepare)(World& world) = [](World&) {};
  std::string parameters = "{}";
  std::string klass = "";  // more members of the class, with a comma in front
  std::string modes = R"("ReadWriteOnce")";
  std::string spec = "";  // more members of the claim's spec, with a comma in front
  std::string metadata = R"("uid":"testid","name":"fake-pvc","namespace":"ns")";
  std::string node = "";
  Kind kind = Kind::kVolume;
  ProvisionState state = kFinished;
  size_t creates = 1;
  size_t deletes = 0;
  // Of a volume: the request and the object.
  void (*check)(const CreateRequest& request, const core::PersistentVolume& volume) =
      [](const CreateRequest&, const core::PersistentVolume&) {};
};

void PrintTo(const AttemptCase& c, std::ostream* out) { *out << c.name; }

const core::CSIPersistentVolumeSource& Csi(const core::PersistentVolume& volume) {
  return volume.spec().persistentvolumesource().csi();
}
std::string_view Annotation(const core::PersistentVolume& volume, std::string_view key) {
  return apis::GetEntryOr(volume.metadata().annotations(), key, "absent");
}
std::string Text(const core::SecretReference& reference) {
  return StrCat(reference.namespace_(), "/", reference.name());
}

std::vector<AccessMode::Mode> Modes(const CreateRequest& request) {
  std::vector<AccessMode::Mode> modes;
  for (const auto& capability : request.volume_capabilities()) {
    modes.push_back(capability.access_mode().mode());
  }
  return modes;
}

void AnswerWith(World& world, int64_t bytes) {
  CreateResponse response;
  response.mutable_volume()->set_volume_id("test-volume-id");
  response.mutable_volume()->set_capacity_bytes(bytes);
  world.driver().Answer(kCreateVolume, response);
}

void AnswerWithTopology(World& world) {
  CreateResponse response;
  response.mutable_volume()->set_volume_id("test-volume-id");
  auto* segments = response.mutable_volume()->add_accessible_topology()->mutable_segments();
  (*segments)["com.example.csi/zone"] = "zone1";
  (*segments)["com.example.csi/rack"] = "rack2";
  world.driver().Answer(kCreateVolume, response);
}

void AddNode(World& world, const std::string& name, const std::string& labels) {
  world.Add(StrCat(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":)", JsonString(name),
                   R"(,"labels":{)", labels, "}}}"));
  world.Add(StrCat(R"({"apiVersion":"storage.k8s.io/v1","kind":"CSINode","metadata":{"name":)",
                   JsonString(name), R"(},"spec":{"drivers":[{"name":"test-driver","nodeID":"x",
                   "topologyKeys":["com.example.csi/zone","com.example.csi/rack"]}]}})"));
}

void AddAttributesClass(World& world, const std::string& driver) {
  world.features.modify_volume = true;
  world.Add(StrCat(R"({"apiVersion":"storage.k8s.io/v1","kind":"VolumeAttributesClass",
      "metadata":{"name":"test-vac"},"driverName":)",
                   JsonString(driver), R"(,"parameters":{"test-param":"from-vac"}})"));
}

// References of all kinds, in the order of the object.
std::vector<std::string> References(const core::PersistentVolume& volume) {
  const auto& csi = Csi(volume);
  return {Text(csi.controllerpublishsecretref()), Text(csi.nodestagesecretref()),
          Text(csi.nodepublishsecretref()), Text(csi.controllerexpandsecretref()),
          Text(csi.nodeexpandsecretref())};
}

class AttemptTest : public ::testing::TestWithParam<AttemptCase> {
 protected:
  AttemptTest() {
    world_.config.naming = {"test", 5};
    world_.config.worker_threads = 0;
  }
  core::PersistentVolumeClaim Claim() {
    const AttemptCase& c = GetParam();
    return World::ParseClaim(
        StrCat(R"({"metadata":{)", c.metadata,
               R"(,"annotations":{"volume.beta.kubernetes.io/storage-provisioner":"test-driver"}},
        "spec":{"storageClassName":"sc","resources":{"requests":{"storage":"100"}},"accessModes":[)",
               c.modes, "]", c.spec, "}}"));
  }
  storage::StorageClass Class() {
    const AttemptCase& c = GetParam();
    return World::ParseClass(
        StrCat(R"({"metadata":{"name":"sc"},"provisioner":"test-driver","reclaimPolicy":"Delete",
        "parameters":)",
               c.parameters, c.klass, "}"));
  }

  World world_;
};

TEST_P(AttemptTest, EndsAsTheOracleSays) {
  const AttemptCase& c = GetParam();
  const oracle::Rows rows(c.rows);
  c.prepare(world_);
  world_.Start();
  {
    // Whoever asks beforehand whether there is something to do is told so, and nothing happens.
    const oracle::Row should_provision("provisioner/22.4/41");
    EXPECT_TRUE(IsCandidate(Claim(), world_.names) && IsReadyToBind(Claim(), Class()));
    EXPECT_TRUE(world_.Calls().empty());
    EXPECT_TRUE(world_.Writes().empty());
  }
  const ProvisionResult result = world_.Attempt(Claim(), Class(), c.node);
  EXPECT_EQ(result.kind, c.kind) << result.status.message();
  EXPECT_EQ(result.state, c.state) << result.status.message();
  const auto creates = world_.Requests<CreateRequest>(kCreateVolume);
  const auto deletes = world_.Requests<DeleteRequest>(kDeleteVolume);
  ASSERT_EQ(creates.size(), c.creates);
  ASSERT_EQ(deletes.size(), c.deletes);
  for (const DeleteRequest& request : deletes) {
    DeleteRequest expected;
    expected.set_volume_id("test-volume-id");
    EXPECT_EQ(request.DebugString(), expected.DebugString());
  }
  ASSERT_EQ(result.volume.has_value(), c.kind == Kind::kVolume);
  if (!result.volume) return;
  EXPECT_EQ(creates[0].name(), "test-testi");
  EXPECT_EQ(result.volume->metadata().name(), "test-testi");
  const auto& csi = Csi(*result.volume);
  EXPECT_EQ(csi.driver(), "test-driver");
  EXPECT_EQ(csi.volumehandle(), "test-volume-id");
  ASSERT_EQ(csi.volumeattributes_size(), 1);
  EXPECT_EQ(csi.volumeattributes(0).key(), "storage.kubernetes.io/csiProvisionerIdentity");
  EXPECT_EQ(csi.volumeattributes(0).value(), "test-provisioner");
  c.check(creates[0], *result.volume);
}

INSTANTIATE_TEST_SUITE_P(
    FileSystems, AttemptTest,
    ::testing::Values(
        AttemptCase{
            .rows = "provisioner/22.3/1",
            .name = "no fstype -> the default",
            .check = [](const auto&, const auto& pv) { EXPECT_EQ(Csi(pv).fstype(), "ext4"); }},
        AttemptCase{
            .rows = "provisioner/22.3/2",
            .name = "fstype and a default -> fstype",
            .parameters = R"({"fstype":"xfs"})",
            .check = [](const auto&, const auto& pv) { EXPECT_EQ(Csi(pv).fstype(), "xfs"); }},
        AttemptCase{.rows = "provisioner/22.3/3",
                    .name = "no fstype, no default -> none",
                    .prepare = [](World& world) { world.config.default_fs_type = ""; },
                    .check = [](const auto&, const auto& pv) { EXPECT_EQ(Csi(pv).fstype(), ""); }},
        AttemptCase{
            .rows = "provisioner/22.3/4",
            .name = "fstype, no default -> fstype",
            .prepare = [](World& world) { world.config.default_fs_type = ""; },
            .parameters = R"({"fstype":"xfs"})",
            .check = [](const auto&, const auto& pv) { EXPECT_EQ(Csi(pv).fstype(), "xfs"); }},
        AttemptCase{.rows = "provisioner/22.3/5",
                    .name = "both keys -> error",
                    .parameters = R"({"fstype":"ext3","csi.storage.k8s.io/fstype":"ext4"})",
                    .kind = Kind::kFailed,
                    .creates = 0},
        AttemptCase{.rows = "provisioner/22.3/6",
                    .name = "prefixed key -> its value, and no parameter",
                    .parameters = R"({"csi.storage.k8s.io/fstype":"ext3"})",
                    .check = [](const auto& request, const auto& pv) {
                      EXPECT_EQ(Csi(pv).fstype(), "ext3");
                      EXPECT_TRUE(request.parameters().empty());
                    }}));

INSTANTIATE_TEST_SUITE_P(
    Objects, AttemptTest,
    ::testing::Values(
        AttemptCase{.rows = "provisioner/22.4/1",
                    .name = "plain",
                    .parameters = R"({"fstype":"ext3"})",
                    .check =
                        [](const auto&, const auto& pv) {
                          EXPECT_EQ(Csi(pv).fstype(), "ext3");
                          EXPECT_EQ(pv.spec().persistentvolumereclaimpolicy(), "Delete");
                          EXPECT_EQ(apis::GetEntry(pv.spec().capacity(), "storage")->string(),
                                    "100");
                          // The two of the oracle, and who provisioned it.
                          EXPECT_EQ(pv.metadata().annotations_size(), 3);
                          EXPECT_EQ(Annotation(pv, apis::kAnnDeletionSecretName), "");
                          EXPECT_EQ(Annotation(pv, apis::kAnnDeletionSecretNamespace), "");
                          EXPECT_EQ(Annotation(pv, apis::kAnnProvisionedBy), "test-driver");
                        }},
        AttemptCase{.rows = "provisioner/22.4/2",
                    .name = "extra metadata",
                    .prepare = [](World& world) { world.config.extra_create_metadata = true; },
                    .parameters = R"({"fstype":"ext3"})",
                    .metadata = R"("uid":"testid","name":"fake-pvc","namespace":"fake-ns")",
                    .check =
                        [](const auto& request, const auto&) {
                          const auto& parameters = request.parameters();
                          EXPECT_EQ(parameters.size(), 4u);
                          EXPECT_EQ(parameters.at("csi.storage.k8s.io/pvc/name"), "fake-pvc");
                          EXPECT_EQ(parameters.at("csi.storage.k8s.io/pvc/namespace"), "fake-ns");
                          EXPECT_EQ(parameters.at("csi.storage.k8s.io/pv/name"), "test-testi");
                          EXPECT_EQ(parameters.at("fstype"), "ext3");
                        }},
        AttemptCase{.rows = "provisioner/22.4/14",
                    .name = "Filesystem",
                    .spec = R"(,"volumeMode":"Filesystem")",
                    .check =
                        [](const auto&, const auto& pv) {
                          EXPECT_EQ(pv.spec().volumemode(), "Filesystem");
                          EXPECT_EQ(Csi(pv).fstype(), "ext4");
                        }},
        AttemptCase{.rows = "provisioner/22.4/15",
                    .name = "Block",
                    .spec = R"(,"volumeMode":"Block")",
                    .check =
                        [](const auto& request, const auto& pv) {
                          EXPECT_EQ(pv.spec().volumemode(), "Block");
                          EXPECT_EQ(Csi(pv).fstype(), "");
                          EXPECT_TRUE(request.volume_capabilities(0).has_block());
                        }},
        AttemptCase{.rows = "provisioner/22.4/18",
                    .name = "selector",
                    .spec = R"(,"selector":{})",
                    .kind = Kind::kFailed,
                    .creates = 0},
        AttemptCase{.rows = "provisioner/22.4/19",
                    .name = "claim without UID",
                    .metadata = R"("name":"fake-pvc","namespace":"ns")",
                    .kind = Kind::kFailed,
                    .creates = 0},
        AttemptCase{.rows = "provisioner/22.4/24",
                    .name = "mount options",
                    .klass = R"(,"mountOptions":["foo=bar","baz=qux"])",
                    .check =
                        [](const auto& request, const auto& pv) {
                          EXPECT_THAT(request.volume_capabilities(0).mount().mount_flags(),
                                      ElementsAre("foo=bar", "baz=qux"));
                          EXPECT_THAT(pv.spec().mountoptions(), ElementsAre("foo=bar", "baz=qux"));
                        }},
        AttemptCase{.rows = "provisioner/22.4/27",
                    .name = "populator",
                    .spec = R"(,"dataSource":{"apiGroup":"my.example.io","kind":"MyPopulator",
                        "name":"p"})",
                    .kind = Kind::kIgnored,
                    .creates = 0}));

INSTANTIATE_TEST_SUITE_P(
    Modes, AttemptTest,
    ::testing::Values(
        AttemptCase{
            .rows = "provisioner/22.4/3",
            .name = "no mode",
            .modes = "",
            .check = [](const auto& request, const auto&) { EXPECT_TRUE(Modes(request).empty()); }},
        AttemptCase{.rows = "provisioner/22.4/4",
                    .name = "RWX",
                    .modes = R"("ReadWriteMany")",
                    .check =
                        [](const auto& request, const auto&) {
                          EXPECT_THAT(Modes(request),
                                      ElementsAre(AccessMode::MULTI_NODE_MULTI_WRITER));
                        }},
        AttemptCase{.rows = "provisioner/22.4/5",
                    .name = "ROX",
                    .modes = R"("ReadOnlyMany")",
                    .check =
                        [](const auto& request, const auto& pv) {
                          EXPECT_THAT(Modes(request),
                                      ElementsAre(AccessMode::MULTI_NODE_READER_ONLY));
                          EXPECT_FALSE(Csi(pv).readonly());
                        }},
        AttemptCase{.rows = "provisioner/22.4/6",
                    .name = "ROX, published read-only",
                    .prepare = [](World& world) { world.config.publish_read_only = true; },
                    .modes = R"("ReadOnlyMany")",
                    .check =
                        [](const auto& request, const auto& pv) {
                          EXPECT_THAT(Modes(request),
                                      ElementsAre(AccessMode::MULTI_NODE_READER_ONLY));
                          EXPECT_TRUE(Csi(pv).readonly());
                        }},
        AttemptCase{.rows = "provisioner/22.4/7",
                    .name = "RWO",
                    .check =
                        [](const auto& request, const auto&) {
                          EXPECT_THAT(Modes(request), ElementsAre(AccessMode::SINGLE_NODE_WRITER));
                        }},
        AttemptCase{.rows = "provisioner/22.4/8",
                    .name = "RWO, multi-writer driver",
                    .prepare = [](World& world) { world.features.single_node_multi_writer = true; },
                    .check =
                        [](const auto& request, const auto&) {
                          EXPECT_THAT(Modes(request),
                                      ElementsAre(AccessMode::SINGLE_NODE_MULTI_WRITER));
                        }},
        AttemptCase{.rows = "provisioner/22.4/9",
                    .name = "RWOP, multi-writer driver",
                    .prepare = [](World& world) { world.features.single_node_multi_writer = true; },
                    .modes = R"("ReadWriteOncePod")",
                    .check =
                        [](const auto& request, const auto&) {
                          EXPECT_THAT(Modes(request),
                                      ElementsAre(AccessMode::SINGLE_NODE_SINGLE_WRITER));
                        }},
        AttemptCase{.rows = "provisioner/22.4/10",
                    .name = "ROX and RWO",
                    .modes = R"("ReadOnlyMany","ReadWriteOnce")",
                    .check = [](const auto& request, const auto& pv) {
                      EXPECT_THAT(Modes(request), ElementsAre(AccessMode::MULTI_NODE_READER_ONLY,
                                                              AccessMode::SINGLE_NODE_WRITER));
                      EXPECT_THAT(pv.spec().accessmodes(),
                                  ElementsAre("ReadOnlyMany", "ReadWriteOnce"));
                    }}));

INSTANTIATE_TEST_SUITE_P(
    Secrets, AttemptTest,
    ::testing::Values(
        AttemptCase{
            .rows = "provisioner/22.4/11",
            .name = "a secret of each kind",
            .prepare =
                [](World& world) { world.AddSecret("ns", "provisionersecret", "k", "dg=="); },
            .parameters = R"({
                        "csiControllerPublishSecretName":"ctrlpublishsecret",
                        "csiControllerPublishSecretNamespace":"default",
                        "csiNodeStageSecretName":"nodestagesecret",
                        "csiNodeStageSecretNamespace":"default",
                        "csiNodePublishSecretName":"nodepublishsecret",
                        "csiNodePublishSecretNamespace":"default",
                        "csi.storage.k8s.io/controller-expand-secret-name":"controllerexpandsecret",
                        "csi.storage.k8s.io/controller-expand-secret-namespace":"default",
                        "csi.storage.k8s.io/provisioner-secret-name":"provisionersecret",
                        "csi.storage.k8s.io/provisioner-secret-namespace":"ns",
                        "csi.storage.k8s.io/node-expand-secret-name":"nodeexpandsecret",
                        "csi.storage.k8s.io/node-expand-secret-namespace":"default",
                        "csi.storage.k8s.io/controller-modify-secret-name":"ctrlmodifysecret",
                        "csi.storage.k8s.io/controller-modify-secret-namespace":"default"})",
            .check =
                [](const auto&, const auto& pv) {
                  EXPECT_THAT(
                      References(pv),
                      ElementsAre("default/ctrlpublishsecret", "default/nodestagesecret",
                                  "default/nodepublishsecret", "default/controllerexpandsecret",
                                  "default/nodeexpandsecret"));
                  EXPECT_EQ(Annotation(pv, apis::kAnnModifySecretName), "ctrlmodifysecret");
                  EXPECT_EQ(Annotation(pv, apis::kAnnModifySecretNamespace), "default");
                  EXPECT_EQ(Annotation(pv, apis::kAnnDeletionSecretName), "provisionersecret");
                  EXPECT_EQ(Annotation(pv, apis::kAnnDeletionSecretNamespace), "ns");
                }},
        AttemptCase{
            .rows = "provisioner/22.4/12",
            .name = "the default pair for every kind",
            .prepare = [](World& world) { world.AddSecret("ns", "default-secret", "k", "dg=="); },
            .parameters = R"({"csi.storage.k8s.io/secret-name":"default-secret",
                        "csi.storage.k8s.io/secret-namespace":"ns"})",
            .check =
                [](const auto&, const auto& pv) {
                  EXPECT_THAT(References(pv), ::testing::Each("ns/default-secret"));
                  EXPECT_EQ(Annotation(pv, apis::kAnnModifySecretName), "default-secret");
                  EXPECT_EQ(Annotation(pv, apis::kAnnDeletionSecretName), "default-secret");
                  EXPECT_EQ(Annotation(pv, apis::kAnnDeletionSecretNamespace), "ns");
                }},
        AttemptCase{.rows = "provisioner/22.4/13",
                    .name = "the default pair with a template",
                    .prepare = [](World& world) { world.AddSecret("ns", "my-pvc", "k", "dg=="); },
                    .parameters = R"({"csi.storage.k8s.io/secret-name":"${pvc.name}",
                        "csi.storage.k8s.io/secret-namespace":"ns"})",
                    .metadata = R"("uid":"testid","name":"my-pvc","namespace":"ns")",
                    .check =
                        [](const auto&, const auto& pv) {
                          EXPECT_THAT(References(pv), ::testing::Each("ns/my-pvc"));
                          EXPECT_EQ(Annotation(pv, apis::kAnnModifySecretName), "my-pvc");
                          EXPECT_EQ(Annotation(pv, apis::kAnnDeletionSecretName), "my-pvc");
                        }},
        AttemptCase{.rows = "provisioner/22.4/16",
                    .name = "empty name without a namespace",
                    .parameters = R"({"csiProvisionerSecretName":""})",
                    .kind = Kind::kFailed,
                    .state = kNoChange,
                    .creates = 0},
        AttemptCase{.rows = "provisioner/22.4/17",
                    .name = "half a pair beside the default pair",
                    .parameters = R"({"csiProvisionerSecretName":"",
                        "csi.storage.k8s.io/secret-name":"default-secret",
                        "csi.storage.k8s.io/secret-namespace":"ns"})",
                    .kind = Kind::kFailed,
                    .state = kNoChange,
                    .creates = 0},
        AttemptCase{.rows = "provisioner/22.4/20",
                    .name = "missing secret",
                    .parameters = R"({"csiProvisionerSecretName":"secretx",
                        "csiProvisionerSecretNamespace":"ns"})",
                    .kind = Kind::kFailed,
                    .state = kNoChange,
                    .creates = 0},
        AttemptCase{.rows = "",
                    .name = "secret that is no text",
                    .prepare = [](World& world) { world.AddSecret("ns", "s", "k", "/w=="); },
                    .parameters = R"({"csiProvisionerSecretName":"s",
                        "csiProvisionerSecretNamespace":"ns"})",
                    .kind = Kind::kFailed,
                    .creates = 0}));

INSTANTIATE_TEST_SUITE_P(
    Answers, AttemptTest,
    ::testing::Values(
        AttemptCase{.rows = "provisioner/22.4/21",
                    .name = "80 bytes",
                    .prepare = [](World& world) { AnswerWith(world, 80); },
                    .kind = Kind::kFailed,
                    .state = kInBackground,
                    .deletes = 1},
        AttemptCase{.rows = "provisioner/22.4/22",
                    .name = "a byte too little",
                    .prepare = [](World& world) { AnswerWith(world, 99); },
                    .kind = Kind::kFailed,
                    .state = kInBackground,
                    .deletes = 1},
        AttemptCase{.rows = "provisioner/22.4/23",
                    .name = "no size",
                    .prepare = [](World& world) { AnswerWith(world, 0); },
                    .check =
                        [](const auto&, const auto& pv) {
                          EXPECT_EQ(apis::GetEntry(pv.spec().capacity(), "storage")->string(),
                                    "100");
                        }},
        AttemptCase{
            .rows = "provisioner/22.4/25",
            .name = "UNAUTHENTICATED",
            .prepare = [](World& world) { world.driver().Fail(kCreateVolume, RpcStatus(16, "x")); },
            .kind = Kind::kFailed},
        AttemptCase{
            .rows = "provisioner/22.4/26",
            .name = "DEADLINE_EXCEEDED",
            .prepare = [](World& world) { world.driver().Fail(kCreateVolume, RpcStatus(4, "x")); },
            .kind = Kind::kFailed,
            .state = kInBackground},
        AttemptCase{
            .rows = "",
            .name = "no volume at all",
            .prepare = [](World& world) { world.driver().Answer(kCreateVolume, CreateResponse()); },
            .kind = Kind::kFailed,
            .state = kInBackground}));

constexpr char kUsesVac[] = R"(,"volumeAttributesClassName":"test-vac")";

INSTANTIATE_TEST_SUITE_P(
    AttributesClasses, AttemptTest,
    ::testing::Values(
        AttemptCase{.rows = "provisioner/22.4/28",
                    .name = "parameters of the class",
                    .prepare = [](World& world) { AddAttributesClass(world, "test-driver"); },
                    .parameters = R"({"test-param":"from-sc"})",
                    .spec = kUsesVac,
                    .check =
                        [](const auto& request, const auto& pv) {
                          ASSERT_EQ(request.mutable_parameters().size(), 1u);
                          EXPECT_EQ(request.mutable_parameters().at("test-param"), "from-vac");
                          EXPECT_EQ(pv.spec().volumeattributesclassname(), "test-vac");
                        }},
        AttemptCase{.rows = "provisioner/22.4/29",
                    .name = "gate off",
                    .prepare =
                        [](World& world) {
                          AddAttributesClass(world, "test-driver");
                          world.config.attributes_class_gate = false;
                        },
                    .spec = kUsesVac,
                    .check =
                        [](const auto& request, const auto& pv) {
                          EXPECT_TRUE(request.mutable_parameters().empty());
                          EXPECT_FALSE(pv.spec().has_volumeattributesclassname());
                        }},
        AttemptCase{.rows = "provisioner/22.4/30",
                    .name = "driver cannot modify",
                    .prepare =
                        [](World& world) {
                          AddAttributesClass(world, "test-driver");
                          world.features.modify_volume = false;
                        },
                    .spec = kUsesVac,
                    .kind = Kind::kFailed,
                    .creates = 0},
        AttemptCase{.rows = "provisioner/22.4/31",
                    .name = "no such class",
                    .prepare = [](World& world) { world.features.modify_volume = true; },
                    .spec = kUsesVac,
                    .kind = Kind::kFailed,
                    .state = kNoChange,
                    .creates = 0},
        AttemptCase{.rows = "provisioner/22.4/32",
                    .name = "class of another driver",
                    .prepare = [](World& world) { AddAttributesClass(world, "other"); },
                    .spec = kUsesVac,
                    .kind = Kind::kFailed,
                    .creates = 0}));

INSTANTIATE_TEST_SUITE_P(
    Topology, AttemptTest,
    ::testing::Values(
        AttemptCase{
            .rows = "provisioner/22.4/33",
            .name = "selected node without CSINode",
            .prepare = [](World& world) { world.features.accessibility_constraints = true; },
            .node = "bar",
            .kind = Kind::kFailed,
            .state = kReschedule,
            .creates = 0},
        AttemptCase{
            .rows = "provisioner/22.6/1",
            .name = "labelled nodes, answer with topology",
            .prepare =
                [](World& world) {
                  world.features.accessibility_constraints = true;
                  AddNode(world, "n0",
                          R"("com.example.csi/zone":"zone0","com.example.csi/rack":"rack0")");
                  AddNode(world, "n1",
                          R"("com.example.csi/zone":"zone1","com.example.csi/rack":"rack2")");
                  AnswerWithTopology(world);
                },
            .check =
                [](const auto& request, const auto& pv) {
                  EXPECT_EQ(request.accessibility_requirements().requisite_size(), 2);
                  const auto& terms = pv.spec().nodeaffinity().required().nodeselectorterms();
                  ASSERT_EQ(terms.size(), 1);
                  std::map<std::string, std::string> required;
                  for (const auto& expression : terms[0].matchexpressions()) {
                    EXPECT_EQ(expression.operator_(), "In");
                    ASSERT_EQ(expression.values_size(), 1);
                    required[expression.key()] = expression.values(0);
                  }
                  EXPECT_EQ(required, (std::map<std::string, std::string>{
                                          {"com.example.csi/zone", "zone1"},
                                          {"com.example.csi/rack", "rack2"}}));
                }},
        AttemptCase{.rows = "provisioner/22.6/2",
                    .name = "nodes without labels",
                    .prepare =
                        [](World& world) {
                          world.features.accessibility_constraints = true;
                          AddNode(world, "n0", "");
                          AddNode(world, "n1", "");
                        },
                    .kind = Kind::kFailed,
                    .state = kNoChange,
                    .creates = 0},
        AttemptCase{.rows = "provisioner/22.6/3",
                    .name = "driver without topology",
                    .prepare = AnswerWithTopology,
                    .check = [](const auto&,
                                const auto& pv) { EXPECT_FALSE(pv.spec().has_nodeaffinity()); }},
        AttemptCase{.rows = "provisioner/22.6/4",
                    .name = "gate off, selected node unknown",
                    .prepare =
                        [](World& world) {
                          world.features.accessibility_constraints = true;
                          world.config.topology_gate = false;
                          AnswerWithTopology(world);
                        },
                    .node = "nowhere",
                    .check = [](const auto&,
                                const auto& pv) { EXPECT_FALSE(pv.spec().has_nodeaffinity()); }}));

struct CodeCase {
  std::string row;
  int code;
  ProvisionState other;    // no topology or no node
  ProvisionState movable;  // topology and a node
};

TEST(CreateErrorOracle, StateFollowsCodeAndTopology) {
  using enum ProvisionState;
  std::vector<CodeCase> cases;
  for (const int code : {1, 4, 14, 10}) {
    cases.push_back({"provisioner/22.5/1", code, kInBackground, kInBackground});
  }
  cases.push_back({"provisioner/22.5/2", 8, kFinished, kReschedule});
  cases.push_back({"provisioner/22.5/3", 8, kFinished, kReschedule});
  for (const int code : {2, 3, 5, 6, 7, 9, 11, 12, 13, 15, 16}) {
    cases.push_back({"provisioner/22.5/4", code, kFinished, kFinished});
  }
  for (const bool topology : {false, true}) {
    World world;
    world.config.worker_threads = 0;
    world.features.accessibility_constraints = topology;
    AddNode(world, "node", R"("com.example.csi/zone":"z","com.example.csi/rack":"r")");
    world.Start();
    for (const std::string node : {"", "node"}) {
      for (const CodeCase& c : cases) {
        const oracle::Row row(c.row);
        SCOPED_TRACE(StrCat("code ", c.code, ", topology ", topology ? 1 : 0, ", node ", node));
        world.driver().Fail(kCreateVolume, RpcStatus(c.code, "x"));
        const ProvisionResult result = world.Attempt(
            World::ParseClaim(R"({"metadata":{"uid":"testid","name":"c","namespace":"ns",
                "annotations":{"volume.kubernetes.io/storage-provisioner":"test-driver"}},
                "spec":{"accessModes":["ReadWriteOnce"]}})"),
            World::ParseClass(R"({"provisioner":"test-driver"})"), node);
        EXPECT_EQ(result.state, topology && !node.empty() ? c.movable : c.other);
        EXPECT_FALSE(result.volume.has_value());
        ASSERT_NE(result.status.rpc_error(), nullptr);
        EXPECT_EQ(result.status.rpc_error()->grpc_code, c.code);
      }
    }
  }
}

}  // namespace
}  // namespace csinative::provisioner
