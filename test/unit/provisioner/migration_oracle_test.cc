// SPDX-License-Identifier: Apache-2.0
//
// Claims and volumes of an in-tree plugin whose driver this is (provisioner 16, 22.10, 22.11).
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

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using CreateRequest = ::csi::v1::CreateVolumeRequest;
using CreateResponse = ::csi::v1::CreateVolumeResponse;
using DeleteRequest = ::csi::v1::DeleteVolumeRequest;
using Kind = ProvisionResult::Kind;

constexpr char kEbs[] = "ebs.csi.aws.com";
constexpr char kInTree[] = "kubernetes.io/aws-ebs";

struct MigrationCase {
  std::string rows;
  std::string name;
  std::string provisioner;  // of the class
  std::string beta = "";    // provisioner annotations of the claim
  std::string ga = "";
  std::string migrated_to = "";
  Kind kind = Kind::kVolume;
  bool translated = false;
};
void PrintTo(const MigrationCase& c, std::ostream* out) { *out << c.name; }

class MigrationTest : public ::testing::Test {
 protected:
  MigrationTest() {
    world_.names = {kEbs, kInTree};
    world_.features.name = kEbs;
  }
  core::PersistentVolumeClaim Claim(const std::string& annotations) {
    return World::ParseClaim(StrCat(
        R"({"metadata":{"uid":"testid","name":"claim","namespace":"ns","annotations":{)",
        annotations,
        R"(}},"spec":{"storageClassName":"sc","resources":{"requests":{"storage":"100000"}}}})"));
  }
  storage::StorageClass Class(const std::string& provisioner, const std::string& parameters) {
    return World::ParseClass(StrCat(R"({"metadata":{"name":"sc"},"provisioner":)",
                                    JsonString(provisioner), R"(,"parameters":)", parameters, "}"));
  }

  World world_;
};

class MigrationOracle : public MigrationTest,
                        public ::testing::WithParamInterface<MigrationCase> {};

TEST_P(MigrationOracle, ClassAndVolumeAreTranslatedWhereTheClassIsThePlugins) {
  const MigrationCase& c = GetParam();
  const oracle::Rows rows(c.rows);
  world_.config.worker_threads = 0;
  world_.config.naming = {"test", 5};
  world_.Start();
  std::vector<std::string> annotations;
  const auto annotate = [&](std::string_view key, const std::string& value) {
    if (value.empty()) return;
    annotations.push_back(StrCat(JsonString(key), ":", JsonString(value)));
  };
  annotate(apis::kAnnBetaStorageProvisioner, c.beta);
  annotate(apis::kAnnStorageProvisioner, c.ga);
  annotate(apis::kAnnMigratedTo, c.migrated_to);
  const ProvisionResult result = world_.Attempt(
      Claim(Join(annotations, ",")), Class(c.provisioner, R"({"fstype":"ext3","iopsPerGB":"10"})"));
  ASSERT_EQ(result.kind, c.kind) << result.status.message();
  EXPECT_EQ(result.state, ProvisionState::kFinished);
  const auto requests = world_.Requests<CreateRequest>(kCreateVolume);
  if (c.kind != Kind::kVolume) {
    EXPECT_TRUE(requests.empty());
    return;
  }
  ASSERT_EQ(requests.size(), 1u);
  CreateRequest expected;
  expected.set_name("test-testi");
  expected.mutable_capacity_range()->set_required_bytes(100000);
  auto& parameters = *expected.mutable_parameters();
  parameters["iopsPerGB"] = "10";
  if (c.translated) {
    parameters["allowautoiopspergbincrease"] = "true";
  } else {
    parameters["fstype"] = "ext3";
  }
  EXPECT_EQ(requests[0].ShortDebugString(), expected.ShortDebugString());
  EXPECT_EQ(world_.MigratedCalls().size(), c.translated ? 1u : 0u);
  const auto& source = result.volume->spec().persistentvolumesource();
  EXPECT_EQ(source.has_awselasticblockstore(), c.translated);
  EXPECT_EQ(source.has_csi(), !c.translated);
  if (!c.translated) return;
  EXPECT_EQ(source.awselasticblockstore().volumeid(), "test-volume-id");
  EXPECT_EQ(source.awselasticblockstore().fstype(), "ext3");
  EXPECT_EQ(apis::GetEntryOr(result.volume->metadata().annotations(), apis::kAnnProvisionedBy),
            kInTree);
  EXPECT_EQ(result.volume->spec().storageclassname(), "sc");
  EXPECT_THAT(result.volume->metadata().finalizers(), ElementsAre(apis::kFinalizerProvisioner));
}

