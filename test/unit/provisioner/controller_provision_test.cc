// SPDX-License-Identifier: Apache-2.0
//
// Claims that become volumes: the CreateVolume request and the object that is stored (provisioner
// 7, 10, 22.3, 22.4, 22.6).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apis/core/v1/maps.h"
#include "apis/core/v1/well_known.h"
#include "lib/base/strings.h"
#include "test/support/oracle.h"
#include "test/unit/provisioner/world.h"

namespace csinative::provisioner {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using CreateRequest = ::csi::v1::CreateVolumeRequest;
using AccessMode = ::csi::v1::VolumeCapability::AccessMode;

class ProvisionTest : public ::testing::Test {
 protected:
  // Runs one claim to its end and returns the only CreateVolume request.
  CreateRequest Provision(const ClassSpec& klass = {}, const ClaimSpec& claim = {}) {
    world_.AddClass(klass);
    uid_ = world_.AddClaim(claim);
    if (!started_) world_.Start();
    started_ = true;
    world_.Settle();
    auto requests = world_.Requests<CreateRequest>(kCreateVolume);
    if (requests.size() != 1) {
      ADD_FAILURE() << requests.size()
                    << " CreateVolume calls, events: " << Join(world_.Events(), "\n");
      return {};
    }
    return requests[0];
  }
  core::PersistentVolume Volume() {
    auto volume = world_.OnlyVolume();
    EXPECT_TRUE(volume.has_value()) << Join(world_.Events(), "\n");
    return volume.value_or(core::PersistentVolume());
  }

  World world_;
  std::string uid_;
  bool started_ = false;
};

TEST_F(ProvisionTest, ImmediateClaimBecomesAVolumeInOneCallAndOneWrite) {
  const CreateRequest request = Provision();
  EXPECT_EQ(request.name(), "pvc-" + uid_);
  EXPECT_EQ(request.capacity_range().required_bytes(), 100);
  EXPECT_EQ(request.capacity_range().limit_bytes(), 0);
  EXPECT_FALSE(request.has_accessibility_requirements());
  EXPECT_THAT(world_.Writes(), ElementsAre("POST persistentvolumes"));
  EXPECT_THAT(world_.Calls(), ElementsAre("CreateVolume"));
  EXPECT_THAT(
      world_.Events(),
      ElementsAre("Normal Provisioning: External provisioner is provisioning volume for "
                  "claim \"ns/claim\"",
                  "Normal ProvisioningSucceeded: Successfully provisioned volume pvc-" + uid_));
  EXPECT_EQ(world_.Counter("controller_persistentvolumeclaim_provision_total", {"sc", ""}), 1);
}

TEST_F(ProvisionTest, VolumeObjectHasExactlyTheFieldsOfTheSpecification) {
  const oracle::Row row("provisioner/22.14/29");
  Provision({.parameters = R"({"fstype":"ext3"})"}, {.request = "1Gi"});
  const core::PersistentVolume volume = Volume();
  const auto& annotations = volume.metadata().annotations();
  EXPECT_EQ(annotations.size(), 3);
  EXPECT_EQ(apis::GetEntryOr(annotations, apis::kAnnProvisionedBy, "-"), kDriver);
  EXPECT_EQ(apis::GetEntryOr(annotations, apis::kAnnDeletionSecretName, "-"), "");
  EXPECT_EQ(apis::GetEntryOr(annotations, apis::kAnnDeletionSecretNamespace, "-"), "");
  EXPECT_EQ(volume.metadata().labels_size(), 0);
  EXPECT_EQ(volume.metadata().ownerreferences_size(), 0);
  ASSERT_GE(volume.metadata().finalizers_size(), 1);
  EXPECT_EQ(volume.metadata().finalizers(0), apis::kFinalizerProvisioner);
  const auto& spec = volume.spec();
  EXPECT_EQ(apis::GetEntry(spec.capacity(), "storage")->string(), "1Gi");
  EXPECT_THAT(spec.accessmodes(), ElementsAre("ReadWriteOnce"));
  EXPECT_EQ(spec.persistentvolumereclaimpolicy(), "Delete");
  EXPECT_EQ(spec.storageclassname(), "sc");
  EXPECT_EQ(spec.volumemode(), "Filesystem");
  EXPECT_FALSE(spec.has_nodeaffinity());
  EXPECT_EQ(spec.claimref().kind(), "PersistentVolumeClaim");
  EXPECT_EQ(spec.claimref().apiversion(), "v1");
  EXPECT_EQ(spec.claimref().namespace_(), "ns");
  EXPECT_EQ(spec.claimref().name(), "claim");
  EXPECT_EQ(spec.claimref().uid(), uid_);
  EXPECT_NE(spec.claimref().resourceversion(), "");
  const auto& csi = spec.persistentvolumesource().csi();
  EXPECT_EQ(csi.driver(), kDriver);
  EXPECT_EQ(csi.volumehandle(), "test-volume-id");
  EXPECT_EQ(csi.fstype(), "ext3");
  EXPECT_FALSE(csi.readonly());
  ASSERT_EQ(csi.volumeattributes_size(), 1);
  EXPECT_EQ(csi.volumeattributes(0).key(), apis::kAttributeProvisionerIdentity);
  EXPECT_EQ(csi.volumeattributes(0).value(), "test-provisioner");
  EXPECT_FALSE(csi.has_controllerpublishsecretref());
}

TEST_F(ProvisionTest, ExtraMetadataAddsThreeParameters) {  // provisioner/22.4/2
  world_.config.extra_create_metadata = true;
  const CreateRequest request = Provision({.parameters = R"({"fstype":"ext3"})"});
  EXPECT_EQ(request.parameters().size(), 4u);
  EXPECT_EQ(request.parameters().at("csi.storage.k8s.io/pvc/name"), "claim");
  EXPECT_EQ(request.parameters().at("csi.storage.k8s.io/pvc/namespace"), "ns");
  EXPECT_EQ(request.parameters().at("csi.storage.k8s.io/pv/name"), "pvc-" + uid_);
  EXPECT_EQ(request.parameters().at("fstype"), "ext3");
}

TEST_F(ProvisionTest, PrefixedParametersDoNotReachTheDriver) {  // provisioner/22.3/6
  const CreateRequest request =
      Provision({.parameters = R"({"csi.storage.k8s.io/fstype":"ext3"})"});
  EXPECT_TRUE(request.parameters().empty());
  EXPECT_EQ(Volume().spec().persistentvolumesource().csi().fstype(), "ext3");
}

TEST_F(ProvisionTest, ReadOnlyManyIsReadOnlyOnlyWhenAskedFor) {  // provisioner/22.4/5 and 6
  Provision({}, {.modes = {"ReadOnlyMany"}});
  EXPECT_FALSE(Volume().spec().persistentvolumesource().csi().readonly());
}

TEST_F(ProvisionTest, ReadOnlyManyWithTheFlagIsReadOnly) {
  world_.config.publish_read_only = true;
  const CreateRequest request = Provision({}, {.modes = {"ReadOnlyMany"}});
  EXPECT_EQ(request.volume_capabilities(0).access_mode().mode(),
            AccessMode::MULTI_NODE_READER_ONLY);
  EXPECT_TRUE(Volume().spec().persistentvolumesource().csi().readonly());
}

TEST_F(ProvisionTest, TwoModesGiveTwoCapabilitiesInOrder) {  // provisioner/22.4/10
  world_.config.publish_read_only = true;
  const CreateRequest request = Provision({}, {.modes = {"ReadOnlyMany", "ReadWriteOnce"}});
  ASSERT_EQ(request.volume_capabilities_size(), 2);
  EXPECT_EQ(request.volume_capabilities(0).access_mode().mode(),
            AccessMode::MULTI_NODE_READER_ONLY);
  EXPECT_EQ(request.volume_capabilities(1).access_mode().mode(), AccessMode::SINGLE_NODE_WRITER);
  EXPECT_THAT(Volume().spec().accessmodes(), ElementsAre("ReadOnlyMany", "ReadWriteOnce"));
  EXPECT_FALSE(Volume().spec().persistentvolumesource().csi().readonly());
}

TEST_F(ProvisionTest, SingleNodeMultiWriterDriverGetsItsOwnModes) {  // provisioner/22.4/8
  world_.features.single_node_multi_writer = true;
  const CreateRequest request = Provision();
  EXPECT_EQ(request.volume_capabilities(0).access_mode().mode(),
            AccessMode::SINGLE_NODE_MULTI_WRITER);
}

TEST_F(ProvisionTest, BlockVolumeHasNoFileSystem) {  // provisioner/22.4/15
  const CreateRequest request = Provision({}, {.volume_mode = "Block"});
  EXPECT_TRUE(request.volume_capabilities(0).has_block());
  EXPECT_EQ(Volume().spec().volumemode(), "Block");
  EXPECT_EQ(Volume().spec().persistentvolumesource().csi().fstype(), "");
}

TEST_F(ProvisionTest, MountOptionsReachDriverAndVolume) {  // provisioner/22.4/24
  const CreateRequest request = Provision({.extra = R"(,"mountOptions":["foo=bar","baz=qux"])"});
  EXPECT_THAT(request.volume_capabilities(0).mount().mount_flags(),
              ElementsAre("foo=bar", "baz=qux"));
  EXPECT_EQ(request.volume_capabilities(0).mount().fs_type(), "ext4");
  EXPECT_THAT(Volume().spec().mountoptions(), ElementsAre("foo=bar", "baz=qux"));
}

TEST_F(ProvisionTest, RetainClassMakesARetainedVolumeWithTheFinalizer) {
  const oracle::Row row("provisioner/22.14/15");
  Provision({.reclaim_policy = "Retain"});
  EXPECT_EQ(Volume().spec().persistentvolumereclaimpolicy(), "Retain");
}

TEST_F(ProvisionTest, DriverThatTellsNoCapacityGetsTheRequestedOne) {  // provisioner/22.4/23
  ::csi::v1::CreateVolumeResponse response;
  response.mutable_volume()->set_volume_id("v");
  (*response.mutable_volume()->mutable_volume_context())["a"] = "b";
  world_.driver().Answer(kCreateVolume, response);
  Provision({}, {.request = "5632Mi"});
  EXPECT_EQ(apis::GetEntry(Volume().spec().capacity(), "storage")->string(), "5632Mi");
  EXPECT_EQ(Volume().spec().persistentvolumesource().csi().volumeattributes_size(), 2);
}

TEST_F(ProvisionTest, LargerVolumeShowsItsRealCapacity) {
  ::csi::v1::CreateVolumeResponse response;
  response.mutable_volume()->set_volume_id("v");
  response.mutable_volume()->set_capacity_bytes(int64_t{5} << 30);
  world_.driver().Answer(kCreateVolume, response);
  Provision();
  EXPECT_EQ(apis::GetEntry(Volume().spec().capacity(), "storage")->string(), "5Gi");
}

TEST_F(ProvisionTest, AllKindsOfSecretsAreResolved) {  // provisioner/22.4/11
  world_.Add(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"secrets"}})");
  world_.AddSecret("secrets", "provisionersecret", "key", "dmFs");
  const CreateRequest request = Provision({.parameters = R"({
      "csiControllerPublishSecretName":"ctrlpublishsecret",
      "csiControllerPublishSecretNamespace":"secrets",
      "csiNodeStageSecretName":"nodestagesecret","csiNodeStageSecretNamespace":"secrets",
      "csiNodePublishSecretName":"nodepublishsecret","csiNodePublishSecretNamespace":"secrets",
      "csi.storage.k8s.io/controller-expand-secret-name":"controllerexpandsecret",
      "csi.storage.k8s.io/controller-expand-secret-namespace":"secrets",
      "csi.storage.k8s.io/provisioner-secret-name":"provisionersecret",
      "csi.storage.k8s.io/provisioner-secret-namespace":"secrets",
      "csi.storage.k8s.io/node-expand-secret-name":"nodeexpandsecret",
      "csi.storage.k8s.io/node-expand-secret-namespace":"secrets",
      "csi.storage.k8s.io/controller-modify-secret-name":"ctrlmodifysecret",
      "csi.storage.k8s.io/controller-modify-secret-namespace":"secrets"})"});
  ASSERT_EQ(request.secrets().size(), 1u);
  EXPECT_EQ(request.secrets().at("key"), "val");
  const core::PersistentVolume volume = Volume();
  const auto& csi = volume.spec().persistentvolumesource().csi();
  EXPECT_EQ(csi.controllerpublishsecretref().name(), "ctrlpublishsecret");
  EXPECT_EQ(csi.nodestagesecretref().name(), "nodestagesecret");
  EXPECT_EQ(csi.nodepublishsecretref().name(), "nodepublishsecret");
  EXPECT_EQ(csi.controllerexpandsecretref().name(), "controllerexpandsecret");
  EXPECT_EQ(csi.nodeexpandsecretref().name(), "nodeexpandsecret");
  EXPECT_EQ(csi.nodeexpandsecretref().namespace_(), "secrets");
  const auto& annotations = volume.metadata().annotations();
  EXPECT_EQ(apis::GetEntryOr(annotations, apis::kAnnModifySecretName), "ctrlmodifysecret");
  EXPECT_EQ(apis::GetEntryOr(annotations, apis::kAnnModifySecretNamespace), "secrets");
  EXPECT_EQ(apis::GetEntryOr(annotations, apis::kAnnDeletionSecretName), "provisionersecret");
  EXPECT_EQ(apis::GetEntryOr(annotations, apis::kAnnDeletionSecretNamespace), "secrets");
}