INSTANTIATE_TEST_SUITE_P(
    Rows, MigrationOracle,
    ::testing::Values(MigrationCase{.rows = "provisioner/22.11/1 provisioner/22.14/4",
                                    .name = "plugin's class, driver's claim, beta",
                                    .provisioner = kInTree,
                                    .beta = kEbs,
                                    .translated = true},
                      MigrationCase{.rows = "provisioner/22.11/2",
                                    .name = "plugin's class, driver's claim, GA",
                                    .provisioner = kInTree,
                                    .ga = kEbs,
                                    .translated = true},
                      MigrationCase{.rows = "provisioner/22.11/3",
                                    .name = "all the driver's, beta",
                                    .provisioner = kEbs,
                                    .beta = kEbs},
                      MigrationCase{.rows = "provisioner/22.11/4",
                                    .name = "all the driver's, GA",
                                    .provisioner = kEbs,
                                    .ga = kEbs},
                      MigrationCase{.rows = "provisioner/22.11/5",
                                    .name = "plugin's claim, migrated",
                                    .provisioner = kInTree,
                                    .beta = kInTree,
                                    .migrated_to = kEbs,
                                    .translated = true},
                      MigrationCase{.rows = "provisioner/22.11/6",
                                    .name = "plugin's claim, migrated to another",
                                    .provisioner = kInTree,
                                    .beta = kInTree,
                                    .migrated_to = "foo",
                                    .kind = Kind::kIgnored},
                      MigrationCase{.rows = "provisioner/22.11/7",
                                    .name = "another's claim",
                                    .provisioner = kInTree,
                                    .beta = "foo",
                                    .migrated_to = "foo",
                                    .kind = Kind::kIgnored},
                      MigrationCase{.rows = "provisioner/22.11/8",
                                    .name = "driver's claim, migrated",
                                    .provisioner = kInTree,
                                    .beta = kEbs,
                                    .migrated_to = kEbs,
                                    .translated = true},
                      MigrationCase{.rows = "provisioner/22.11/9",
                                    .name = "plugin's claim, not migrated",
                                    .provisioner = kInTree,
                                    .beta = kInTree,
                                    .kind = Kind::kIgnored}));

core::PersistentVolume InTreeVolume(const std::string& annotations = "") {
  return World::ParseVolume(StrCat(R"({"metadata":{"name":"pv","annotations":{)", annotations,
                                   R"(}},"spec":{"storageClassName":"sc","claimRef":{
      "namespace":"ns","name":"c"},"awsElasticBlockStore":{
      "volumeID":"aws://us-east-1a/vol-1"}}})"));
}