TEST_F(ProvisionTest, DefaultSecretPairServesEveryPurpose) {  // provisioner/22.4/12 and 13
  world_.AddSecret("ns", "claim", "k", "dg==");
  Provision({.parameters = R"({"csi.storage.k8s.io/secret-name":"${pvc.name}",
                               "csi.storage.k8s.io/secret-namespace":"ns"})"});
  const core::PersistentVolume volume = Volume();
  const auto& csi = volume.spec().persistentvolumesource().csi();
  EXPECT_EQ(csi.controllerpublishsecretref().name(), "claim");
  EXPECT_EQ(csi.nodeexpandsecretref().name(), "claim");
  const auto& annotations = volume.metadata().annotations();
  EXPECT_EQ(apis::GetEntryOr(annotations, apis::kAnnModifySecretName), "claim");
  EXPECT_EQ(apis::GetEntryOr(annotations, apis::kAnnDeletionSecretName), "claim");
}

TEST_F(ProvisionTest, ShortVolumeNamesFollowTheFlags) {
  world_.config.naming = {"test", 5};
  const CreateRequest request = Provision();
  EXPECT_EQ(request.name(), "test-" + uid_.substr(0, 5));
  // Later changes of the claim find the volume although it is not named pvc-<uid>.
  world_.Merge<core::PersistentVolumeClaim>({"ns", "claim"},
                                            R"({"metadata":{"labels":{"a":"b"}}})");
  world_.Settle();
  EXPECT_EQ(world_.Calls().size(), 1u);
}

TEST_F(ProvisionTest, AttributesClassGivesMutableParameters) {  // provisioner/22.4/28
  world_.features.modify_volume = true;
  world_.Add(R"({"apiVersion":"storage.k8s.io/v1","kind":"VolumeAttributesClass",
      "metadata":{"name":"test-vac"},"driverName":"test-driver",
      "parameters":{"test-param":"from-vac"}})");
  const CreateRequest request =
      Provision({.parameters = R"({"test-param":"from-sc"})"},
                {.extra_spec = R"(,"volumeAttributesClassName":"test-vac")"});
  EXPECT_EQ(request.mutable_parameters().at("test-param"), "from-vac");
  EXPECT_EQ(request.parameters().at("test-param"), "from-sc");
  EXPECT_EQ(Volume().spec().volumeattributesclassname(), "test-vac");
}

TEST_F(ProvisionTest, AttributesClassIsIgnoredWithoutTheGate) {  // provisioner/22.4/29
  world_.config.attributes_class_gate = false;
  const CreateRequest request =
      Provision({}, {.extra_spec = R"(,"volumeAttributesClassName":"test-vac")"});
  EXPECT_TRUE(request.mutable_parameters().empty());
  EXPECT_FALSE(Volume().spec().has_volumeattributesclassname());
}