TEST_F(MigrationTest, DeletionFindsTheHandleOfTheDriver) {
  world_.Start();
  {
    const oracle::Row row("provisioner/22.10/14");
    EXPECT_TRUE(world_.DeleteStorage(InTreeVolume()).ok());
    const auto requests = world_.Requests<DeleteRequest>(kDeleteVolume);
    ASSERT_EQ(requests.size(), 1u);
    EXPECT_EQ(requests[0].ShortDebugString(), "volume_id: \"vol-1\"");
    EXPECT_THAT(world_.MigratedCalls(), ElementsAre("DeleteVolume"));
  }
  {
    const oracle::Row row("provisioner/22.10/15");
    EXPECT_TRUE(world_
                    .DeleteStorage(World::ParseVolume(
                        R"({"metadata":{"name":"pv"},"spec":{"csi":{"driver":"ebs.csi.aws.com",
                        "volumeHandle":"vol-2"}}})"))
                    .ok());
    const auto requests = world_.Requests<DeleteRequest>(kDeleteVolume);
    ASSERT_EQ(requests.size(), 2u);
    EXPECT_EQ(requests[1].ShortDebugString(), "volume_id: \"vol-2\"");
    EXPECT_EQ(world_.MigratedCalls().size(), 1u);
  }
}

TEST_F(MigrationTest, HandleThatCannotBeTranslatedIsNotDeleted) {
  world_.Start();
  core::PersistentVolume volume = InTreeVolume();
  volume.mutable_spec()
      ->mutable_persistentvolumesource()
      ->mutable_awselasticblockstore()
      ->set_volumeid("aws://zone/disk");
  EXPECT_FALSE(world_.DeleteStorage(volume).ok());
  EXPECT_THAT(world_.Calls(), IsEmpty());
}

TEST_F(MigrationTest, ClassIsTranslatedBeforeItIsAskedForTheSecretOfADeletion) {
  world_.names = {"pxd.portworx.com", "kubernetes.io/portworx-volume"};
  world_.AddSecret("ns", "auth", "k", "dmFs");
  world_.AddClass({.provisioner = "kubernetes.io/portworx-volume",
                   .parameters = R"({"openstorage.io/auth-secret-name":"auth",
                                     "openstorage.io/auth-secret-namespace":"ns"})"});
  world_.Start();
  EXPECT_TRUE(world_
                  .DeleteStorage(World::ParseVolume(R"({"metadata":{"name":"pv"},"spec":{
      "storageClassName":"sc","claimRef":{"namespace":"ns","name":"c"},
      "portworxVolume":{"volumeID":"h"}}})"))
                  .ok());
  const auto requests = world_.Requests<DeleteRequest>(kDeleteVolume);
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests[0].secrets().at("k"), "val");
}

// The whole way, through the caches.
TEST_F(MigrationTest, ClaimOfThePluginLivesAndDies) {
  world_.AddClass({.provisioner = kInTree});
  const std::string uid =
      world_.AddClaim({.provisioner = kInTree,
                       .annotations = StrCat(R"(,"pv.kubernetes.io/migrated-to":")", kEbs, "\"")});
  CreateResponse response;
  response.mutable_volume()->set_volume_id("vol-1");
  auto* segments = response.mutable_volume()->add_accessible_topology()->mutable_segments();
  (*segments)["topology.ebs.csi.aws.com/zone"] = "us-east-1a";
  world_.driver().Answer(kCreateVolume, response);
  world_.features.accessibility_constraints = true;
  world_.config.topology.immediate = false;
  world_.Start();
  const auto volume = world_.OnlyVolume();
  ASSERT_TRUE(volume.has_value()) << Join(world_.Events(), "\n");
  EXPECT_EQ(volume->spec().persistentvolumesource().awselasticblockstore().volumeid(), "vol-1");
  EXPECT_EQ(apis::GetEntryOr(volume->metadata().labels(), "topology.kubernetes.io/region"),
            "us-east-1");
  const std::string name = "pvc-" + uid;
  world_.Bind(name);
  world_.RemoveClaim("claim");
  world_.Release(name);
  world_.Settle();
  EXPECT_THAT(world_.Calls(), ElementsAre("CreateVolume", "DeleteVolume"));
  EXPECT_EQ(world_.Requests<DeleteRequest>(kDeleteVolume)[0].volume_id(), "vol-1");
  EXPECT_THAT(world_.MigratedCalls(), ElementsAre("CreateVolume", "DeleteVolume"));
}