TEST_F(ProvisionTest, LateBindingWaitsForANode) {
  world_.AddClass({.binding_mode = "WaitForFirstConsumer"});
  world_.AddClaim();
  world_.Start();
  world_.Settle();
  EXPECT_THAT(world_.Calls(), IsEmpty());
  EXPECT_THAT(world_.Events(), IsEmpty());
  world_.Merge<core::PersistentVolumeClaim>(
      {"ns", "claim"},
      R"({"metadata":{"annotations":{"volume.kubernetes.io/selected-node":"node-1"}}})");
  world_.Settle();
  EXPECT_THAT(world_.Calls(), ElementsAre("CreateVolume"));
  EXPECT_THAT(world_.Writes(), ElementsAre("POST persistentvolumes"));
}

TEST_F(ProvisionTest, TopologyOfTheSelectedNodeIsAskedForAndBecomesAffinity) {
  world_.features.accessibility_constraints = true;
  for (const char* node : {"node-1", "node-2"}) {
    world_.Add(StrCat(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":")", node,
                      R"(","labels":{"zone":")", node, R"("}}})"));
    world_.Add(StrCat(R"({"apiVersion":"storage.k8s.io/v1","kind":"CSINode","metadata":{"name":")",
                      node, R"("},"spec":{"drivers":[
                      {"name":"other","nodeID":"x","topologyKeys":["rack"]},
                      {"name":"test-driver","nodeID":"x","topologyKeys":["zone"]}]}})"));
  }
  ::csi::v1::CreateVolumeResponse response;
  response.mutable_volume()->set_volume_id("v");
  (*response.mutable_volume()->add_accessible_topology()->mutable_segments())["zone"] = "node-2";
  world_.driver().Answer(kCreateVolume, response);
  const CreateRequest request =
      Provision({.binding_mode = "WaitForFirstConsumer"}, {.selected_node = "node-2"});
  const auto& requirements = request.accessibility_requirements();
  ASSERT_EQ(requirements.requisite_size(), 2);
  ASSERT_EQ(requirements.preferred_size(), 2);
  EXPECT_EQ(requirements.requisite(0).segments().at("zone"), "node-1");
  EXPECT_EQ(requirements.preferred(0).segments().at("zone"), "node-2");
  const core::PersistentVolume volume = Volume();
  const auto& terms = volume.spec().nodeaffinity().required().nodeselectorterms();
  ASSERT_EQ(terms.size(), 1);
  EXPECT_EQ(terms[0].matchexpressions(0).key(), "zone");
  EXPECT_THAT(terms[0].matchexpressions(0).values(), ElementsAre("node-2"));
}

// Topology of a claim's request: zones of the class, the node that was selected, both or neither.
struct TopologyInput {
  std::string allowed;  // zones
  std::string node;
  std::vector<std::string> requisite;
};

TEST(TopologyInputTest, NodeAndZonesOfTheClassReachTheRequest) {
  const TopologyInput kInputs[] = {{"", "", {"a", "b", "c"}},
                                   {R"("b","c")", "", {"b", "c"}},
                                   {"", "node-b", {"a", "b", "c"}},
                                   {R"("b","c")", "node-b", {"b", "c"}}};
  for (const TopologyInput& input : kInputs) {
    const oracle::Row row("provisioner/22.14/38");
    SCOPED_TRACE(input.allowed + "/" + input.node);
    World world;
    world.features.accessibility_constraints = true;
    for (const char* zone : {"a", "b", "c"}) {
      world.Add(StrCat(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"node-)", zone,
                       R"(","labels":{"zone":")", zone, R"("}}})"));
      world.Add(StrCat(R"({"apiVersion":"storage.k8s.io/v1","kind":"CSINode",
          "metadata":{"name":"node-)",
                       zone, R"("},"spec":{"drivers":[{"name":"test-driver","nodeID":"x",
          "topologyKeys":["zone"]}]}})"));
    }
    ClassSpec klass{.binding_mode = input.node.empty() ? "Immediate" : "WaitForFirstConsumer"};
    if (!input.allowed.empty()) {
      klass.extra = StrCat(R"(,"allowedTopologies":[{"matchLabelExpressions":[{"key":"zone",
          "values":[)",
                           input.allowed, "]}]}]");
    }
    world.AddClass(klass);
    world.AddClaim({.selected_node = input.node});
    world.Start();
    const auto requests = world.Requests<CreateRequest>(kCreateVolume);
    ASSERT_EQ(requests.size(), 1u) << Join(world.Events(), "\n");
    const auto& requirements = requests[0].accessibility_requirements();
    std::vector<std::string> requisite;
    for (const auto& topology : requirements.requisite()) {
      requisite.push_back(topology.segments().at("zone"));
    }
    EXPECT_EQ(requisite, input.requisite);
    if (!input.node.empty()) {
      EXPECT_EQ(requirements.preferred(0).segments().at("zone"), "b");
    }
  }
}

TEST_F(ProvisionTest, TopologyOfTheAnswerIsIgnoredWithoutTheGate) {  // provisioner/22.6/3 and 4
  world_.features.accessibility_constraints = true;
  world_.config.topology_gate = false;
  ::csi::v1::CreateVolumeResponse response;
  response.mutable_volume()->set_volume_id("v");
  (*response.mutable_volume()->add_accessible_topology()->mutable_segments())["zone"] = "z";
  world_.driver().Answer(kCreateVolume, response);
  const CreateRequest request = Provision({}, {.selected_node = "nowhere"});
  EXPECT_FALSE(request.has_accessibility_requirements());
  EXPECT_FALSE(Volume().spec().has_nodeaffinity());
}

TEST_F(ProvisionTest, ClaimsOfOthersAndBoundClaimsAreLeftAlone) {
  const oracle::Row row("provisioner/22.14/6");
  world_.AddClass();
  world_.AddClaim({.name = "other", .provisioner = "abc.def/ghi"});
  world_.AddClaim({.name = "none", .provisioner = ""});
  world_.AddClaim({.name = "bound", .extra_spec = R"(,"volumeName":"v")"});
  world_.Start();
  world_.Advance(std::chrono::minutes(16));  // past a resync
  EXPECT_THAT(world_.Calls(), IsEmpty());
  EXPECT_THAT(world_.Writes(), IsEmpty());
  EXPECT_THAT(world_.Events(), IsEmpty());
  for (const char* family : {"controller_persistentvolumeclaim_provision_total",
                             "controller_persistentvolumeclaim_provision_failed_total"}) {
    EXPECT_EQ(world_.Counter(family, {"sc", ""}), 0);
  }
}