// Provisioner 22.14/36.
TEST_F(MigrationTest, BoundVolumeMadeByHandForThePluginGetsTheFinalizer) {
  const oracle::Row row("provisioner/22.14/36");
  world_.Add(StrCat(R"({"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"pv",
      "annotations":{"pv.kubernetes.io/migrated-to":")",
                    kEbs, R"("}},"spec":{"capacity":{"storage":"1Gi"},
      "accessModes":["ReadWriteOnce"],"persistentVolumeReclaimPolicy":"Delete",
      "awsElasticBlockStore":{"volumeID":"vol-1"}}})"));
  world_.Merge<core::PersistentVolume>({"", "pv"}, R"({"status":{"phase":"Bound"}})", "status");
  world_.Start();
  EXPECT_THAT(world_.Writes(), ElementsAre("PATCH persistentvolumes/pv"));
  EXPECT_THAT(world_.Find<core::PersistentVolume>({"", "pv"})->metadata().finalizers(),
              Contains(apis::kFinalizerProvisioner));
  EXPECT_THAT(world_.Calls(), IsEmpty());
}

// Upstream loses the volume here (provisioner 23.2).
class UntranslatableTest : public MigrationTest {
 protected:
  ProvisionResult Attempt() {
    world_.config.worker_threads = 0;
    CreateResponse response;
    response.mutable_volume()->set_volume_id("vol-1");
    (*response.mutable_volume()->mutable_volume_context())["partition"] = "first";
    world_.driver().Answer(kCreateVolume, response);
    world_.Start();
    return world_.Attempt(Claim(R"("volume.kubernetes.io/storage-provisioner":"ebs.csi.aws.com")"),
                          Class(kInTree, "{}"));
  }
};

TEST_F(UntranslatableTest, VolumeIsDeletedAndTheAttemptOver) {
  const ProvisionResult result = Attempt();
  EXPECT_EQ(result.kind, Kind::kFailed);
  EXPECT_EQ(result.state, ProvisionState::kFinished);
  EXPECT_THAT(result.status.message(), HasSubstr("first"));
  EXPECT_THAT(world_.Calls(), ElementsAre("CreateVolume", "DeleteVolume"));
}

TEST_F(UntranslatableTest, VolumeThatCannotBeDeletedIsTriedAgain) {
  world_.driver().Fail(kDeleteVolume, RpcStatus(13, "busy"));
  const ProvisionResult result = Attempt();
  EXPECT_EQ(result.state, ProvisionState::kInBackground);
  EXPECT_THAT(result.status.message(), HasSubstr("busy"));
}

// Upstream compares sources with the plugin's name, so that these never work (provisioner 23.6).
TEST_F(MigrationTest, CloneOfAMigratedVolumeWorks) {
  world_.features.clone_volume = true;
  world_.config.clone_threads = 0;
  world_.AddClass({.provisioner = kInTree});
  const std::string uid = world_.AddClaim({.name = "src", .request = "1000", .provisioner = ""});
  world_.Add(StrCat(R"({"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"pv"},
      "spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"claimRef":{
      "kind":"PersistentVolumeClaim","namespace":"ns","name":"src","uid":")",
                    uid, R"("},"awsElasticBlockStore":{"volumeID":"vol-1"}}})"));
  world_.Bind("pv", {.name = "src"});
  world_.AddClaim({.name = "clone",
                   .request = "1000",
                   .provisioner = kEbs,
                   .extra_spec = R"(,"dataSource":{"kind":"PersistentVolumeClaim","name":"src"})"});
  world_.Start();
  const auto requests = world_.Requests<CreateRequest>(kCreateVolume);
  ASSERT_EQ(requests.size(), 1u) << Join(world_.Events(), "\n");
  EXPECT_EQ(requests[0].volume_content_source().volume().volume_id(), "vol-1");
}

}  // namespace
}  // namespace csinative::provisioner