TEST_F(ProvisionTest, ClassOfAnotherProvisionerStopsQuietly) {
  const oracle::Row row("provisioner/22.14/1");
  world_.AddClass();
  world_.AddClass({.name = "foreign", .provisioner = "abc.def/ghi"});
  world_.AddClaim();
  world_.AddClaim({.name = "claim-2", .klass = "foreign"});
  world_.Start();
  world_.Settle();
  EXPECT_EQ(world_.Calls().size(), 1u);
  EXPECT_EQ(world_.Counter("controller_persistentvolumeclaim_provision_total", {"sc", ""}), 1);
  EXPECT_EQ(
      world_.Counter("controller_persistentvolumeclaim_provision_failed_total", {"foreign", ""}),
      1);
}

TEST_F(ProvisionTest, IgnoredClaimCountsAsFailedBesideOneThatSucceeds) {
  const oracle::Row row("provisioner/22.14/14");
  world_.AddClass();
  world_.AddClaim();
  world_.AddClaim({.name = "claim-2", .extra_spec = R"(,"dataSourceRef":{"apiGroup":"my.example.io",
                                     "kind":"MyPopulator","name":"p"})"});
  world_.Start();
  world_.Settle();
  EXPECT_TRUE(world_.OnlyVolume().has_value());
  EXPECT_EQ(world_.Counter("controller_persistentvolumeclaim_provision_total", {"sc", ""}), 1);
  EXPECT_EQ(world_.Counter("controller_persistentvolumeclaim_provision_failed_total",
                           {"sc", "MyPopulator"}),
            1);
}

TEST_F(ProvisionTest, BlockAndFileSystemClaimsAreBothProvisioned) {
  const oracle::Row row("provisioner/22.16/21");  // whether it can do Block is the driver's word
  world_.AddClass();
  world_.AddClaim({.name = "block", .volume_mode = "Block"});
  world_.AddClaim({.name = "filesystem"});
  world_.Add(R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"none",
      "namespace":"ns","annotations":{"volume.kubernetes.io/storage-provisioner":"test-driver"}},
      "spec":{"accessModes":["ReadWriteOnce"],"storageClassName":"sc",
      "resources":{"requests":{"storage":"100"}}}})");
  world_.Start();
  world_.Settle();
  EXPECT_EQ(world_.Counter("controller_persistentvolumeclaim_provision_total", {"sc", ""}), 3);
}

TEST_F(ProvisionTest, ExistingVolumeObjectStopsQuietly) {
  const oracle::Row row("provisioner/22.14/2");
  world_.AddClass();
  const std::string uid = world_.AddClaim();
  world_.Add(StrCat(R"({"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"pvc-)", uid,
                    R"("},"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],
                    "csi":{"driver":"d","volumeHandle":"h"}}})"));
  world_.Start();
  world_.Settle();
  EXPECT_THAT(world_.Calls(), IsEmpty());
  EXPECT_EQ(world_.Counter("controller_persistentvolumeclaim_provision_failed_total", {"sc", ""}),
            1);
}

TEST_F(ProvisionTest, ClaimThatChangesWhileItsVolumeIsSavedIsNotProvisionedTwice) {
  world_.AddClass();
  world_.driver().Handle<CreateRequest, ::csi::v1::CreateVolumeResponse>(
      kCreateVolume,
      [](CreateRequest, ::csi::v1::CreateVolumeResponse* response) -> async::Task<Status> {
        CSI_CO_RETURN_IF_ERROR(co_await async::Sleep(std::chrono::seconds(2)));
        response->mutable_volume()->set_volume_id("v");
        co_return Status();
      });
  world_.AddClaim();
  world_.Start();
  world_.Merge<core::PersistentVolumeClaim>({"ns", "claim"},
                                            R"({"metadata":{"labels":{"a":"b"}}})");
  world_.Advance(std::chrono::seconds(10));
  EXPECT_THAT(world_.Calls(), ElementsAre("CreateVolume"));
  EXPECT_THAT(world_.Writes(), ElementsAre("POST persistentvolumes"));
}

}  // namespace
}  // namespace csinative::provisioner
